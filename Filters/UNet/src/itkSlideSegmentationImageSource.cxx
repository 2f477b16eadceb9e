/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkSlideSegmentationImageSource.h"
#include "itkGigapixelException.h"
#include "itkSlideSegmentationStages.h"

#include "gigapixelGrid.h"
#include "gigapixelLabeling.h"
#include "gigapixelMaskName.h"
#include "gigapixelSlideFiles.h"
#include "gigapixelSlidePixels.h"
#include "gigapixelTissueSource.h"

#include "itkGigapixelFileSource.h"
#include "itkGigapixelNetworkSource.h"
#include "itkImageAlgorithm.h"
#include "itkMultiThreaderBase.h"
#include "itkRGBPixel.h"
#include "itkVectorImage.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace itk
{
namespace
{

std::string
FormatResolution(double x, double y)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::fixed << std::setprecision(3) << x;
  if (std::abs(x - y) >= 0.0005)
  {
    text << " x " << y;
  }
  text << " µm/px";
  return text.str();
}

std::string
FormatResolution(double micronsPerPixel)
{
  return FormatResolution(micronsPerPixel, micronsPerPixel);
}

/** The resolution of the level that is read, in micrometers per pixel along x and y. */
std::array<double, 2>
GetResolution(const WholeSlideImageIO & slide)
{
  const auto levelZero = slide.GetLevelZeroResolution();
  const auto downsamples = slide.GetLevelDownsamples(slide.GetLevel());
  return { { levelZero[0] * downsamples[0], levelZero[1] * downsamples[1] } };
}

/** \throw std::runtime_error a sentence */
void
CheckPatches(const gigapixel::Patches & patches, const gigapixel::NetworkDescription & network)
{
  try
  {
    patches.Validate(network);
  }
  catch (const std::invalid_argument & unsuitable)
  {
    gigapixel::Diagnostic diagnostic = gigapixel::Diagnostic::Of(unsuitable);
    diagnostic.why = "The network cannot be applied patch by patch like this: " + diagnostic.why;
    throw gigapixel::Refusal(diagnostic);
  }
}

} // namespace

void
CheckSlideSegmentation(const gigapixel::Model &               model,
                       GigapixelUNetOutput                    content,
                       const gigapixel::SegmentationOptions & options)
{
  const int classes = model.network.GetNumberOfClasses();
  gigapixel::Labeling::OfPixels().Require(model.network);
  if (content == GigapixelUNetOutput::Probability && classes > 2)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-MODEL-OUTPUT",
                                                   "it tells " + std::to_string(classes) +
                                                     " classes apart, whose probabilities do not fit into one picture",
                                                   "ask for labels"));
  }
  const std::string ofMasks = gigapixel::FindOptionOfMasks(options);
  if (!ofMasks.empty() && classes > 2)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OPTION-APPLIES",
                                                   "it tells " + std::to_string(classes) + " classes apart; " +
                                                     ofMasks + " is for masks of two")
                               .OfOption(ofMasks));
  }
  if (!ofMasks.empty() && content == GigapixelUNetOutput::Probability)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-OPTION-CONFLICT", ofMasks + " changes masks, not probabilities", "ask for labels")
        .OfOption(ofMasks));
  }
  GigapixelCheckThreshold(model, options.threshold.has_value());
}

template <typename TOutputImage>
SlideSegmentationImageSource<TOutputImage>::SlideSegmentationImageSource()
  : m_Stages(std::make_unique<Stages>())
{}

template <typename TOutputImage>
SlideSegmentationImageSource<TOutputImage>::~SlideSegmentationImageSource() = default;

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::SetSlide(WholeSlideImageIO * slide)
{
  m_Stages->given.Set(slide);
  this->Modified();
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::SetModel(const gigapixel::Model & model)
{
  this->SetSharedModel(std::make_shared<const gigapixel::Model>(model));
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::SetSharedModel(const std::shared_ptr<const gigapixel::Model> & model)
{
  m_Stages->model = model;
  this->Modified();
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::SetLevel(unsigned int level)
{
  GigapixelSetMember(*this, m_Level, std::make_optional(level));
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::ClearLevel()
{
  GigapixelSetMember(*this, m_Level, std::nullopt);
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::SetRegion(const gigapixel::Region & region)
{
  m_Region = region;
  this->Modified();
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::SetRanks(const std::shared_ptr<gigapixel::Ranks> & ranks)
{
  GigapixelSetMember(*this, m_Ranks, ranks);
}

template <typename TOutputImage>
GigapixelUNetOutput
SlideSegmentationImageSource<TOutputImage>::GetContent() const
{
  if (m_OutputMode != GigapixelUNetOutput::Automatic)
  {
    return m_OutputMode;
  }
  return std::is_same<typename TOutputImage::PixelType, float>::value ? GigapixelUNetOutput::Probability
                                                                      : GigapixelUNetOutput::Label;
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::SelectLevel()
{
  WholeSlideImageIO & slide = *m_Stages->slide;
  const double        wanted = m_Stages->model->micronsPerPixel;
  const auto          content = GigapixelContentForModel(slide.GetFileName(), slide.GetContent(), *m_Stages->model);
  const gigapixel::NetworkDescription & network = m_Stages->model->network;
  GigapixelRefuseWindow(content.window, network);
  slide.SetContent(content);
  slide.SetGray(false);
  slide.ReadImageInformation();
  gigapixel::RequireChannels(slide, static_cast<unsigned>(network.channels), network.IsNormalized());
  slide.SetGray(network.channels == 1);
  slide.SetUnscannedAsBackground(network.TakesWhiteForBackground());
  if (m_Level)
  {
    slide.SetLevel(*m_Level);
  }
  const std::string name = slide.GetFileName();
  const std::string trained = "the model was trained at " + FormatResolution(wanted);
  const auto        isWanted = [&slide, wanted] {
    const auto given = GetResolution(slide);
    return std::all_of(given.begin(), given.end(), [wanted](double each) {
      return std::abs(each / wanted - 1) <= gigapixel::ResolutionTolerance;
    });
  };
  if (m_Level || wanted <= 0)
  {
    slide.ReadImageInformation();
    if (wanted > 0 && slide.GetMicronsPerPixel() > 0 && !isWanted())
    {
      const auto given = GetResolution(slide);
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-SLIDE-RESOLUTION",
                              "Level " + std::to_string(slide.GetLevel()) + " of " + name + " has " +
                                FormatResolution(given[0], given[1]) + ", but " + trained,
                              "leave the level out (--level), and one of that resolution is taken, if there is one")
          .OfFile(name));
    }
    return;
  }
  if (slide.GetMicronsPerPixel() <= 0)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-SLIDE-RESOLUTION",
                                                   "it does not tell its resolution, but " + trained,
                                                   "state the slide's (--slide-mpp, in Python mpp), or choose a level")
                               .OfFile(name));
  }
  slide.SetMicronsPerPixel(wanted, gigapixel::ResolutionTolerance);
  try
  {
    slide.ReadImageInformation();
  }
  catch (const ExceptionObject & error)
  {
    gigapixel::Diagnostic refusal = gigapixel::Diagnostic::Of(error);
    if (refusal.code == "E-SLIDE-RESOLUTION")
    {
      const auto finest = slide.GetLevelZeroResolution();
      refusal.why = trained + ", but " + name + " has " + FormatResolution(finest[0], finest[1]);
      refusal.remedy = "take a model of a resolution that the slide has";
    }
    throw gigapixel::Refusal(refusal);
  }
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::SelectRegion()
{
  const WholeSlideImageIO & slide = *m_Stages->slide;
  const auto                size = slide.GetLevelSize(slide.GetLevel());
  m_SlideRegion = ImageRegion<2>({ { 0, 0 } }, { { size[0], size[1] } });
  if (m_Region.width == 0)
  {
    return;
  }
  const auto                        downsamples = slide.GetLevelDownsamples(slide.GetLevel());
  const std::array<std::int64_t, 2> begin{ { m_Region.x, m_Region.y } };
  const std::array<std::int64_t, 2> extent{ { m_Region.width, m_Region.height } };
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    const auto first = static_cast<IndexValueType>(std::floor(static_cast<double>(begin[axis]) / downsamples[axis]));
    const auto last =
      static_cast<IndexValueType>(std::ceil(static_cast<double>(begin[axis] + extent[axis]) / downsamples[axis]));
    const auto end = std::min(last, static_cast<IndexValueType>(size[axis]));
    if (first < 0 || first >= end)
    {
      std::ostringstream text;
      text << m_Region.x << ',' << m_Region.y << ',' << m_Region.width << ',' << m_Region.height;
      const std::string given = text.str();
      text.str({});
      text << "The region " << given << " lies outside of " << slide.GetFileName() << ", which has "
           << slide.GetLevelSize(0)[0] << " x " << slide.GetLevelSize(0)[1] << " pixels";
      throw gigapixel::Refusal(gigapixel::Diagnostic("E-REGION", text.str(), "choose one that begins inside")
                                 .OfFile(slide.GetFileName())
                                 .OfOption("--region", given));
    }
    m_SlideRegion.SetIndex(axis, first);
    m_SlideRegion.SetSize(axis, static_cast<SizeValueType>(end - first));
  }
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::OpenTissue()
{
  m_Stages->tissue = nullptr;
  m_Stages->tissueIdentity.clear();
  if (m_Tissue.empty())
  {
    return;
  }
  const WholeSlideImageIO &      slide = *m_Stages->slide;
  const std::string              file = gigapixel::FindMask(m_Tissue, slide.GetFileName());
  const gigapixel::PhysicalImage mask = GigapixelTissueSource(file, slide.GetFileName(), slide.GetContent());
  m_Stages->tissueIdentity = mask.content;
  m_Stages->tissue =
    std::make_shared<const gigapixel::TissueMask>(mask, gigapixel::Grid::Of(slide), slide.GetFileName());
  if (!m_Stages->tissue->HasTissue())
  {
    itkWarningMacro(<< gigapixel::Remember(gigapixel::Diagnostic("W-DOUBT-MASK-EMPTY",
                                                                 "the tissue mask " + file +
                                                                   " has no tissue at all: all of " +
                                                                   slide.GetFileName() + " is taken for glass")
                                             .OfFile(file)
                                             .OfValue("0")));
  }
  GigapixelWarnOfFullTissue(*m_Stages->tissue, file, slide.GetFileName());
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::UpdateSlideInformation()
{
  if (!m_Stages->given.IsSet() || !m_Stages->model)
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-CALL-ORDER", "no slide or no model", "call SetSlide() and SetModel()"));
  }
  try
  {
    gigapixel::CheckOptions(m_Segmentation);
    gigapixel::CheckOptions(m_Patching);
  }
  catch (const gigapixel::InvalidArgument & wrong)
  {
    itkGigapixelExceptionMacro(wrong.GetDiagnostic());
  }
  try
  {
    GigapixelCheckTakesImages(*m_Stages->model);
    CheckSlideSegmentation(*m_Stages->model, this->GetContent(), m_Segmentation);
  }
  catch (const std::exception & unsuitable)
  {
    gigapixel::Diagnostic diagnostic = gigapixel::Diagnostic::Of(unsuitable);
    diagnostic.why = "The model cannot be used here: " + diagnostic.why;
    itkGigapixelExceptionMacro(diagnostic);
  }
  m_Stages->slide = m_Stages->given.Copy();
  try
  {
    this->SelectLevel();
    this->SelectRegion();
    this->CheckTileSize();
    this->CheckSize();
    this->OpenTissue();
  }
  catch (const std::runtime_error & unsuitable)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(unsuitable));
  }
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::CheckTileSize() const
{
  GigapixelCheckTiling(m_Patching.slidingWindow, m_Computing.tileSize, m_Computing.sharedMemory);
  GigapixelRefuseSharedMemory(m_Computing.sharedMemory, m_Stages->model->network);
  if (const auto patches = this->GetPatches())
  {
    CheckPatches(*patches, m_Stages->model->network);
    return;
  }
  if (m_Computing.tileSize == gigapixel::WholeImage && m_Region.width > 0)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OPTION-CONFLICT",
                                                   "In one piece a slide is computed as a whole",
                                                   "ask for all of it in place of a region, or for another tile size"));
  }
  try
  {
    m_Stages->model->network.CheckTileSize(this->GetEffectiveTileSize());
  }
  catch (const std::invalid_argument & unsuitable)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic::Of(unsuitable));
  }
}

/** Of the whole slide, also for a region: its surroundings are read. Patches are as large as they need to be. */
template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::CheckSize() const
{
  if (this->GetPatches())
  {
    return;
  }
  const WholeSlideImageIO & slide = *m_Stages->slide;
  const auto                size = slide.GetLevelSize(slide.GetLevel());
  try
  {
    m_Stages->model->network.CheckImage({ static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) });
  }
  catch (const std::invalid_argument & unsuitable)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic::Of(unsuitable).OfFile(slide.GetFileName()));
  }
}

template <typename TOutputImage>
std::int64_t
SlideSegmentationImageSource<TOutputImage>::GetEffectiveTileSize() const
{
  const auto all = m_Stages->slide->GetLevelSize(m_Stages->slide->GetLevel());
  return gigapixel::FindTileSize(*m_Stages->model,
                                 this->GetPatches(),
                                 { static_cast<std::int64_t>(all[0]), static_cast<std::int64_t>(all[1]) },
                                 m_Computing.tileSize);
}

template <typename TOutputImage>
ImageRegion<2>
SlideSegmentationImageSource<TOutputImage>::GetComputedRegion() const
{
  const auto         all = m_Stages->slide->GetLevelSize(m_Stages->slide->GetLevel());
  const std::int64_t tile = this->GetEffectiveTileSize();
  ImageRegion<2>     computed;
  for (unsigned int axis = 0; axis < 2; ++axis)
  {
    const auto begin = static_cast<std::int64_t>(m_SlideRegion.GetIndex(axis)) / tile * tile;
    const auto end = static_cast<std::int64_t>(m_SlideRegion.GetUpperIndex()[axis]) / tile * tile + tile;
    computed.SetIndex(axis, begin);
    computed.SetSize(axis, static_cast<SizeValueType>(std::min(end, static_cast<std::int64_t>(all[axis])) - begin));
  }
  return computed;
}

template <typename TOutputImage>
unsigned int
SlideSegmentationImageSource<TOutputImage>::GetLevel() const
{
  return m_Stages->slide ? m_Stages->slide->GetLevel() : 0;
}

template <typename TOutputImage>
const WholeSlideImageIO *
SlideSegmentationImageSource<TOutputImage>::GetReadSlide() const
{
  return m_Stages->slide;
}

template <typename TOutputImage>
double
SlideSegmentationImageSource<TOutputImage>::GetMicronsPerPixel() const
{
  return m_Stages->slide ? m_Stages->slide->GetMicronsPerPixel() : 0;
}

template <typename TOutputImage>
std::string
SlideSegmentationImageSource<TOutputImage>::GetMadeBy(GigapixelUNetOutput content) const
{
  if (m_SlideRegion.GetNumberOfPixels() == 0)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic(
      "E-CALL-ORDER", "the slide was not opened", "call UpdateSlideInformation() or UpdateOutputInformation() first"));
  }
  const bool isProbability =
    (content == GigapixelUNetOutput::Automatic ? this->GetContent() : content) == GigapixelUNetOutput::Probability;
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  text << "segment model=" << m_Stages->model->GetIdentity();
  isProbability ? text << " probability" : text << " threshold=" << this->GetThreshold(); // it knows no threshold
  if (const auto patches = this->GetPatches())
  {
    text << ' ' << patches->Describe();
  }
  const double stated = m_Stages->slide->GetLevelZeroMicronsPerPixel();
  if (stated > 0 && std::abs(gigapixel::GetLevelZeroResolution(*m_Stages->slide) / stated - 1) < 1e-12)
  {
    text << " slide-mpp=" << stated; // the file says none
  }
  text << (m_Stages->tissue ? " tissue=(" + m_Stages->tissueIdentity + ")" : "")
       << (m_Segmentation.fillHoles ? " holes filled" : "")
       << gigapixel::DescribeOptions(m_Segmentation, { "threshold", "fill-holes" })
       << (m_Computing.tileSize == 0 ? "" : " tiles=" + std::to_string(this->GetEffectiveTileSize()))
       << (m_Computing.precision == "fp32" ? "" : " precision=" + m_Computing.precision);
  m_Stages->slide->IsResampled() ? text << " resolution=" << this->GetMicronsPerPixel()
                                 : text << " level=" << this->GetLevel();
  text << " region=" << m_SlideRegion.GetIndex(0) << ',' << m_SlideRegion.GetIndex(1) << ',' << m_SlideRegion.GetSize(0)
       << ',' << m_SlideRegion.GetSize(1) << ' ' << gigapixel::IdentifySlide(*m_Stages->slide);
  return text.str();
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::Advance(double share)
{
  if (const double all = m_Begin + m_Share * share; all > this->GetProgress())
  {
    this->UpdateProgress(static_cast<float>(all));
  }
  if (this->GetAbortGenerateData())
  {
    m_Stages->network->AbortGenerateDataOn();
    m_Stages->GetLast().AbortGenerateDataOn();
  }
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::UpdateOutputInformation()
{
  if (m_Stages->given.HasChanged())
  {
    this->Modified();
  }
  Superclass::UpdateOutputInformation();
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::FindNormalization()
{
  m_Stages->normalization = nullptr;
  const gigapixel::NetworkDescription & network = m_Stages->model->network;
  if (!network.IsNormalized())
  {
    return;
  }
  gigapixel::PhysicalImage image;
  image.name = m_Stages->slide->GetFileName();
  image.measured = GigapixelMeasuredSource(m_Stages->slide);
  image.channels = GigapixelChannelNames(*m_Stages->slide);
  try
  {
    m_Stages->normalization = GigapixelFindNormalization(image, network, GigapixelAskWhetherToGoOn(*this));
  }
  catch (const ExceptionObject &)
  {
    throw; // from an observer
  }
  catch (const std::exception & unreadable)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(unreadable));
  }
  if (!m_Stages->normalization)
  {
    throw ProcessAborted(__FILE__, __LINE__);
  }
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::GenerateOutputInformation()
{
  this->UpdateSlideInformation();
  this->FindNormalization();
  const int channels = m_Stages->model->network.channels;
  m_Stages->normalization ? m_Stages->template Connect<VectorImage<float, 2>>(*this)
  : channels == 1         ? m_Stages->template Connect<Image<unsigned char, 2>>(*this)
  : channels == 3         ? m_Stages->template Connect<Image<RGBPixel<unsigned char>, 2>>(*this)
                          : m_Stages->template Connect<VectorImage<unsigned char, 2>>(*this);
  // The first of these stages asks for the whole mask: making it is nearly all of the work, and the stage tells of it.
  const bool            seesMask = !m_Stages->maskStages.empty();
  ProcessObject * const told = (seesMask ? m_Stages->maskStages.front() : m_Stages->network).GetPointer();
  told->AddObserver(ProgressEvent(),
                    [this, told](const EventObject &) { this->Advance(static_cast<double>(told->GetProgress())); });
  if (seesMask)
  {
    m_Stages->network->AddObserver(ProgressEvent(), [this](const EventObject &) {
      this->UpdateProgress(this->GetProgress()); // so that who wants to stop it is asked
      this->Advance(0);
    });
  }
  m_Stages->GetLast().UpdateOutputInformation();
  this->GetOutput()->CopyInformation(m_Stages->GetLast().GetOutput());
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::UpdateStage(TOutputImage * made, const ImageRegion<2> & region)
{
  made->SetRequestedRegion(region);
  try
  {
    made->Update();
  }
  catch (...)
  {
    // ITK resets what lies above the filter that fails. Those below it would take themselves for being updated, and
    // their pixels for made: the next update begins with new ones.
    this->Modified();
    throw;
  }
}

constexpr SizeValueType BandBytes = gigapixel::SlideMemory::BandBytes;

template <typename TOutputImage>
gigapixel::SlideMemory
SlideSegmentationImageSource<TOutputImage>::CountSlideMemory() const
{
  const auto size = [](const auto & sides) {
    return gigapixel::Size{ static_cast<std::int64_t>(sides[0]), static_cast<std::int64_t>(sides[1]) };
  };
  const WholeSlideImageIO & slide = *m_Stages->slide;
  gigapixel::SlideMemory    memory{ m_Stages->model->network,
                                 size(slide.GetLevelSize(slide.GetLevel())),
                                 gigapixel::Purpose::Inference };
  memory.tileSize = m_Computing.tileSize == gigapixel::WholeImage ? m_Computing.tileSize : this->GetEffectiveTileSize();
  memory.sharedMemory = m_Computing.sharedMemory;
  memory.patches = this->GetPatches();
  memory.part = size(this->GetComputedRegion().GetSize());
  memory.reading.AddTiles(slide, memory.network.channels);
  memory.reading.AddResampling(slide);
  memory.isProbability = this->GetContent() == GigapixelUNetOutput::Probability;
  memory.hasTissue = m_Stages->tissue != nullptr;
  memory.writingThreads = static_cast<int>(MultiThreaderBase::GetGlobalDefaultNumberOfThreads());
  return memory;
}

/** Counts the bytes of a region beyond what a writer asks for, a row of its tiles, which SlideMemory counts. */
template <typename TOutputImage>
SizeValueType
CountFurtherBytes(const ImageRegion<2> & region)
{
  constexpr SizeValueType tile = gigapixel::SlideMemory::TileSide;
  const SizeValueType     row = region.GetSize(0) * sizeof(typename TOutputImage::PixelType);
  const SizeValueType     bytes = row * region.GetSize(1);
  return bytes - std::min(bytes, std::max(BandBytes, row * tile));
}

template <typename TOutputImage>
SizeValueType
SlideSegmentationImageSource<TOutputImage>::GetBandHeight(const ImageRegion<2> & region) const
{
  // Mask stages see the whole mask, and a network that sees all of the image reads it at once.
  const bool seesAll = !m_Patching.slidingWindow && m_Stages->model->network.graph.SeesWholeImage();
  if (m_Computing.memoryLimit == 0 || !m_Stages->maskStages.empty() || seesAll ||
      CountFurtherBytes<TOutputImage>(region) == 0)
  {
    return region.GetSize(1);
  }
  const auto tile = static_cast<SizeValueType>(this->GetEffectiveTileSize());
  const auto rows = BandBytes / (region.GetSize(0) * sizeof(typename TOutputImage::PixelType)) / tile * tile;
  return std::max(rows, tile);
}

/** The reader would have all pixels of the region at once, which may be the whole slide. */
template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::GenerateInBands(TOutputImage *         last,
                                                            const ImageRegion<2> & region,
                                                            SizeValueType          height)
{
  const auto output = this->GetOutput();
  const auto tile = static_cast<SizeValueType>(this->GetEffectiveTileSize());
  const auto end = static_cast<SizeValueType>(region.GetUpperIndex()[1]) + 1;
  for (auto y = static_cast<SizeValueType>(region.GetIndex(1)); y < end;)
  {
    const SizeValueType next = std::min(end, (y + height) / tile * tile);
    ImageRegion<2>      band = region;
    band.SetIndex(1, static_cast<IndexValueType>(y));
    band.SetSize(1, next - y);
    const auto all = static_cast<double>(region.GetSize(1));
    m_Begin = static_cast<double>(y - static_cast<SizeValueType>(region.GetIndex(1))) / all;
    m_Share = static_cast<double>(next - y) / all;
    this->UpdateStage(last, band);
    ImageAlgorithm::Copy(last, output, band, band);
    y = next;
  }
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::GenerateData()
{
  TOutputImage *                  last = m_Stages->GetLast().GetOutput();
  const ImageRegion<2>            requested = this->GetOutput()->GetRequestedRegion();
  const gigapixel::TileCacheBound bound(static_cast<std::int64_t>(m_Computing.memoryLimit));
  m_Begin = 0;
  m_Share = 1;
  m_Stages->countBeside(static_cast<std::int64_t>(CountFurtherBytes<TOutputImage>(requested)));
  if (const SizeValueType height = this->GetBandHeight(requested); height < requested.GetSize(1))
  {
    this->AllocateOutputs();
    this->GenerateInBands(last, requested, height);
    last->ReleaseData();
    return;
  }
  this->AllocateOutputs(); // the memory of the region before, if nobody else has it
  m_Stages->GetLast().GraftOutput(this->GetOutput());
  this->UpdateStage(last, this->GetOutput()->GetRequestedRegion());
  this->GraftOutput(last);
  // What comes after may work in place: the stage must not take the shared pixels for its own result any more.
  last->ReleaseData();
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::ComputeOwnRows()
{
  this->UpdateOutputInformation();
  for (const ImageRegion<2> & row : m_Stages->getOwnRows())
  {
    this->UpdateProgress(0); // the network's runs anew for each
    this->UpdateStage(m_Stages->network->GetOutput(), row);
  }
}

template <typename TOutputImage>
const gigapixel::StageSeconds &
SlideSegmentationImageSource<TOutputImage>::GetSeconds() const
{
  return m_Stages->seconds;
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Model: " << (m_Stages->model ? m_Stages->model->network.name : "(none)") << '\n';
  os << indent << "Level: " << m_Level.value_or(this->GetLevel()) << (m_Level ? "" : " (not set)") << '\n';
  os << indent << "Region: " << m_Region.x << ',' << m_Region.y << ',' << m_Region.width << ',' << m_Region.height
     << '\n';
  os << indent << "SlideRegion: " << m_SlideRegion << '\n';
  os << indent << "Tissue: " << (m_Tissue.empty() ? "(everything)" : m_Tissue) << '\n';
  os << indent << "OutputMode: " << static_cast<int>(m_OutputMode) << '\n';
  GigapixelPrintOptions(os, indent, m_Segmentation);
  GigapixelPrintOptions(os, indent, m_Computing);
  GigapixelPrintOptions(os, indent, m_Patching);
  os << indent << "Ranks: " << (m_Ranks ? m_Ranks->GetNumberOfRanks() : 1) << '\n';
}

template class SlideSegmentationImageSource<Image<unsigned char, 2>>;
template class SlideSegmentationImageSource<Image<float, 2>>;

} // namespace itk

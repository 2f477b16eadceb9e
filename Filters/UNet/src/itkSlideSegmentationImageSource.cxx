/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkSlideSegmentationImageSource.h"
#include "itkSlideSegmentationStages.h"

#include "gigapixelGrid.h"
#include "gigapixelMaskName.h"
#include "gigapixelSlideFiles.h"
#include "gigapixelSlidePixels.h"
#include "gigapixelTissueSource.h"

#include "itkGigapixelFileSource.h"
#include "itkRGBPixel.h"
#include "itkVectorImage.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>
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
FormatResolution(double micronsPerPixel)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::fixed << std::setprecision(3) << micronsPerPixel << " µm/px";
  return text.str();
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
    throw std::runtime_error(std::string("The network cannot be applied patch by patch like this: ") +
                             unsuitable.what() + '.');
  }
}

} // namespace

void
CheckSlideSegmentation(const gigapixel::Model & model, GigapixelUNetOutput content, bool fillHoles, bool hasThreshold)
{
  const int classes = model.network.GetNumberOfClasses();
  if (model.network.LabelsImage())
  {
    throw std::runtime_error("it labels images, and no pixels: use classify (gigapixel::Classifier)");
  }
  if (content == GigapixelUNetOutput::Probability && classes > 2)
  {
    throw std::runtime_error("it tells " + std::to_string(classes) +
                             " classes apart, whose probabilities do not fit into one picture: ask for labels");
  }
  if (fillHoles && classes > 2)
  {
    throw std::runtime_error("it tells " + std::to_string(classes) +
                             " classes apart; holes are filled in the masks of two only");
  }
  if (fillHoles && content == GigapixelUNetOutput::Probability)
  {
    throw std::runtime_error("a filled hole has no probability: ask for labels");
  }
  GigapixelCheckThreshold(model, hasThreshold);
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
SlideSegmentationImageSource<TOutputImage>::SetThreshold(double threshold)
{
  GigapixelSetMember(*this, m_Threshold, std::make_optional(std::clamp(threshold, 0.0, 1.0)));
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::ClearThreshold()
{
  GigapixelSetMember(*this, m_Threshold, std::nullopt);
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
SlideSegmentationImageSource<TOutputImage>::SetPatches(const gigapixel::Patches & patches)
{
  GigapixelSetMember(*this, m_Patches, std::make_optional(patches));
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::ClearPatches()
{
  GigapixelSetMember(*this, m_Patches, std::nullopt);
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
  slide.SetGray(false);
  slide.ReadImageInformation();
  gigapixel::RequireChannels(slide, static_cast<unsigned>(m_Stages->model->network.channels));
  slide.SetGray(m_Stages->model->network.channels == 1);
  if (m_Level)
  {
    slide.SetLevel(*m_Level);
  }
  const std::string name = slide.GetFileName();
  const std::string trained = "the model was trained at " + FormatResolution(wanted);
  const auto        isWanted = [&slide, wanted] {
    return std::abs(slide.GetMicronsPerPixel() / wanted - 1) <= gigapixel::ResolutionTolerance;
  };
  if (m_Level || wanted <= 0)
  {
    slide.ReadImageInformation();
    if (wanted > 0 && slide.GetMicronsPerPixel() > 0 && !isWanted())
    {
      throw std::runtime_error(
        "Level " + std::to_string(slide.GetLevel()) + " of " + name + " has " +
        FormatResolution(slide.GetMicronsPerPixel()) + ", but " + trained +
        ": leave the level out (--level), and one of that resolution is taken, if there is one.");
    }
    return;
  }
  if (slide.GetMicronsPerPixel() <= 0)
  {
    throw std::runtime_error(name + " does not tell its resolution, but " + trained +
                             "; state the slide's (--slide-mpp, in Python mpp), or choose a level.");
  }
  slide.SetMicronsPerPixel(wanted);
  slide.ReadImageInformation();
  if (!isWanted())
  {
    throw std::runtime_error(name + " has no level at the model's resolution: " + trained + ", the nearest level (" +
                             std::to_string(slide.GetLevel()) + ") has " +
                             FormatResolution(slide.GetMicronsPerPixel()) +
                             "; take a model of a resolution that the slide has.");
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
  const double                      downsample = slide.GetLevelDownsample(slide.GetLevel());
  const std::array<std::int64_t, 2> begin{ { m_Region.x, m_Region.y } };
  const std::array<std::int64_t, 2> extent{ { m_Region.width, m_Region.height } };
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    const auto first = static_cast<IndexValueType>(std::floor(static_cast<double>(begin[axis]) / downsample));
    const auto last =
      static_cast<IndexValueType>(std::ceil(static_cast<double>(begin[axis] + extent[axis]) / downsample));
    const auto end = std::min(last, static_cast<IndexValueType>(size[axis]));
    if (first < 0 || first >= end)
    {
      std::ostringstream text;
      text << "The region " << m_Region.x << ',' << m_Region.y << ',' << m_Region.width << ',' << m_Region.height
           << " lies outside of " << slide.GetFileName() << ", which has " << slide.GetLevelSize(0)[0] << " x "
           << slide.GetLevelSize(0)[1] << " pixels; choose one that begins inside.";
      throw std::runtime_error(text.str());
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
  const gigapixel::PhysicalImage mask = GigapixelTissueSource(file, slide.GetFileName());
  m_Stages->tissueIdentity = mask.content;
  m_Stages->tissue =
    std::make_shared<const gigapixel::TissueMask>(mask, gigapixel::Grid::Of(slide), slide.GetFileName());
  if (!m_Stages->tissue->HasTissue())
  {
    itkWarningMacro(<< "the tissue mask " << file << " has no tissue at all: all of " << slide.GetFileName()
                    << " is taken for glass");
  }
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::UpdateSlideInformation()
{
  if (!m_Stages->given.IsSet() || !m_Stages->model)
  {
    itkExceptionMacro("no slide or no model: call SetSlide() and SetModel()");
  }
  try
  {
    GigapixelCheckTakesImages(*m_Stages->model);
    CheckSlideSegmentation(*m_Stages->model, this->GetContent(), m_FillHoles, m_Threshold.has_value());
  }
  catch (const std::runtime_error & unsuitable)
  {
    itkExceptionMacro(<< "The model cannot be used here: " << unsuitable.what() << '.');
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
    itkExceptionMacro(<< unsuitable.what());
  }
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::CheckTileSize() const
{
  GigapixelCheckTiling(m_Patches.has_value(), m_TileSize, m_SharedMemory);
  if (m_Patches)
  {
    CheckPatches(*m_Patches, m_Stages->model->network);
    return;
  }
  if (m_TileSize == gigapixel::WholeImage && m_Region.width > 0)
  {
    throw std::runtime_error("In one piece a slide is computed as a whole: ask for all of it in place of a region, or "
                             "for another tile size.");
  }
  try
  {
    m_Stages->model->network.CheckTileSize(this->GetEffectiveTileSize());
  }
  catch (const std::invalid_argument & unsuitable)
  {
    throw std::runtime_error(unsuitable.what());
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
    throw std::runtime_error(std::string(slide.GetFileName()) + ": " + unsuitable.what() + '.');
  }
}

template <typename TOutputImage>
std::int64_t
SlideSegmentationImageSource<TOutputImage>::GetEffectiveTileSize() const
{
  const auto all = m_Stages->slide->GetLevelSize(m_Stages->slide->GetLevel());
  return gigapixel::FindTileSize(
    *m_Stages->model, m_Patches, { static_cast<std::int64_t>(all[0]), static_cast<std::int64_t>(all[1]) }, m_TileSize);
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
    itkExceptionMacro("the slide was not opened: call UpdateSlideInformation() or UpdateOutputInformation() first");
  }
  const bool isProbability =
    (content == GigapixelUNetOutput::Automatic ? this->GetContent() : content) == GigapixelUNetOutput::Probability;
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  text << "segment model=" << m_Stages->model->GetIdentity();
  isProbability ? text << " probability" : text << " threshold=" << this->GetThreshold(); // it knows no threshold
  if (m_Patches)
  {
    text << ' ' << m_Patches->Describe();
  }
  const double stated = m_Stages->slide->GetLevelZeroMicronsPerPixel();
  if (stated > 0 && std::abs(gigapixel::GetLevelZeroResolution(*m_Stages->slide) / stated - 1) < 1e-12)
  {
    text << " slide-mpp=" << stated; // the file says none
  }
  text << (m_Stages->tissue ? " tissue=(" + m_Stages->tissueIdentity + ")" : "") << (m_FillHoles ? " holes filled" : "")
       << (m_TileSize == 0 ? "" : " tiles=" + std::to_string(this->GetEffectiveTileSize()))
       << (m_Precision == "fp32" ? "" : " precision=" + m_Precision) << " level=" << this->GetLevel()
       << " region=" << m_SlideRegion.GetIndex(0) << ',' << m_SlideRegion.GetIndex(1) << ',' << m_SlideRegion.GetSize(0)
       << ',' << m_SlideRegion.GetSize(1) << ' ' << gigapixel::IdentifySlide(m_Stages->slide->GetFileName());
  return text.str();
}

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::Advance(double share)
{
  if (share > this->GetProgress())
  {
    this->UpdateProgress(static_cast<float>(share));
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
SlideSegmentationImageSource<TOutputImage>::GenerateOutputInformation()
{
  this->UpdateSlideInformation();
  const int channels = m_Stages->model->network.channels;
  channels == 1   ? m_Stages->template Connect<Image<unsigned char, 2>>(*this)
  : channels == 3 ? m_Stages->template Connect<Image<RGBPixel<unsigned char>, 2>>(*this)
                  : m_Stages->template Connect<VectorImage<unsigned char, 2>>(*this);
  // Holes are filled when the whole mask is there: making it is nearly all of the work, and the filter tells of it.
  ProcessObject * const told = m_Stages->fill ? m_Stages->fill.GetPointer() : m_Stages->network.GetPointer();
  told->AddObserver(ProgressEvent(),
                    [this, told](const EventObject &) { this->Advance(static_cast<double>(told->GetProgress())); });
  if (m_Stages->fill)
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

template <typename TOutputImage>
void
SlideSegmentationImageSource<TOutputImage>::GenerateData()
{
  TOutputImage * last = m_Stages->GetLast().GetOutput();
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
  os << indent << "Threshold: " << this->GetThreshold() << (m_Threshold ? "" : " (not set)") << '\n';
  os << indent << "OutputMode: " << static_cast<int>(m_OutputMode) << '\n';
  os << indent << "FillHoles: " << (m_FillHoles ? "On" : "Off") << '\n';
  os << indent << "Device: " << m_Device << '\n';
  os << indent << "Precision: " << m_Precision << '\n';
  os << indent << "SharedMemory: " << m_SharedMemory << '\n';
  os << indent << "TileSize: " << m_TileSize << '\n';
  os << indent << "ScratchFolder: " << m_ScratchFolder << '\n';
  os << indent << "Patches: " << (m_Patches ? m_Patches->Describe() : "(the whole slide)") << '\n';
  os << indent << "Ranks: " << (m_Ranks ? m_Ranks->GetNumberOfRanks() : 1) << '\n';
  os << indent << "MemoryLimit: " << m_MemoryLimit << '\n';
}

template class SlideSegmentationImageSource<Image<unsigned char, 2>>;
template class SlideSegmentationImageSource<Image<float, 2>>;

} // namespace itk

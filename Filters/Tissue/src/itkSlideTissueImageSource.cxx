/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkSlideTissueImageSource.h"

#include "itkGigapixelException.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelFollowedSlide.h"
#include "gigapixelPrintable.h"
#include "gigapixelSlideFiles.h"
#include "gigapixelSlidePixels.h"
#include "gigapixelTissueHints.h"
#include "gigapixelTissuePresets.h"

#include "itkAnnotationImageSource.h"
#include "itkBlockMeanImageFilter.h"
#include "itkExtractImageFilter.h"
#include "itkImageFileReader.h"
#include "itkMetaDataObject.h"
#include "itkNearestUpsampleImageFilter.h"
#include "itkRGBPixel.h"
#include "itkTissueLabelImageFilter.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <locale>
#include <sstream>
#include <stdexcept>

namespace itk
{
namespace
{
using MaskType = Image<unsigned char, 2>;

/** Up to so many bytes of the label grid's pixels stay in memory, so that presets which count them all before the first
 * is judged read the slide once. */
constexpr SizeValueType LargestGridInMemory = SizeValueType{ 64 } << 20;

/** What of the progress making the grid is, where that is a step of its own. */
constexpr double ShareOfGrid = 0.6;

/** The downsample of level 0 that has this resolution, to less than half a pixel over the slide; 0: none that is whole
 * has. */
unsigned
FindWholeDownsample(const WholeSlideImageIO & slide, double micronsPerPixel)
{
  constexpr double greatest = 256;
  const auto       resolution = slide.GetLevelZeroResolution();
  const auto       size = slide.GetLevelSize(0);
  const double     whole = resolution[0] > 0 ? std::round(micronsPerPixel / resolution[0]) : 0;
  for (std::size_t axis = 0; axis < 2; ++axis)
  {
    const double off = std::abs(micronsPerPixel / (resolution[axis] * whole) - 1);
    if (!(whole >= 1 && whole <= greatest && off * static_cast<double>(size[axis]) / whole < 0.5))
    {
      return 0;
    }
  }
  return static_cast<unsigned>(whole);
}

/** Judged pixels along a side of a label pixel that is resampled: any number will do, of pixels that the slide has. */
unsigned
FindJudgedPerSide(const WholeSlideImageIO & slide, double micronsPerPixel)
{
  const auto resolution = slide.GetLevelZeroResolution();
  const auto most = static_cast<unsigned>(micronsPerPixel / std::max(resolution[0], resolution[1]));
  const auto wanted = static_cast<unsigned>(micronsPerPixel / gigapixel::JudgedMicronsPerPixel) + 1;
  return std::clamp(wanted, 1u, std::max(most, 1u));
}

/** The coarsest stored level of a megapixel or more, so that few tiles are decoded for a sample, else that which is
 * labeled. */
unsigned
GetSampledLevel(const WholeSlideImageIO & slide, unsigned labeledLevel)
{
  unsigned level = labeledLevel;
  for (unsigned coarser = labeledLevel + 1; coarser < slide.GetNumberOfLevels(); ++coarser)
  {
    const auto size = slide.GetLevelSize(coarser);
    level = size[0] * size[1] >= 1000000 ? coarser : level;
  }
  return level;
}

/** Whether the file gives a channel that is read a wavelength. Red, green and blue of a stored picture may have one as
 * well, and say nothing of its ground. */
bool
IsFluorescence(const WholeSlideImageIO & slide)
{
  const auto entries = slide.GetChannelEntries();
  const bool isPicture = slide.GetNumberOfComponents() == 3 && slide.GetChannelChoice().empty();
  return !isPicture && std::any_of(entries.begin(), entries.end(), [](const auto & each) {
    return each.excitation > 0 || each.emission > 0;
  });
}

gigapixel::TissueSample
SampleSlide(const WholeSlideImageIO & slide, unsigned labeledLevel)
{
  const unsigned channels = slide.GetNumberOfComponents() == 3 ? 3 : 1;
  const unsigned level = GetSampledLevel(slide, labeledLevel);
  const auto     size = slide.GetLevelSize(level);
  const auto     read = [&](std::size_t x, std::size_t y, std::size_t width, std::size_t height, unsigned char * out) {
    slide.ReadRegion(level, x, y, width, height, channels, out);
  };
  gigapixel::TissueSample sample = gigapixel::SampleTissue(size[0], size[1], channels, read);
  sample.isFluorescence = IsFluorescence(slide);
  return sample;
}
} // namespace

/** Holds the filters, because an image does not keep the filter that makes it. */
struct SlideTissueImageSource::Stages
{
  gigapixel::FollowedSlide            given;
  WholeSlideImageIO::Pointer          slide; ///< a copy of what was given
  ProcessObject::Pointer              reader;
  ProcessObject::Pointer              pixels; ///< that are judged; the reader itself where they are those of its level
  ProcessObject::Pointer              label;
  ImageSource<MaskType>::Pointer      last;
  ImageBase<2>::Pointer               grid;    ///< what pixels makes
  std::function<void(ImageBase<2> *)> setGrid; ///< puts another image in its place
  AnnotationImageSource::Pointer      hints;
  std::function<double()>             getPenShare;
  std::function<double()>             getArtifactShare;
  std::function<double()>             getExpectedOverlap;
  SizeValueType                       gridBytes{ 0 };
  bool                                counts{ false }; ///< the preset judges no pixel before it has seen all
  bool                                gridIsMade{ false };
  double                              shareOfGrid{ 0.0 }; ///< of the progress
  Size<2>                             size{ { 0, 0 } };   ///< of the label grid, where it is resampled

  template <typename TPixel>
  void Connect(const SlideTissueImageSource & source, unsigned shrinkFactor);
};

template <typename TPixel>
void
SlideTissueImageSource::Stages::Connect(const SlideTissueImageSource & source, unsigned shrinkFactor)
{
  using ImageType = Image<TPixel, 2>;
  const auto file = ImageFileReader<ImageType>::New();
  file->SetImageIO(slide);
  file->SetFileName(slide->GetFileName());
  reader = file.GetPointer();
  typename ImageSource<ImageType>::Pointer blocks = file.GetPointer();
  if (shrinkFactor > 1)
  {
    const auto mean = BlockMeanImageFilter<ImageType>::New();
    mean->SetInput(file->GetOutput());
    mean->SetShrinkFactor(shrinkFactor);
    blocks = mean.GetPointer();
  }
  if (source.m_GridDownsample == 0 && source.m_JudgedPerSide > 1)
  {
    blocks->UpdateOutputInformation();
    auto judged = blocks->GetOutput()->GetLargestPossibleRegion();
    for (unsigned axis = 0; axis < 2; ++axis)
    {
      judged.SetSize(axis, std::min(judged.GetSize(axis), size[axis] * source.m_JudgedPerSide));
    }
    if (judged != blocks->GetOutput()->GetLargestPossibleRegion())
    {
      const auto part = ExtractImageFilter<ImageType, ImageType>::New();
      part->SetInput(blocks->GetOutput());
      part->SetExtractionRegion(judged);
      part->SetDirectionCollapseToSubmatrix();
      blocks = part.GetPointer();
    }
  }
  pixels = blocks.GetPointer();
  grid = blocks->GetOutput();
  const auto tissue = TissueLabelImageFilter<ImageType, MaskType>::New();
  tissue->SetInput(blocks->GetOutput());
  tissue->SetPreset(source.GetChosenPreset());
  tissue->SetShrinkFactor(source.m_JudgedPerSide);
  tissue->JudgeInputPixelsOn();
  tissue->SetOutputClasses(source.GetOutputClasses());
  if (!std::string(source.GetModel()).empty())
  {
    tissue->SetModel(source.GetModel());
  }
  if (!source.m_Hints.empty())
  {
    // They lie on the pixels that are judged, wherever the slide says that it is.
    blocks->UpdateOutputInformation();
    const auto * judged = blocks->GetOutput();
    const auto   extent = judged->GetLargestPossibleRegion().GetSize();
    hints->SetSize(extent[0], extent[1]);
    const auto downsamples = source.GetGridDownsamples();
    hints->SetDownsample((downsamples[0] + downsamples[1]) / 2 / source.m_JudgedPerSide);
    hints->SetSpacing(judged->GetSpacing()[0]);
    hints->SetRowSpacing(judged->GetSpacing()[1]);
    hints->SetMaskOrigin(judged->GetOrigin());
    tissue->SetHints(hints->GetOutput());
  }
  getPenShare = [filter = tissue.GetPointer()] { return filter->GetPenShare(); };
  getArtifactShare = [filter = tissue.GetPointer()] { return filter->GetArtifactShare(); };
  getExpectedOverlap = [filter = tissue.GetPointer()] { return filter->GetExpectedOverlap(); };
  setGrid = [filter = tissue.GetPointer()](ImageBase<2> * made) { filter->SetInput(dynamic_cast<ImageType *>(made)); };
  label = tissue.GetPointer();
  last = tissue.GetPointer();
  if (source.GetFullResolution())
  {
    const auto base = slide->GetLevelSize(0);
    const auto upsample = NearestUpsampleImageFilter<MaskType>::New();
    upsample->SetInput(tissue->GetOutput());
    upsample->SetFactor(source.m_GridDownsample);
    upsample->SetOutputSize({ { base[0], base[1] } });
    last = upsample.GetPointer();
  }
  gridBytes = sizeof(TPixel);
}

SlideTissueImageSource::SlideTissueImageSource()
  : m_Preset(gigapixel::DefaultTissuePreset)
  , m_Stages(std::make_unique<Stages>())
{
  m_HintsOrigin.Fill(0.0);
}

SlideTissueImageSource::~SlideTissueImageSource() = default;

void
SlideTissueImageSource::SetSlide(WholeSlideImageIO * slide)
{
  m_Stages->given.Set(slide);
  this->Modified();
}

void
SlideTissueImageSource::SetMicronsPerPixel(double micronsPerPixel)
{
  if (!(micronsPerPixel >= 0.0 && std::isfinite(micronsPerPixel)))
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-OPTION-VALUE", "micrometers per pixel have to be 0 or greater")
                                 .OfValue(gigapixel::FormatShortest(micronsPerPixel)));
  }
  if (m_MicronsPerPixel != micronsPerPixel)
  {
    m_MicronsPerPixel = micronsPerPixel;
    this->Modified();
  }
}

void
SlideTissueImageSource::SetPreset(const std::string & name)
{
  try
  {
    gigapixel::CheckTissuePresetName(name);
  }
  catch (const std::invalid_argument & unknown)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(unknown));
  }
  if (m_Preset != name)
  {
    m_Preset = name;
    this->Modified();
  }
}

std::vector<std::string>
SlideTissueImageSource::GetPresets()
{
  return gigapixel::GetTissuePresetNames();
}

void
SlideTissueImageSource::ChoosePreset()
{
  m_ChosenPreset = gigapixel::IsAutomaticTissuePreset(m_Preset)
                     ? gigapixel::SuggestTissuePreset(SampleSlide(*m_Stages->slide, m_Level)).name
                     : gigapixel::GetTissuePreset(m_Preset).name;
}

std::string
SlideTissueImageSource::GetAdvice() const
{
  this->RequireStages();
  if (gigapixel::IsAutomaticTissuePreset(m_Preset))
  {
    return std::string();
  }
  const WholeSlideImageIO & slide = *m_Stages->slide;
  return gigapixel::AdviseTissuePreset(m_Preset, SampleSlide(slide, m_Level), slide.GetFileName());
}

void
SlideTissueImageSource::ReadHints()
{
  m_Stages->hints = nullptr;
  if (m_Hints.empty())
  {
    return;
  }
  if (gigapixel::GetTissuePreset(m_ChosenPreset).method != gigapixel::TissueMethod::Network)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-OPTION-APPLIES",
                            "hints correct the network, which the preset " + m_ChosenPreset + " does not use",
                            "say --preset model (SetPreset()), or leave the hints out")
        .OfOption("--hints", m_Hints));
  }
  m_Stages->hints = AnnotationImageSource::New();
  m_Stages->hints->SetOutlineOrigin(m_HintsOrigin);
  for (const gigapixel::Diagnostic & warning : gigapixel::AddTissueHints(m_Hints, *m_Stages->hints))
  {
    itkWarningMacro(<< gigapixel::Remember(warning));
  }
}

void
SlideTissueImageSource::DescribeMaking()
{
  const WholeSlideImageIO & slide = *m_Stages->slide;
  std::string               model;
  if (!m_Model.empty())
  {
    model = " model=" + gigapixel::IdentifyFile(m_Model, gigapixel::HashedBytes::All);
  }
  else if (gigapixel::GetTissuePreset(m_ChosenPreset).method == gigapixel::TissueMethod::Network)
  {
    model = " model=" + gigapixel::TissueNetwork::Identify(gigapixel::TissueNetwork::ReadyModel);
  }
  if (gigapixel::GetTissuePreset(m_ChosenPreset).method == gigapixel::TissueMethod::Network)
  {
    model += std::string(" method=") + gigapixel::TissueNetwork::Method;
  }
  if (!m_Hints.empty())
  {
    model += " hints=" + gigapixel::IdentifyFile(m_Hints, gigapixel::HashedBytes::All);
    if (m_HintsOrigin != Point2{})
    {
      model +=
        " origin=" + gigapixel::FormatShortest(m_HintsOrigin[0]) + ',' + gigapixel::FormatShortest(m_HintsOrigin[1]);
    }
  }
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "label preset=" << m_ChosenPreset;
  m_GridDownsample > 0 ? text << " downsample=" << m_GridDownsample
                       : text << " resolution=" << gigapixel::FormatShortest(m_MicronsPerPixel);
  if (m_JudgedPerSide > 1)
  {
    text << " judged-per-side=" << m_JudgedPerSide;
  }
  text << (m_FullResolution ? " full-resolution" : "") << (m_OutputClasses ? " classes" : "") << model
       << " mpp=" << std::fixed << std::setprecision(6) << gigapixel::GetLevelZeroResolution(slide) << ' '
       << gigapixel::IdentifySlide(slide);
  m_MadeBy = text.str();
}

void
SlideTissueImageSource::Advance(ProcessObject * stage, double share)
{
  if (share > this->GetProgress())
  {
    this->UpdateProgress(static_cast<float>(share));
  }
  if (this->GetAbortGenerateData())
  {
    stage->AbortGenerateDataOn();
  }
}

void
SlideTissueImageSource::ConnectStages()
{
  WholeSlideImageIO & slide = *m_Stages->slide;
  const double        judged = static_cast<double>(m_GridDownsample) / m_JudgedPerSide;
  const double        factor = judged / slide.GetLevelDownsample(m_Level);
  const auto          shrinkFactor = std::max(1u, static_cast<unsigned>(std::llround(factor)));
  // Areas that were not scanned are ground: white, but dark under fluorescence, where tiles that are not stored are 0.
  const gigapixel::TissueMethod method = gigapixel::GetTissuePreset(m_ChosenPreset).method;
  const bool isDark = method == gigapixel::TissueMethod::Network ? gigapixel::IsDark(SampleSlide(slide, m_Level))
                                                                 : method == gigapixel::TissueMethod::BrightOnDark;
  slide.SetUnscannedAsBackground(!isDark);
  slide.GetNumberOfComponents() == 3 ? m_Stages->Connect<RGBPixel<unsigned char>>(*this, shrinkFactor)
                                     : m_Stages->Connect<unsigned char>(*this, shrinkFactor);
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    m_Stages->gridBytes *= (slide.GetLevelSize(m_Level)[axis] + shrinkFactor - 1) / shrinkFactor;
  }
  m_Stages->counts = method != gigapixel::TissueMethod::MeanBelow;
  m_Stages->gridIsMade = false;
  ProcessObject * const pixels = m_Stages->pixels;
  pixels->AddObserver(ProgressEvent(), [this, pixels](const EventObject &) {
    this->Advance(pixels, m_Stages->shareOfGrid * static_cast<double>(pixels->GetProgress()));
  });
  ProcessObject * const label = m_Stages->label;
  label->AddObserver(ProgressEvent(), [this, label](const EventObject &) {
    const double begin = m_Stages->shareOfGrid;
    this->Advance(label, begin + (1.0 - begin) * static_cast<double>(label->GetProgress()));
  });
}

void
SlideTissueImageSource::UpdateOutputInformation()
{
  if (m_Stages->given.HasChanged())
  {
    this->Modified();
  }
  Superclass::UpdateOutputInformation();
}

/** Blocks of whole pixels where the grid allows, which the codec may decode smaller; else the reader resamples. What is
 * read is what is judged, finer than a coarse label grid. */
void
SlideTissueImageSource::SelectGrid()
{
  WholeSlideImageIO & slide = *m_Stages->slide;
  m_GridDownsample = m_MicronsPerPixel > 0 ? FindWholeDownsample(slide, m_MicronsPerPixel) : m_Downsample;
  if (m_GridDownsample > 0)
  {
    const auto   resolution = slide.GetLevelZeroResolution();
    const double known = (resolution[0] + resolution[1]) / 2;
    const double pixel = known > 0 ? known : gigapixel::NominalLabelMicronsPerPixel / 8;
    m_JudgedPerSide = gigapixel::GetJudgedPixelsPerSide(m_GridDownsample, pixel * m_GridDownsample);
    slide.SetLevel(slide.GetLevelForBlocks(m_GridDownsample / m_JudgedPerSide));
  }
  else
  {
    slide.SetMicronsPerPixel(m_MicronsPerPixel);
    slide.ReadImageInformation();
    const auto size = slide.GetLevelSize(slide.GetLevel());
    m_Stages->size = { { size[0], size[1] } };
    m_JudgedPerSide = FindJudgedPerSide(slide, m_MicronsPerPixel);
    slide.SetMicronsPerPixel(m_MicronsPerPixel / m_JudgedPerSide);
  }
  slide.ReadImageInformation();
  m_Level = slide.GetLevel();
  if (m_GridDownsample == 0 && m_FullResolution)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OPTION-CONFLICT",
                                                   "a mask of level 0 is made of a whole downsample, and " +
                                                     gigapixel::FormatShortest(m_MicronsPerPixel) +
                                                     " micrometers per pixel are none",
                                                   "choose a downsample (--downsample, SetDownsample())")
                               .OfFile(slide.GetFileName())
                               .OfOption("--full-resolution"));
  }
}

void
SlideTissueImageSource::GenerateOutputInformation()
{
  if (!m_Stages->given.IsSet())
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-CALL-ORDER", "no slide", "call SetSlide()"));
  }
  m_Stages->slide = m_Stages->given.Copy();
  WholeSlideImageIO & slide = *m_Stages->slide;
  try
  {
    slide.SetLevel(0);
    slide.ReadImageInformation();
    gigapixel::RequirePicture(slide);
    this->SelectGrid();
    this->ChoosePreset();
    this->ReadHints();
    this->DescribeMaking();
    this->ConnectStages();
  }
  catch (const std::runtime_error & unsuitable)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(unsuitable));
  }
  m_Stages->last->UpdateOutputInformation();
  this->GetOutput()->CopyInformation(m_Stages->last->GetOutput());
  this->NameClasses();
}

void
SlideTissueImageSource::NameClasses()
{
  static const std::array<const char *, gigapixel::ClassMap::Classes> names{
    { "#ffffff glass", "#c8508c tissue", "#0050d0 pen", "#f0a000 artifact" }
  };
  MetaDataDictionary & dictionary = this->GetOutput()->GetMetaDataDictionary();
  for (std::size_t value = 0; value < names.size(); ++value)
  {
    const std::string key = "gigapixel.class." + std::to_string(value);
    if (m_OutputClasses)
    {
      EncapsulateMetaData<std::string>(dictionary, key, names[value]);
    }
    else
    {
      dictionary.Erase(key);
    }
  }
}

double
SlideTissueImageSource::GetPenShare() const
{
  return m_Stages->getPenShare();
}

double
SlideTissueImageSource::GetArtifactShare() const
{
  return m_Stages->getArtifactShare();
}

double
SlideTissueImageSource::GetExpectedOverlap() const
{
  return m_Stages->getExpectedOverlap();
}

double
SlideTissueImageSource::GetChanceOfPoorMask() const
{
  return gigapixel::TissueNetwork::GetChanceOfPoorMask(this->GetExpectedOverlap());
}

const WholeSlideImageIO *
SlideTissueImageSource::GetReadSlide() const
{
  return m_Stages->slide;
}

std::array<double, 2>
SlideTissueImageSource::GetGridDownsamples() const
{
  const auto judged = m_Stages->slide->GetLevelDownsamples(m_Level);
  const auto whole = static_cast<double>(m_GridDownsample);
  return m_GridDownsample > 0 ? std::array<double, 2>{ { whole, whole } }
                              : std::array<double, 2>{ { judged[0] * m_JudgedPerSide, judged[1] * m_JudgedPerSide } };
}

SizeValueType
SlideTissueImageSource::GetGridBytes() const
{
  return m_Stages->gridBytes;
}

void
SlideTissueImageSource::RequireStages() const
{
  if (!m_Stages->last)
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-CALL-ORDER", "the slide was not opened", "call UpdateOutputInformation() first"));
  }
}

void
SlideTissueImageSource::Run(const std::function<void()> & update)
{
  try
  {
    update();
  }
  catch (...)
  {
    // ITK resets what lies above the filter that fails. Those below it would take themselves for being updated, and
    // their pixels for made: the next update begins with new ones.
    m_Stages->last = nullptr;
    this->Modified();
    throw;
  }
}

void
SlideTissueImageSource::MakeGrid()
{
  this->RequireStages();
  if (m_Stages->gridIsMade)
  {
    return;
  }
  const bool keeps = m_Stages->counts && m_Stages->gridBytes <= LargestGridInMemory;
  m_Stages->shareOfGrid = m_GridMaker || keeps ? ShareOfGrid : 0.0;
  if (m_GridMaker)
  {
    this->Run([this] { m_Stages->setGrid(m_GridMaker(m_Stages->grid)); });
  }
  else if (keeps)
  {
    this->Run([this] { m_Stages->pixels->UpdateLargestPossibleRegion(); });
  }
  m_Stages->gridIsMade = true;
}

void
SlideTissueImageSource::GenerateData()
{
  this->MakeGrid();
  const MaskType::Pointer mask = m_Stages->last->GetOutput();
  mask->SetRequestedRegion(this->GetOutput()->GetRequestedRegion());
  this->Run([&mask] { mask->Update(); });
  this->GraftOutput(mask);
  // What comes after may work in place: the stage must not take the shared pixels for its own result any more.
  mask->ReleaseData();
}

void
SlideTissueImageSource::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Preset: " << m_Preset << '\n';
  os << indent << "ChosenPreset: " << m_ChosenPreset << '\n';
  os << indent << "Model: " << m_Model << '\n';
  os << indent << "Hints: " << m_Hints << '\n';
  os << indent << "HintsOrigin: " << m_HintsOrigin << '\n';
  os << indent << "OutputClasses: " << (m_OutputClasses ? "On" : "Off") << '\n';
  os << indent << "Downsample: " << m_Downsample << '\n';
  os << indent << "MicronsPerPixel: " << m_MicronsPerPixel << '\n';
  os << indent << "Level: " << m_Level << '\n';
  os << indent << "FullResolution: " << (m_FullResolution ? "On" : "Off") << '\n';
  os << indent << "MadeBy: " << m_MadeBy << '\n';
}

} // namespace itk

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelUNetTrainer.h"

#include "gigapixelMaskLabelSource.h"
#include "gigapixelMaskName.h"
#include "gigapixelOneLabelSource.h"
#include "gigapixelRegionSource.h"
#include "gigapixelTissueSource.h"
#include "itkGigapixelFileSource.h"
#include "itkMultiThreaderBase.h"
#include "itkSimpleDataObjectDecorator.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

namespace itk
{

GigapixelStepEvent::GigapixelStepEvent(const GigapixelStepEvent & other)
  : AnyEvent(other)
{}

GigapixelStepEvent::~GigapixelStepEvent() = default;

const char *
GigapixelStepEvent::GetEventName() const
{
  return "GigapixelStepEvent";
}

bool
GigapixelStepEvent::CheckEvent(const EventObject * event) const
{
  return dynamic_cast<const GigapixelStepEvent *>(event) != nullptr;
}

EventObject *
GigapixelStepEvent::MakeObject() const
{
  return new GigapixelStepEvent;
}

GigapixelPlanEvent::GigapixelPlanEvent(const GigapixelPlanEvent & other)
  : AnyEvent(other)
{}

GigapixelPlanEvent::~GigapixelPlanEvent() = default;

const char *
GigapixelPlanEvent::GetEventName() const
{
  return "GigapixelPlanEvent";
}

bool
GigapixelPlanEvent::CheckEvent(const EventObject * event) const
{
  return dynamic_cast<const GigapixelPlanEvent *>(event) != nullptr;
}

EventObject *
GigapixelPlanEvent::MakeObject() const
{
  return new GigapixelPlanEvent;
}

struct GigapixelUNetTrainer::Definition
{
  /** Opened where these are empty. */
  gigapixel::PhysicalImage pixels;
  gigapixel::PhysicalImage mask;
  std::string              pixelsFile;
  std::string              maskFile;
  gigapixel::Region        region; ///< level-0 pixels; width 0: all
  Split                    split{ Split::Training };
  std::string              label{}; ///< of the whole of it; empty: none
};

struct GigapixelUNetTrainer::Implementation
{
  std::vector<Definition>             definitions;
  std::shared_ptr<gigapixel::Ranks>   ranks;
  std::unique_ptr<gigapixel::Trainer> trainer;
  gigapixel::MemoryPlan               plan;
  gigapixel::TrainingProgress         progress;
  double                              fraction{ 0 };
  bool                                stepped{ false };
};

namespace
{

/** Level-0 pixels to those of the level, outwards to whole ones; at its end a level may be cut by a part of a pixel,
 * but not by more: what reaches beyond the slide is refused. */
gigapixel::Region
AtLevel(const gigapixel::Region & region, double downsample, gigapixel::Size size)
{
  const auto down = [&](std::int64_t pixel) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(pixel) / downsample));
  };
  const auto up = [&](std::int64_t pixel, std::int64_t most) {
    const auto end = static_cast<std::int64_t>(std::ceil(static_cast<double>(pixel) / downsample));
    return downsample != 1 && end == most + 1 ? most : end;
  };
  gigapixel::Region result;
  result.x = down(region.x);
  result.y = down(region.y);
  result.width = up(region.x + region.width, size.width) - result.x;
  result.height = up(region.y + region.height, size.height) - result.y;
  return result;
}

/** Without any tissue a sample has no label that counts. */
void
RequireTissue(const gigapixel::TissueMask &    tissue,
              const std::string &              name,
              const gigapixel::PhysicalImage & pixels,
              const gigapixel::Region &        region)
{
  const gigapixel::Size size = pixels.grid.size;
  gigapixel::Region     part = AtLevel(region, pixels.downsample, size);
  const bool            isInside = part.x >= 0 && part.y >= 0 && part.x + part.width <= size.width &&
                        part.y + part.height <= size.height; // else it is refused later
  if (isInside && !tissue.HasTissue(part))
  {
    throw std::runtime_error("the tissue mask " + name + " has no tissue " +
                             (region.width > 0 ? "in the region of " : "at all on ") + pixels.name +
                             ": give the right one, or leave out this sample");
  }
}

/** The class of a whole image. */
std::shared_ptr<gigapixel::LabelSource>
MakeOneLabel(const std::string & label, const std::string & image, const gigapixel::NetworkDescription & network)
{
  const auto & names = network.classNames;
  const auto   found = std::find(names.begin(), names.end(), label);
  if (found == names.end())
  {
    throw std::runtime_error(
      image + (label.empty() ? " has no label" : " has the label \"" + label + "\", which is no class of it") +
      ", and the network " + network.name + " labels images: " +
      (label.empty() ? "give it one (of a cohort in the column label), or another network" : "see its class names"));
  }
  return std::make_shared<gigapixel::OneLabelSource>(static_cast<std::uint8_t>(found - names.begin()));
}

/** Pixels and labels of a sample as the network wants them.
 * \param mask null: the label is the truth
 * \param tissue null: everything is */
gigapixel::Sample
MakeSample(const gigapixel::PhysicalImage &      pixels,
           const gigapixel::PhysicalImage *      mask,
           const std::string &                   label,
           const gigapixel::PhysicalImage *      tissue,
           const gigapixel::Region &             region,
           const gigapixel::NetworkDescription & network)
{
  gigapixel::Sample sample;
  sample.name = pixels.name;
  sample.pixels = gigapixel::AdaptChannels(pixels.pixels, static_cast<unsigned>(network.channels), pixels.name);
  if (mask)
  {
    sample.labels = std::make_shared<gigapixel::MaskLabelSource>(*mask,
                                                                 pixels.grid,
                                                                 pixels.name,
                                                                 network.GetNumberOfClasses(),
                                                                 network.ignoreUnscanned ? pixels.scanned
                                                                                         : gigapixel::ScannedFunction(),
                                                                 network.ignoredLabel);
  }
  else
  {
    sample.labels = MakeOneLabel(label, pixels.name, network);
  }
  if (!pixels.content.empty() && (!mask || !mask->content.empty()))
  {
    sample.identity = pixels.content + " region=" + std::to_string(region.x) + ',' + std::to_string(region.y) + ',' +
                      std::to_string(region.width) + ',' + std::to_string(region.height) +
                      (mask ? " mask: " + mask->content : " label: " + label) +
                      (tissue ? " tissue: " + tissue->content : "");
  }
  if (tissue)
  {
    const auto isTissue = std::make_shared<const gigapixel::TissueMask>(*tissue, pixels.grid, pixels.name);
    RequireTissue(*isTissue, tissue->name, pixels, region);
    sample.pixels = gigapixel::MakeGlassWhite(sample.pixels, isTissue);
    sample.labels = network.LabelsImage() ? sample.labels : gigapixel::IgnoreGlass(sample.labels, isTissue);
  }
  if (region.width > 0)
  {
    try
    {
      const gigapixel::Region part = AtLevel(region, pixels.downsample, pixels.grid.size);
      sample.pixels = gigapixel::MakeRegionSource(sample.pixels, part);
      sample.labels = network.LabelsImage() ? sample.labels : gigapixel::MakeRegionSource(sample.labels, part);
    }
    catch (const std::runtime_error & error)
    {
      throw std::runtime_error(pixels.name + ": " + error.what());
    }
  }
  return sample;
}

/** Regions of one slide are of one slide, whatever name leads to it; an image is one by itself. */
template <typename TDefinitions>
std::size_t
CountSlides(const TDefinitions & definitions)
{
  std::size_t                     images = 0;
  std::set<std::filesystem::path> files;
  for (const auto & definition : definitions)
  {
    std::error_code error;
    const auto      file = std::filesystem::canonical(definition.pixelsFile, error);
    if (definition.pixelsFile.empty() || error)
    {
      ++images;
    }
    else
    {
      files.insert(file);
    }
  }
  return images + files.size();
}

/** The resolution that all samples have. */
class CommonResolution
{
public:
  /** \throw std::runtime_error when it is another one. */
  void
  Add(const gigapixel::PhysicalImage & image)
  {
    const double mpp = image.grid.GetMicronsPerPixel();
    if (mpp <= 0)
    {
      m_Unknown = m_Unknown.empty() ? image.name : m_Unknown;
      return;
    }
    if (m_Mpp <= 0)
    {
      m_Mpp = mpp;
      m_Name = image.name;
    }
    else if (std::abs(mpp / m_Mpp - 1) > gigapixel::ResolutionTolerance)
    {
      std::ostringstream text;
      text << "all samples have to be of one resolution: " << m_Name << " has " << m_Mpp << " micrometers per pixel, "
           << image.name << " has " << mpp
           << "; choose slides that agree, or one resolution for all (--mpp, SetMicronsPerPixel())";
      throw std::runtime_error(text.str());
    }
  }

  double
  Get() const
  {
    return m_Mpp;
  }

  /** Empty, or what is to be warned of. */
  std::string
  GetWarning() const
  {
    if (m_Unknown.empty())
    {
      return std::string();
    }
    return m_Unknown + " has no known resolution; " +
           (m_Mpp > 0 ? "it is taken for that of " + m_Name : "the model will not know the one it was trained at");
  }

private:
  double      m_Mpp{ 0 };
  std::string m_Name;
  std::string m_Unknown;
};

} // namespace

GigapixelUNetTrainer::GigapixelUNetTrainer()
  : m_Implementation(std::make_unique<Implementation>())
{
  // The pipeline wants an output whose time says whether the training is up to date.
  this->SetNumberOfRequiredInputs(0);
  this->SetNumberOfRequiredOutputs(1);
  this->SetNthOutput(0, SimpleDataObjectDecorator<bool>::New());
}

GigapixelUNetTrainer::~GigapixelUNetTrainer() = default;

void
GigapixelUNetTrainer::SetFreeze(const std::vector<std::string> & names)
{
  if (m_Freeze != names)
  {
    m_Freeze = names;
    this->Modified();
  }
}

void
GigapixelUNetTrainer::SetClassWeights(const std::vector<double> & weights)
{
  if (m_ClassWeights != weights)
  {
    m_ClassWeights = weights;
    this->Modified();
  }
}

void
GigapixelUNetTrainer::Add(Split split, Definition definition)
{
  definition.split = split;
  m_Implementation->definitions.push_back(std::move(definition));
  this->Modified();
}

std::string
GigapixelUNetTrainer::NameNext(const std::string & word) const
{
  return word + " " + std::to_string(m_Implementation->definitions.size() + 1);
}

void
GigapixelUNetTrainer::AddImage(Split                            split,
                               const gigapixel::PhysicalImage & pixels,
                               const gigapixel::PhysicalImage & mask,
                               const ImageBase<2> &             image,
                               const RegionType &               region)
{
  Definition definition;
  definition.pixels = pixels;
  definition.mask = mask;
  if (region.GetNumberOfPixels() > 0)
  {
    const Index<2> & first = image.GetLargestPossibleRegion().GetIndex();
    definition.region = gigapixel::Region{ region.GetIndex(0) - first[0],
                                           region.GetIndex(1) - first[1],
                                           static_cast<std::int64_t>(region.GetSize(0)),
                                           static_cast<std::int64_t>(region.GetSize(1)) };
  }
  this->Add(split, std::move(definition));
}

void
GigapixelUNetTrainer::AddTrainingSlide(const std::string &       slide,
                                       const std::string &       mask,
                                       const gigapixel::Region & region)
{
  this->Add(Split::Training, Definition{ {}, {}, slide, mask, region });
}

void
GigapixelUNetTrainer::AddValidationSlide(const std::string &       slide,
                                         const std::string &       mask,
                                         const gigapixel::Region & region)
{
  this->Add(Split::Validation, Definition{ {}, {}, slide, mask, region });
}

void
GigapixelUNetTrainer::AddLabeledTrainingSlide(const std::string &       slide,
                                              const std::string &       label,
                                              const gigapixel::Region & region)
{
  this->Add(Split::Training, Definition{ {}, {}, slide, {}, region, {}, label });
}

void
GigapixelUNetTrainer::AddLabeledValidationSlide(const std::string &       slide,
                                                const std::string &       label,
                                                const gigapixel::Region & region)
{
  this->Add(Split::Validation, Definition{ {}, {}, slide, {}, region, {}, label });
}

void
GigapixelUNetTrainer::AddTrainingSample(const gigapixel::PhysicalImage & pixels,
                                        const gigapixel::PhysicalImage & mask,
                                        const gigapixel::Region &        region)
{
  this->Add(Split::Training, Definition{ pixels, mask, {}, {}, region });
}

void
GigapixelUNetTrainer::AddValidationSample(const gigapixel::PhysicalImage & pixels,
                                          const gigapixel::PhysicalImage & mask,
                                          const gigapixel::Region &        region)
{
  this->Add(Split::Validation, Definition{ pixels, mask, {}, {}, region });
}

void
GigapixelUNetTrainer::AddCohort(const gigapixel::Cohort & cohort)
{
  for (const gigapixel::CohortEntry & entry : cohort.entries)
  {
    if (entry.split != gigapixel::CohortEntry::Split::Test)
    {
      const Split split = entry.split == gigapixel::CohortEntry::Split::Training ? Split::Training : Split::Validation;
      this->Add(split, Definition{ {}, {}, entry.slide, entry.mask, entry.region, {}, entry.label });
    }
  }
}

void
GigapixelUNetTrainer::ClearSamples()
{
  m_Implementation->definitions.clear();
  this->Modified();
}

/** What is not said of a run that goes on is as it began. */
std::optional<gigapixel::BegunRun>
GigapixelUNetTrainer::FindBegunRun() const
{
  return m_Resume ? gigapixel::BegunRun::Find(m_RunFolder, m_Implementation->ranks.get()) : std::nullopt;
}

std::set<std::string>
GigapixelUNetTrainer::GetLabels() const
{
  std::set<std::string> labels;
  for (const Definition & definition : m_Implementation->definitions)
  {
    labels.insert(definition.label);
  }
  labels.erase("");
  return labels;
}

std::string
GigapixelUNetTrainer::GetDefaultNetwork() const
{
  const auto & definitions = m_Implementation->definitions;
  const bool   onlyLabels =
    !definitions.empty() && std::all_of(definitions.begin(), definitions.end(), [](const Definition & definition) {
      return !definition.label.empty() && definition.maskFile.empty() && !definition.mask.pixels;
    });
  return onlyLabels ? "resnet18:classes=" + std::to_string(std::max<std::size_t>(2, this->GetLabels().size()))
                    : "remedios2023";
}

void
GigapixelUNetTrainer::NameClasses(gigapixel::NetworkDescription & network) const
{
  const std::set<std::string> labels = this->GetLabels();
  std::string                 names;
  for (const std::string & label : labels)
  {
    names += (names.empty() ? "" : ", ") + label;
  }
  if (labels.size() == 1)
  {
    throw std::runtime_error("all slides have the label " + names + ": there is nothing to tell apart");
  }
  if (!labels.empty() && static_cast<int>(labels.size()) != network.GetNumberOfClasses())
  {
    throw std::runtime_error(
      "the slides have " + std::to_string(labels.size()) + " labels (" + names + "), and the network " + network.name +
      " tells " + std::to_string(network.GetNumberOfClasses()) +
      " classes apart: give a network of as many, such as resnet18:classes=" + std::to_string(labels.size()));
  }
  network.classNames.assign(labels.begin(), labels.end());
}

gigapixel::NetworkDescription
GigapixelUNetTrainer::LoadNetwork() const
{
  const auto                    begun = m_Network.empty() ? this->FindBegunRun() : std::nullopt;
  gigapixel::NetworkDescription network =
    begun ? begun->network
          : gigapixel::NetworkDescription::Load(m_Network.empty() ? this->GetDefaultNetwork() : m_Network);
  if (network.LabelsImage() && network.classNames.empty())
  {
    this->NameClasses(network);
  }
  if (!m_Loss.empty())
  {
    network.SetLoss(m_Loss);
  }
  if (!m_ClassWeights.empty())
  {
    network.classWeights = m_ClassWeights;
  }
  if (m_IgnoredLabel != gigapixel::LabelSource::Ignored)
  {
    network.ignoredLabel = m_IgnoredLabel;
  }
  return network;
}

gigapixel::TrainingOptions
GigapixelUNetTrainer::GetOptions() const
{
  const auto                 begun = m_Precision.empty() ? this->FindBegunRun() : std::nullopt;
  const std::string          precision = begun ? begun->precision : m_Precision.empty() ? "fp32" : m_Precision;
  gigapixel::TrainingOptions options;
  options.epochs = m_Epochs;
  options.weights = m_Weights;
  options.partialWeights = m_PartialWeights;
  options.freeze = m_Freeze;
  options.optimizer = m_Optimizer;
  options.momentum = m_Momentum;
  options.weightDecay = m_WeightDecay;
  options.clipGradient = m_ClipGradient;
  options.learningRate = m_LearningRate;
  options.learningRateSchedule = m_LearningRateSchedule;
  options.learningRateDecay = m_LearningRateDecay;
  options.plateauPatience = m_PlateauPatience;
  options.warmup = m_Warmup;
  options.device = gigapixel::Device::Find(m_Device, precision);
  options.imagesPerStep = m_ImagesPerStep;
  options.earlyStopping = m_EarlyStopping;
  options.augment = m_Augment;
  options.jitter = m_Jitter;
  options.seed = m_Seed;
  options.sharedMemory = m_SharedMemory;
  options.memory = static_cast<std::int64_t>(m_MemoryLimit);
  options.threads = static_cast<int>(
    std::min<ThreadIdType>(this->GetNumberOfWorkUnits(), this->GetMultiThreader()->GetMaximumNumberOfThreads()));
  options.tileSize = m_TileSize;
  options.scratch = m_ScratchFolder;
  options.resume = m_Resume;
  options.ranks = m_Implementation->ranks;
  return options;
}

void
GigapixelUNetTrainer::SetRanks(const std::shared_ptr<gigapixel::Ranks> & ranks)
{
  m_Implementation->ranks = ranks;
  this->Modified();
}

std::unique_ptr<gigapixel::PhysicalImage>
GigapixelUNetTrainer::OpenTissue(const std::string & sample) const
{
  if (m_Tissue.empty())
  {
    return nullptr;
  }
  const std::string mask = gigapixel::FindMask(m_Tissue, sample);
  const std::size_t slides = CountSlides(m_Implementation->definitions);
  if (mask == m_Tissue && slides > 1)
  {
    throw std::runtime_error("the tissue mask " + m_Tissue + " is of one slide, but there are " +
                             std::to_string(slides) + ": name a folder with a mask for each");
  }
  std::error_code error;
  return std::make_unique<gigapixel::PhysicalImage>(
    std::filesystem::is_regular_file(sample, error) ? GigapixelTissueSource(mask, sample) : GigapixelMaskSource(mask));
}

void
GigapixelUNetTrainer::AddSamplesTo(gigapixel::Trainer & trainer, const gigapixel::NetworkDescription & network)
{
  const GigapixelResolution resolution{ m_Level, m_MicronsPerPixel, m_LevelZeroMicronsPerPixel };
  CommonResolution          common;
  bool                      anyTraining = false;
  for (const Definition & definition : m_Implementation->definitions)
  {
    const auto pixels =
      definition.pixels.pixels
        ? definition.pixels
        : GigapixelFileSource(definition.pixelsFile, resolution, static_cast<unsigned>(network.channels));
    std::optional<gigapixel::PhysicalImage> mask;
    if (!network.LabelsImage())
    {
      if (!definition.mask.pixels && definition.maskFile.empty())
      {
        throw std::runtime_error(pixels.name + " has no mask, and the network " + network.name +
                                 " labels pixels: give one (of a cohort in the column mask), or a network that labels "
                                 "images, such as resnet18");
      }
      mask = definition.mask.pixels ? definition.mask : GigapixelMaskSource(definition.maskFile);
    }
    common.Add(pixels);
    const auto              tissue = this->OpenTissue(pixels.name);
    const gigapixel::Sample sample =
      MakeSample(pixels, mask ? &*mask : nullptr, definition.label, tissue.get(), definition.region, network);
    if (definition.split == Split::Training)
    {
      anyTraining = true;
      trainer.AddTrainingSample(sample);
    }
    else
    {
      trainer.AddValidationSample(sample);
    }
  }
  if (!anyTraining)
  {
    throw std::runtime_error("there are no training samples: add an image or a slide with its mask");
  }
  if (!common.GetWarning().empty())
  {
    itkWarningMacro(<< common.GetWarning());
  }
  trainer.SetMicronsPerPixel(common.Get());
}

bool
GigapixelUNetTrainer::Observe(const gigapixel::TrainingProgress & progress)
{
  Implementation & state = *m_Implementation;
  state.progress = progress;
  state.stepped = state.stepped || progress.fractionOfStep >= 1 || progress.epochDone;
  const double steps = std::max(1, progress.stepsPerEpoch);
  const double inEpoch =
    progress.epochDone ? 1.0 : std::min(1.0, (std::max(1, progress.step) - 1 + progress.fractionOfStep) / steps);
  const double fraction = (progress.epoch - 1 + inEpoch) / std::max(1, m_Epochs);
  if (fraction > state.fraction)
  {
    state.fraction = std::min(1.0, fraction);
    this->UpdateProgress(static_cast<float>(state.fraction));
  }
  if (progress.epochDone)
  {
    this->InvokeEvent(IterationEvent());
  }
  else if (progress.fractionOfStep >= 1)
  {
    this->InvokeEvent(GigapixelStepEvent());
  }
  return !this->GetAbortGenerateData();
}

void
GigapixelUNetTrainer::Update()
{
  this->GetOutput(0)->Update();
}

void
GigapixelUNetTrainer::GenerateData()
{
  Implementation & state = *m_Implementation;
  state.trainer.reset();
  state.progress = gigapixel::TrainingProgress();
  state.fraction = 0;
  state.stepped = false;
  bool finished = false;
  try
  {
    const auto network = this->LoadNetwork();
    state.trainer = std::make_unique<gigapixel::Trainer>(network, this->GetOptions(), m_RunFolder);
    state.trainer->SetWarning([this](const std::string & sentence) { itkWarningMacro(<< sentence); });
    state.trainer->SetPlanObserver([&](const gigapixel::MemoryPlan & plan) {
      state.plan = plan;
      this->InvokeEvent(GigapixelPlanEvent());
    });
    this->AddSamplesTo(*state.trainer, network);
    finished = state.trainer->Run([this](const gigapixel::TrainingProgress & p) { return this->Observe(p); });
    state.stepped = state.stepped || finished; // a run that was finished before takes no step, but has its models
  }
  catch (const ExceptionObject &)
  {
    throw; // from an observer, or a pipeline that feeds the training
  }
  catch (const gigapixel::MemoryLimitError & error)
  {
    std::throw_with_nested(ExceptionObject(__FILE__, __LINE__, error.what(), ITK_LOCATION));
  }
  catch (const std::exception & error)
  {
    itkExceptionMacro(<< error.what());
  }
  if (!finished)
  {
    throw ProcessAborted(__FILE__, __LINE__);
  }
}

const gigapixel::MemoryPlan &
GigapixelUNetTrainer::GetMemoryPlan() const
{
  return m_Implementation->plan;
}

const gigapixel::TrainingProgress &
GigapixelUNetTrainer::GetTrainingProgress() const
{
  return m_Implementation->progress;
}

const gigapixel::Model &
GigapixelUNetTrainer::GetBestModel() const
{
  if (!m_Implementation->trainer || !m_Implementation->stepped)
  {
    itkExceptionMacro(<< "there is no model yet: call Update() first");
  }
  return m_Implementation->trainer->GetBestModel();
}

const gigapixel::Model &
GigapixelUNetTrainer::GetLastModel() const
{
  if (!m_Implementation->trainer || !m_Implementation->stepped)
  {
    itkExceptionMacro(<< "there is no model yet: call Update() first");
  }
  return m_Implementation->trainer->GetLastModel();
}

void
GigapixelUNetTrainer::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Network: " << (m_Network.empty() ? "(the run's, or remedios2023)" : m_Network) << '\n';
  os << indent << "Weights: " << (m_Weights.empty() ? "by chance" : m_Weights) << '\n';
  os << indent << "PartialWeights: " << m_PartialWeights << '\n';
  os << indent << "Freeze:";
  for (const std::string & name : m_Freeze)
  {
    os << ' ' << name;
  }
  os << '\n' << indent << "Loss: " << (m_Loss.empty() ? "the network's" : m_Loss) << '\n';
  os << indent << "ClassWeights:";
  for (const double weight : m_ClassWeights)
  {
    os << ' ' << weight;
  }
  os << '\n' << indent << "IgnoredLabel: " << m_IgnoredLabel << '\n';
  os << indent << "RunFolder: " << m_RunFolder << '\n';
  os << indent << "Samples: " << m_Implementation->definitions.size() << '\n';
  os << indent << "Tissue: " << (m_Tissue.empty() ? "(everything)" : m_Tissue) << '\n';
  os << indent << "Level: " << m_Level << '\n';
  os << indent << "MicronsPerPixel: " << m_MicronsPerPixel << '\n';
  os << indent << "LevelZeroMicronsPerPixel: " << m_LevelZeroMicronsPerPixel << '\n';
  os << indent << "Epochs: " << m_Epochs << '\n';
  os << indent << "Optimizer: " << m_Optimizer << '\n';
  os << indent << "Momentum: " << m_Momentum << '\n';
  os << indent << "WeightDecay: " << m_WeightDecay << '\n';
  os << indent << "ClipGradient: " << m_ClipGradient << '\n';
  os << indent << "LearningRate: " << m_LearningRate << '\n';
  os << indent << "LearningRateSchedule: " << m_LearningRateSchedule << '\n';
  os << indent << "LearningRateDecay: " << m_LearningRateDecay << '\n';
  os << indent << "PlateauPatience: " << m_PlateauPatience << '\n';
  os << indent << "Warmup: " << m_Warmup << '\n';
  os << indent << "Device: " << m_Device << '\n';
  os << indent << "Precision: " << (m_Precision.empty() ? "(the run's, or fp32)" : m_Precision) << '\n';
  os << indent << "ImagesPerStep: " << m_ImagesPerStep << '\n';
  os << indent << "EarlyStopping: " << m_EarlyStopping << '\n';
  os << indent << "Augment: " << m_Augment << '\n';
  os << indent << "Jitter: " << m_Jitter << '\n';
  os << indent << "Seed: " << m_Seed << '\n';
  os << indent << "SharedMemory: " << m_SharedMemory << '\n';
  os << indent << "TileSize: " << m_TileSize << '\n';
  os << indent << "Resume: " << m_Resume << '\n';
  os << indent << "MemoryLimit: " << m_MemoryLimit << '\n';
  os << indent << "ScratchFolder: " << m_ScratchFolder << '\n';
}

} // namespace itk

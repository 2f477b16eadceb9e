/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelUNetTrainer.h"

#include "itkGigapixelException.h"
#include "gigapixelImageKind.h"
#include "gigapixelLabeling.h"
#include "gigapixelMaskName.h"
#include "gigapixelSlideMemory.h"
#include "gigapixelTorchVersion.h"
#include "gigapixelWeightsFile.h"
#include "itkGigapixelFileSource.h"
#include "itkGigapixelNetworkSource.h"
#include "itkGigapixelTrainingSample.h"
#include "gigapixelJoinNames.h"
#include "itkGigapixelTrainingVolume.h"
#include "itkGigapixelUNetImageFilter.h"
#include "itkGigapixelVolumeSource.h"
#include "itkMultiThreaderBase.h"
#include "itkSimpleDataObjectDecorator.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>

namespace itk
{

struct GigapixelUNetTrainer::Implementation
{
  std::vector<GigapixelTrainingSample> samples;
  gigapixel::Objective                 objective; ///< of the samples' truths
  std::shared_ptr<gigapixel::Ranks>    ranks;
  std::unique_ptr<gigapixel::Trainer>  trainer;
  gigapixel::MemoryPlan                plan;
  gigapixel::TrainingProgress          progress;
  std::optional<std::string>           orientation; ///< of the volumes among the samples; none: it was not looked for
  double                               fraction{ 0 };
  bool                                 stepped{ false };
};

GigapixelUNetTrainer::GigapixelUNetTrainer()
  : m_Implementation(std::make_unique<Implementation>())
{
  m_Computing.precision.clear(); // the run's, or fp32
  // The pipeline wants an output whose time says whether the training is up to date.
  this->SetNumberOfRequiredInputs(0);
  this->SetNumberOfRequiredOutputs(1);
  this->SetNthOutput(0, SimpleDataObjectDecorator<bool>::New());
}

GigapixelUNetTrainer::~GigapixelUNetTrainer() = default;

void
GigapixelUNetTrainer::SetLearningOptions(const gigapixel::LearningOptions & options)
{
  m_Options = options;
  this->Modified();
}

void
GigapixelUNetTrainer::Add(Split split, const GigapixelTrainingSample & sample)
{
  if (!sample.truth.empty() && !m_Implementation->objective.HasTargets())
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic(
      "E-CALL-ORDER", "what the truths of images are is not known", "call SetObjective() before"));
  }
  m_Implementation->samples.push_back(sample);
  m_Implementation->samples.back().validates = split == Split::Validation;
  m_Implementation->orientation.reset();
  this->Modified();
}

std::string
GigapixelUNetTrainer::NameNext(const std::string & word) const
{
  return word + " " + std::to_string(m_Implementation->samples.size() + 1);
}

void
GigapixelUNetTrainer::AddImage(Split                            split,
                               const gigapixel::PhysicalImage & pixels,
                               const gigapixel::PhysicalImage & mask,
                               const ImageBase<2> &             image,
                               const RegionType &               region,
                               const std::string &              label,
                               const gigapixel::ImageTruth &    truth)
{
  GigapixelTrainingSample sample;
  sample.pixels = pixels;
  sample.mask = mask;
  sample.label = label;
  sample.truth = truth;
  if (region.GetNumberOfPixels() > 0)
  {
    const Index<2> & first = image.GetLargestPossibleRegion().GetIndex();
    sample.region = gigapixel::Region{ region.GetIndex(0) - first[0],
                                       region.GetIndex(1) - first[1],
                                       static_cast<std::int64_t>(region.GetSize(0)),
                                       static_cast<std::int64_t>(region.GetSize(1)) };
  }
  this->Add(split, sample);
}

void
GigapixelUNetTrainer::AddTrainingSlide(const std::string &       slide,
                                       const std::string &       mask,
                                       const gigapixel::Region & region)
{
  this->Add(Split::Training, { {}, {}, slide, mask, region });
}

void
GigapixelUNetTrainer::AddValidationSlide(const std::string &       slide,
                                         const std::string &       mask,
                                         const gigapixel::Region & region)
{
  this->Add(Split::Validation, { {}, {}, slide, mask, region });
}

void
GigapixelUNetTrainer::AddLabeledTrainingSlide(const std::string &       slide,
                                              const std::string &       label,
                                              const gigapixel::Region & region)
{
  this->Add(Split::Training, { {}, {}, slide, {}, region, false, label });
}

void
GigapixelUNetTrainer::AddLabeledValidationSlide(const std::string &       slide,
                                                const std::string &       label,
                                                const gigapixel::Region & region)
{
  this->Add(Split::Validation, { {}, {}, slide, {}, region, true, label });
}

void
GigapixelUNetTrainer::AddLabeledTrainingSlide(const std::string &           slide,
                                              const gigapixel::ImageTruth & truth,
                                              const gigapixel::Region &     region)
{
  this->Add(Split::Training, { {}, {}, slide, {}, region, false, {}, truth });
}

void
GigapixelUNetTrainer::AddLabeledValidationSlide(const std::string &           slide,
                                                const gigapixel::ImageTruth & truth,
                                                const gigapixel::Region &     region)
{
  this->Add(Split::Validation, { {}, {}, slide, {}, region, true, {}, truth });
}

void
GigapixelUNetTrainer::AddTrainingSample(const gigapixel::PhysicalImage & pixels,
                                        const gigapixel::PhysicalImage & mask,
                                        const gigapixel::Region &        region)
{
  this->Add(Split::Training, { pixels, mask, {}, {}, region });
}

void
GigapixelUNetTrainer::AddValidationSample(const gigapixel::PhysicalImage & pixels,
                                          const gigapixel::PhysicalImage & mask,
                                          const gigapixel::Region &        region)
{
  this->Add(Split::Validation, { pixels, mask, {}, {}, region });
}

void
GigapixelUNetTrainer::SetObjective(const gigapixel::Objective & objective)
{
  gigapixel::Objective & mine = m_Implementation->objective;
  if (!m_Implementation->samples.empty() && (mine.kind != objective.kind || mine.names != objective.names))
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-SAMPLE-TRUTH",
                            std::string("what is learnt (") + objective.GetKind().name +
                              ") is something else than the samples before it have (" + mine.GetKind().name + ")",
                            "train on one kind, with the same names, or call ClearSamples() before"));
  }
  mine = objective;
  this->Modified();
}

void
GigapixelUNetTrainer::AddCohort(const gigapixel::Cohort & cohort)
{
  this->SetObjective(cohort.objective);
  for (const gigapixel::CohortEntry & entry : cohort.entries)
  {
    const bool validates = entry.split == gigapixel::CohortEntry::Split::Validation;
    if (entry.split != gigapixel::CohortEntry::Split::Test)
    {
      this->Add(validates ? Split::Validation : Split::Training,
                { {}, {}, entry.slide, entry.mask, entry.region, validates, entry.label, entry.truth });
    }
  }
}

void
GigapixelUNetTrainer::ClearSamples()
{
  m_Implementation->samples.clear();
  m_Implementation->orientation.reset();
  m_Implementation->objective = gigapixel::Objective();
  this->Modified();
}

/** What is not said of a run that goes on is as it began. */
std::optional<gigapixel::BegunRun>
GigapixelUNetTrainer::FindBegunRun() const
{
  return m_Resume && (m_Network.empty() || m_Computing.precision.empty())
           ? gigapixel::BegunRun::Find(m_RunFolder, m_Implementation->ranks.get())
           : std::nullopt;
}

namespace
{

/** The orientation of the volumes among the samples. \param ranks of which the first one looks, and tells all others;
 * null: this process alone */
std::string
FindOrientation(const std::vector<GigapixelTrainingSample> & samples, gigapixel::Ranks * ranks)
{
  std::vector<std::string> volumes;
  for (const GigapixelTrainingSample & sample : samples)
  {
    const auto files = GigapixelSplitModalities(sample.pixelsFile);
    if (!sample.pixels.pixels && std::all_of(files.begin(), files.end(), GigapixelIsVolumeName))
    {
      volumes.push_back(sample.pixelsFile);
    }
  }
  std::string orientation;
  if (ranks == nullptr || ranks->GetRank() == 0)
  {
    orientation = GigapixelTrainingVolumes::FindOrientation(volumes);
  }
  if (ranks != nullptr)
  {
    ranks->Broadcast(orientation);
  }
  return orientation;
}

} // namespace

gigapixel::NetworkDescription
GigapixelUNetTrainer::LoadNetwork() const
{
  return this->MakeNetwork(this->FindBegunRun());
}

bool
GigapixelUNetTrainer::TakesDefaultForMasks() const
{
  return m_Network.empty() && !this->FindBegunRun() && GetDefaultNetwork(m_Implementation->samples) == DefaultOfMasks;
}

gigapixel::NetworkDescription
GigapixelUNetTrainer::MakeNetwork(const std::optional<gigapixel::BegunRun> & begun) const
{
  const bool                    asBegun = begun && m_Network.empty();
  const std::string             text = m_Network.empty() ? GetDefaultNetwork(m_Implementation->samples) : m_Network;
  gigapixel::NetworkDescription network = asBegun ? begun->network : gigapixel::NetworkDescription::Load(text);
  gigapixel::Objective          objective = m_Implementation->objective;
  network.objective = gigapixel::Objective();
  if (network.LabelsImage())
  {
    if (objective.HasTargets())
    {
      LearnObjective(m_Implementation->samples, objective);
      const std::string wanted = GiveOutputs(text, network, objective);
      network = asBegun || wanted == text ? network : gigapixel::NetworkDescription::Load(wanted);
      CheckOutputs(network, objective);
      network.classNames.clear(); // of a network that was trained on classes
      network.objective = std::move(objective);
    }
    else if (network.classNames.empty())
    {
      network.classNames = GetClassNames(m_Implementation->samples, network);
    }
  }
  if (network.GetImageKind().hasOrientation && network.orientation.empty() && !asBegun)
  {
    // A run of former versions goes on as it began.
    const auto run = m_Resume ? gigapixel::BegunRun::Find(m_RunFolder, m_Implementation->ranks.get())
                              : std::optional<gigapixel::BegunRun>();
    auto &     found = m_Implementation->orientation;
    if (!run && !found)
    {
      found = FindOrientation(m_Implementation->samples, m_Implementation->ranks.get());
    }
    network.orientation = run ? run->network.orientation : *found;
  }
  network.SetLoss(m_LossOptions);
  return network;
}

gigapixel::TrainingOptions
GigapixelUNetTrainer::MakeOptions(const std::optional<gigapixel::BegunRun> & begun) const
{
  const std::string          precision = !m_Computing.precision.empty() ? m_Computing.precision
                                         : begun                        ? begun->precision
                                                                        : "fp32";
  gigapixel::TrainingOptions options;
  static_cast<gigapixel::LearningOptions &>(options) = m_Options;
  options.device = gigapixel::Device::Find(m_Computing.device, precision);
  options.sharedMemory = m_Computing.sharedMemory;
  options.memory = static_cast<std::int64_t>(m_Computing.memoryLimit);
  options.threads = GigapixelCountThreads(*this);
  options.tileSize = m_Computing.tileSize;
  options.scratch = m_Computing.scratchFolder;
  options.resume = m_Resume;
  options.ranks = m_Implementation->ranks;
  options.takeWeights = gigapixel::TakeWeights;
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
  if (m_Slide.tissue.empty())
  {
    return nullptr;
  }
  const std::string mask = gigapixel::FindMask(m_Slide.tissue, sample);
  const std::size_t slides = CountTrainingSlides(m_Implementation->samples);
  if (mask == m_Slide.tissue && slides > 1)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OPTION-CONFLICT",
                                                   "the tissue mask " + m_Slide.tissue +
                                                     " is of one slide, but there are " + std::to_string(slides),
                                                   "name a folder with a mask for each")
                               .OfFile(m_Slide.tissue));
  }
  std::error_code error;
  return std::make_unique<gigapixel::PhysicalImage>(std::filesystem::is_regular_file(sample, error)
                                                      ? GigapixelTissueSource(mask, sample, m_Slide)
                                                      : GigapixelMaskSource(mask));
}

namespace
{

/** Images of a pipeline take what their owner keeps of them: files alone are counted. */
void
CountMemory(const GigapixelTrainingSample &       sample,
            const gigapixel::PhysicalImage &      pixels,
            const gigapixel::SlideContent &       content,
            gigapixel::Size                       size,
            const gigapixel::NetworkDescription & network,
            gigapixel::SlideMemory &              memory)
{
  const auto area = [](gigapixel::Size each) { return each.width * each.height; };
  memory.image = area(size) > area(memory.image) ? size : memory.image;
  ++memory.images;
  memory.reading.AddFile(sample.pixelsFile, network.channels, content, network.IsNormalized());
  memory.reading.AddResampling(pixels);
  if (const auto mask = gigapixel::Labeling::Of(network.graph).GetMask(sample.maskFile); !mask.empty())
  {
    memory.reading.AddFile(mask, 1);
  }
}

void
LimitMemory(gigapixel::Trainer & trainer, const gigapixel::SlideMemory & memory, std::int64_t limit, int threads)
{
  if (limit > 0)
  {
    const auto count = [memory](std::int64_t bytes) { return memory.GetBytes(bytes); };
    trainer.SetMemory(limit, count, memory.reading.LimitThreads(threads, limit));
  }
}

} // namespace

/** Options of slides have no meaning for volumes, and images of a pipeline are none. */
void
GigapixelUNetTrainer::AddVolumesTo(gigapixel::Trainer & trainer, const gigapixel::NetworkDescription & network)
{
  if (const std::string option = gigapixel::FindOptionOfSlides(m_Slide); !option.empty())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-OPTION-APPLIES",
                            option + " is for slides, and the network " + network.name + " takes volumes",
                            "leave it out")
        .OfOption(option));
  }
  GigapixelTrainingVolumes volumes;
  for (const GigapixelTrainingSample & definition : m_Implementation->samples)
  {
    const auto files = GigapixelSplitModalities(definition.pixelsFile);
    if (definition.pixels.pixels || !std::all_of(files.begin(), files.end(), GigapixelIsVolumeName))
    {
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-MODEL-INPUT",
                              "it is no file of a volume, and the network " + network.name + " takes volumes",
                              "give it " + GigapixelNameVolumeFormats() +
                                " files or DICOM series, or take a network for slides")
          .OfFile(definition.pixels.pixels ? definition.pixels.name : definition.pixelsFile));
    }
    if (definition.region.width > 0)
    {
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-OPTION-APPLIES",
                              "it is to be trained on by a region, and a volume is trained on as a whole",
                              "leave the region out")
          .OfFile(definition.pixelsFile));
    }
    const gigapixel::Sample sample = volumes.Add(definition.pixelsFile, definition.maskFile, network);
    definition.validates ? trainer.AddValidationSample(sample) : trainer.AddTrainingSample(sample);
  }
  gigapixel::SlideMemory memory{ network, {}, gigapixel::Purpose::Training };
  memory.keptBytes = volumes.GetHeldBytes();
  for (const gigapixel::Diagnostic & warning : volumes.GetWarnings())
  {
    itkWarningMacro(<< gigapixel::Remember(warning));
  }
  LimitMemory(trainer, memory, static_cast<std::int64_t>(m_Computing.memoryLimit), GigapixelCountThreads(*this));
}

void
GigapixelUNetTrainer::AddSamplesTo(gigapixel::Trainer & trainer, const gigapixel::NetworkDescription & network)
{
  GigapixelResolution resolution;
  resolution.level = this->GetLevel();
  resolution.micronsPerPixel = m_Slide.micronsPerPixel;
  resolution.content = m_Slide;
  resolution.emptyAsBackground = network.TakesWhiteForBackground();
  resolution.asStored = network.IsNormalized();
  GigapixelRefuseWindow(m_Slide.window, network);
  GigapixelRefuseSharedMemory(m_Computing.sharedMemory, network);
  CommonResolution       common;
  CommonChannels         channels;
  bool                   anyTraining = false;
  gigapixel::SlideMemory memory{ network, {}, gigapixel::Purpose::Training };
  memory.tileSize = m_Computing.tileSize;
  memory.sharedMemory = m_Computing.sharedMemory;
  memory.images = 0;
  for (const GigapixelTrainingSample & definition : m_Implementation->samples)
  {
    const auto pixels =
      definition.pixels.pixels
        ? definition.pixels
        : GigapixelFileSource(definition.pixelsFile, resolution, static_cast<unsigned>(network.channels));
    const std::string maskFile = gigapixel::Labeling::Of(network.graph).GetMask(definition.maskFile);
    const auto mask = definition.mask.pixels || maskFile.empty() ? definition.mask : GigapixelMaskSource(maskFile);
    common.Add(pixels);
    if (!definition.pixelsFile.empty())
    {
      channels.Add(pixels);
    }
    const auto              tissue = this->OpenTissue(pixels.name);
    const gigapixel::Sample sample = MakeTrainingSample(pixels,
                                                        { mask, definition.label, definition.truth },
                                                        tissue.get(),
                                                        definition.region,
                                                        network,
                                                        GigapixelAskWhetherToGoOn(*this));
    definition.validates ? trainer.AddValidationSample(sample) : trainer.AddTrainingSample(sample);
    anyTraining = anyTraining || !definition.validates;
    if (m_Computing.memoryLimit > 0 && !definition.pixelsFile.empty())
    {
      CountMemory(definition, pixels, resolution.content, sample.pixels->GetSize(), network, memory);
    }
  }
  if (!anyTraining)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic(
      "E-CALL-ORDER", "there are no training samples", "add an image or a slide with its mask or label"));
  }
  LimitMemory(trainer,
              memory,
              memory.images > 0 ? static_cast<std::int64_t>(m_Computing.memoryLimit) : 0,
              GigapixelCountThreads(*this));
  if (const auto warning = common.GetWarning(); !warning.IsEmpty())
  {
    itkWarningMacro(<< gigapixel::Remember(warning));
  }
  trainer.SetMicronsPerPixel(common.Get());
  trainer.SetSlideContent(channels.Get(), channels.Get().empty() ? std::string() : m_Slide.window, m_Slide.plane);
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
  const double fraction = (progress.epoch - 1 + inEpoch) / std::max(1, m_Options.epochs);
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

namespace
{

/** Nobody chose the default, so that its refusal names the network that does without LibTorch. */
void
RequireTorchOfDefault()
{
  try
  {
    gigapixel::GetTorchVersion();
  }
  catch (const std::runtime_error & error)
  {
    gigapixel::Diagnostic problem = gigapixel::Diagnostic::Of(error);
    problem.remedy += ", or train the small network that does without: --network remedios2023";
    throw gigapixel::Refusal(problem);
  }
}

} // namespace

void
GigapixelUNetTrainer::GenerateData()
{
  Implementation & state = *m_Implementation;
  state.trainer.reset();
  state.progress = gigapixel::TrainingProgress();
  state.fraction = 0;
  state.stepped = false;
  bool                            finished = false;
  const gigapixel::TileCacheBound bound(static_cast<std::int64_t>(m_Computing.memoryLimit));
  try
  {
    const auto begun = this->FindBegunRun();
    const auto network = this->MakeNetwork(begun);
    if (this->TakesDefaultForMasks())
    {
      RequireTorchOfDefault();
    }
    if (begun && begun->hasOtherOutput)
    {
      const gigapixel::Diagnostic warning("W-MODEL-OUTPUT",
                                          "an earlier version took the network's probabilities for logits in the run's "
                                          "first epochs: losses before and after are not those of one loss",
                                          "train anew for weights that were trained with one loss");
      itkWarningMacro(<< gigapixel::Remember(warning.OfFile(m_RunFolder)));
    }
    state.trainer = std::make_unique<gigapixel::Trainer>(network, this->MakeOptions(begun), m_RunFolder);
    state.trainer->SetWarning(
      [this](const gigapixel::Diagnostic & warning) { itkWarningMacro(<< gigapixel::Remember(warning)); });
    state.trainer->SetPlanObserver([&](const gigapixel::MemoryPlan & plan) {
      state.plan = plan;
      this->InvokeEvent(GigapixelPlanEvent());
    });
    network.GetImageKind().isByRow ? this->AddSamplesTo(*state.trainer, network)
                                   : this->AddVolumesTo(*state.trainer, network);
    finished = state.trainer->Run([this](const gigapixel::TrainingProgress & p) { return this->Observe(p); });
    state.stepped = state.stepped || finished; // a run that was finished before takes no step, but has its models
  }
  catch (const ExceptionObject &)
  {
    throw; // from an observer, or a pipeline that feeds the training
  }
  catch (const gigapixel::MemoryLimitError & error)
  {
    std::throw_with_nested(GigapixelException(__FILE__, __LINE__, gigapixel::Diagnostic::Of(error), ITK_LOCATION));
  }
  catch (const std::exception & error)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(error));
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
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-CALL-ORDER", "there is no model yet", "call Update() first"));
  }
  return m_Implementation->trainer->GetBestModel();
}

const gigapixel::Model &
GigapixelUNetTrainer::GetLastModel() const
{
  if (!m_Implementation->trainer || !m_Implementation->stepped)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-CALL-ORDER", "there is no model yet", "call Update() first"));
  }
  return m_Implementation->trainer->GetLastModel();
}

const std::vector<gigapixel::EpochRecord> &
GigapixelUNetTrainer::GetHistory() const
{
  if (!m_Implementation->trainer)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-CALL-ORDER", "there is no history yet", "call Update() first"));
  }
  return m_Implementation->trainer->GetHistory();
}

void
GigapixelUNetTrainer::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Network: " << (m_Network.empty() ? "(the run's, or what suits the samples)" : m_Network) << '\n';
  GigapixelPrintOptions(os, indent, m_LossOptions);
  os << indent << "RunFolder: " << m_RunFolder << '\n';
  os << indent << "Samples: " << m_Implementation->samples.size() << '\n';
  GigapixelPrintOptions(os, indent, m_Slide);
  GigapixelPrintOptions(os, indent, m_Computing);
  GigapixelPrintOptions(os, indent, m_Options);
  os << indent << "Resume: " << m_Resume << '\n';
}

} // namespace itk

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelFrozenParameters.h"
#include "execute/gigapixelFixedPointSum.h"
#include "model/gigapixelInitialWeights.h"
#include "model/gigapixelModelFile.h"
#include "gigapixelNormCalibration.h"
#include "gigapixelNetworkPresets.h"
#include "gigapixelWritableFolder.h"
#include "graph/gigapixelLabelings.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelTrainingRun.h"
#include "gigapixelTrainingSettings.h"
#include "gigapixelWorkers.h"

#include <algorithm>
#include <cmath>
#include <locale>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace gigapixel
{
namespace
{

std::int64_t
CountPixels(const Sample & sample)
{
  const Size size = sample.pixels->GetSize();
  return size.width * size.height * size.depth;
}

} // namespace

/** Once for all ranks. */
void
Trainer::Implementation::Warn(const Diagnostic & diagnostic) const
{
  if (warning && ranks->GetRank() == 0)
  {
    warning(diagnostic);
  }
}

void
Trainer::Implementation::MakePlan()
{
  std::vector<Sample> all = training;
  all.insert(all.end(), validation.begin(), validation.end());
  const auto largest = std::max_element(
    all.begin(), all.end(), [](const Sample & a, const Sample & b) { return CountPixels(a) < CountPixels(b); });
  PlannedRun run(network, largest->pixels->GetSize(), Purpose::Training, options.device);
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> sizes;
  for (const Sample & sample : all)
  {
    const Size size = sample.pixels->GetSize();
    sizes.emplace(size.width, size.height, size.depth);
  }
  run.sizes = static_cast<int>(sizes.size());
  run.device.shared = options.sharedMemory;
  run.SetLimit(options.memory, options.beside);
  run.threads = options.threads;
  run.tileSize = options.tileSize;
  run.segmentation = { options.segments, !options.scratch.empty() };
  // The mean of a step's images waits for the next gradient, with several ranks all gradients wait for each other; and
  // one of them adds the sums of another to its own.
  const std::int64_t others = std::min<std::int64_t>(options.imagesPerStep, training.size()) - 1;
  const std::int64_t waiting = ranks->GetNumberOfRanks() > 1 ? others : std::min<std::int64_t>(others, 1);
  const std::int64_t ofRanks = ranks->GetNumberOfRanks() > 1 ? FixedPointSum::BytesOfSum + sizeof(double) : 0;
  run.processBytes += (waiting * static_cast<std::int64_t>(sizeof(double)) + ofRanks) * network.GetNumberOfParameters();
  plan = MemoryPlan::Make(run);
  if (!plan.remark.empty())
  {
    Warn({ "W-MEMORY-BUDGET", plan.remark });
  }
  modelTileSize = plan.tileSize;
  if (options.tileSize == WholeImage)
  {
    // Whoever uses the model need not have the memory for images in one piece.
    run.purpose = Purpose::Inference;
    run.tileSize = 0;
    run.segmentation = {};
    modelTileSize = MemoryPlan::Make(run).tileSize;
  }
}

void
Trainer::Implementation::Prepare()
{
  CheckTraining(network, options, training, validation);
  schedule.emplace(options, GetNumberOfSteps());
  if (const auto steps = std::int64_t{ options.epochs } * GetNumberOfSteps(); options.warmup > steps)
  {
    Warn({ "W-TRAINING",
           "the warmup of " + FormatCount(options.warmup, "step") + " is longer than the run's " +
             std::to_string(steps) + ": it ends before the learning rate has risen to its value" });
  }
  bool resume = false;
  if (!folderPath.empty() && ranks->GetRank() == 0)
  {
    folder = std::make_unique<RunFolder>(folderPath, options.resume);
    resume = options.resume && folder->HoldsCheckpoint();
  }
  if (resume)
  {
    TakeBegunOptions();
  }
  else if (options.resume && folder)
  {
    Warn(Diagnostic("W-TRAINING", "there is no run that could be resumed: one begins").OfFile(folderPath));
  }
  options.learningRate = options.learningRate > 0 ? options.learningRate : GetDefaultLearningRate(network);
  ranks->Broadcast(0, &options.learningRate, sizeof(options.learningRate)); // which knows the folder
  if (options.minimumLearningRate > options.learningRate)
  {
    std::ostringstream why;
    why.imbue(std::locale::classic());
    why << "the minimum learning rate of " << options.minimumLearningRate << " is above the learning rate of "
        << options.learningRate;
    throw InvalidArgument(
      Diagnostic("E-OPTION-CONFLICT", why.str(), "give a smaller one").OfOption("--minimum-learning-rate"));
  }
  // Of a chain of layers only the step knows it: its kernels compute all gradients at once.
  network.graph.frozen.clear();
  network.graph.frozen = FindFrozen(network, options.freeze);
  WeighSamples();
  AgreeOnPlan();
  if (!options.scratch.empty())
  {
    CheckScratchFolder(options.scratch, plan.keptBytes);
  }
  if (planObserver)
  {
    planObserver(plan);
  }
  options.device.shared = options.sharedMemory;
  const std::string problem = options.device.shared ? options.device.GetSharingProblem() : std::string();
  if (!problem.empty())
  {
    throw Refusal(Diagnostic("E-OPTION-APPLIES", problem, "leave out shared memory, the result is the same"));
  }
  streamed = std::make_unique<StreamedNetwork>(
    network, options.tileSize == WholeImage ? WholeImage : plan.tileSize, plan.tilesInFlight, options.device);
  streamed->SetSegments(plan.segments, options.scratch);
  streamed->SetScoredTilesInFlight(plan.validationTilesInFlight);
  // Only rank 0 needs to see the folder.
  std::string checkpoint = ShareText(resume ? ReadFile(folder->GetLastFile()) : std::string());
  checkpoint.empty() ? Begin() : Resume(std::move(checkpoint));
  saved = true;
  savedAt = std::chrono::steady_clock::now();
}

namespace
{

/** Says of a file that cannot be used how the run can go on. \param makeError MakeLastFileError or MakeBestFileError */
template <typename TError, typename TRead>
auto
ReadRunFile(const TError & makeError, const std::string & folder, const TRead & read)
{
  try
  {
    return read();
  }
  catch (const std::runtime_error & problem)
  {
    throw makeError(folder, Diagnostic::Of(problem));
  }
}

} // namespace

/** What the plan chose when the run began stays, whatever the budget is now. Of the file texts alone are read: while
 * the plan is made, memory holds none of its arrays. */
void
Trainer::Implementation::TakeBegunOptions()
{
  const std::string file = folder->GetLastFile();
  const std::string kept = ReadRunFile(MakeLastFileError, folderPath, [&] {
    std::string settings = GetSettings(SafeTensors::LoadMetadata(file), file);
    options.segments = GetSegments(settings, file);
    return settings;
  });
  CheckSettings(kept, DescribeNetwork(network), folderPath);
  options.learningRate = options.learningRate > 0 ? options.learningRate : gigapixel::GetLearningRate(kept);
  options.tileSize = options.tileSize != 0 ? options.tileSize : GetTileSize(kept);
}

namespace
{

/** Of each sample, by how rare its class is among them; 1 where they are not to be balanced. The classes that occur
 * weigh the same then, and the mean of the weights is 1. */
std::vector<double>
MakeWeights(const std::vector<Sample> & samples, bool balance)
{
  std::vector<double> weights(samples.size(), 1.0);
  if (!balance)
  {
    return weights;
  }
  std::vector<std::uint8_t>      classes;
  std::map<std::uint8_t, double> counts;
  classes.reserve(samples.size());
  for (const Sample & sample : samples)
  {
    std::uint8_t label = LabelSource::Ignored;
    sample.labels->Read({ 0, 0, 1, 1 }, &label);
    classes.push_back(label);
    ++counts[label];
  }
  const double share =
    static_cast<double>(samples.size()) / static_cast<double>(std::max<std::size_t>(1, counts.size()));
  std::transform(classes.begin(), classes.end(), weights.begin(), [&](std::uint8_t c) { return share / counts.at(c); });
  return weights;
}

std::vector<OutputTargets>
MakeTargets(const std::vector<Sample> & samples, const Objective & objective, bool balance)
{
  std::vector<OutputTargets> targets;
  targets.reserve(samples.size());
  for (const Sample & sample : samples)
  {
    targets.push_back(objective.GetKind().makeTargets(objective, sample.truth));
  }
  WeighTargets(targets, balance);
  return targets;
}

std::string
NameClass(const NetworkDescription & network, std::size_t number)
{
  return number < network.classNames.size() ? network.classNames[number] : std::to_string(number);
}

} // namespace

void
Trainer::Implementation::WeighSamples()
{
  if (network.objective.HasTargets())
  {
    trainingTargets = MakeTargets(training, network.objective, options.balance);
    validationTargets = MakeTargets(validation, network.objective, options.balance);
  }
  const bool balancesLabels = options.balance && trainingTargets.empty();
  trainingWeights = MakeWeights(training, balancesLabels);
  validationWeights = MakeWeights(validation, balancesLabels);
}

/** That of rank 0 for all. */
std::string
Trainer::Implementation::ShareText(std::string text)
{
  ranks->Broadcast(text);
  return text;
}

/** Rank 0 plans, and the others do as it does, each within its own budget. */
void
Trainer::Implementation::AgreeOnPlan()
{
  std::int64_t agreed[2] = {};
  if (ranks->GetRank() == 0)
  {
    MakePlan();
    agreed[0] = options.tileSize == WholeImage ? WholeImage : plan.tileSize;
    agreed[1] = plan.tilesInFlight;
  }
  ranks->Broadcast(0, agreed, sizeof(agreed));
  const std::string segments = ShareText(ranks->GetRank() == 0 ? ToText(plan.segments) : std::string());
  if (ranks->GetRank() != 0)
  {
    options.segments = ToSegments(segments);
    options.tileSize = agreed[0];
    MakePlan();
  }
  run = static_cast<int>(agreed[1]);
  settings = DescribeTraining(network, options, plan, micronsPerPixel, training, validation);
  // How long to train is no setting of the run: --resume may ask for more.
  ranks->CheckSame(settings + std::to_string(options.epochs) + ' ' + std::to_string(options.earlyStopping));
}

/** Of the training samples. Each rank counts a part of the images; those of validation only so that wrong classes are
 * said before an epoch is computed. */
std::vector<std::int64_t>
Trainer::Implementation::CountAllClasses()
{
  const int                 rank = ranks->GetRank(), number = ranks->GetNumberOfRanks();
  std::vector<std::int64_t> counts(network.GetNumberOfClasses());
  for (std::size_t i = rank; i < training.size() + validation.size(); i += number)
  {
    const bool                isTraining = i < training.size();
    const Sample &            sample = isTraining ? training[i] : validation[i - training.size()];
    std::vector<std::int64_t> labels(LabelSource::Ignored + 1); // whatever a mask may hold
    CountClasses(*sample.labels, labels, [this] { ranks->ReportProgress(); });
    CheckLabels(sample, labels, network);
    for (std::size_t c = 0; isTraining && c < counts.size(); ++c)
    {
      counts[c] += labels[c];
    }
  }
  const std::size_t         bytes = counts.size() * sizeof(counts[0]);
  std::vector<std::int64_t> others(counts.size());
  if (rank > 0)
  {
    ranks->Receive(rank - 1, others.data(), bytes);
  }
  std::transform(counts.begin(), counts.end(), others.begin(), counts.begin(), std::plus<>());
  if (rank + 1 < number)
  {
    ranks->Send(rank + 1, counts.data(), bytes);
  }
  ranks->Broadcast(number - 1, counts.data(), bytes);
  return counts;
}

/** Of the training samples: of each output the share of those whose target is known that have the target 1. */
std::vector<double>
Trainer::Implementation::GetSharesOfTargets() const
{
  std::vector<double> shares;
  for (int i = 0; i < network.GetNumberOfOutputChannels(); ++i)
  {
    double sum = 0, known = 0;
    for (const OutputTargets & image : trainingTargets)
    {
      const double target = image.targets[static_cast<std::size_t>(i)];
      sum += std::isnan(target) ? 0 : target;
      known += std::isnan(target) ? 0 : 1;
    }
    shares.push_back(known > 0 ? sum / known : 0.5);
  }
  return shares;
}

void
Trainer::Implementation::WarnOfMissingTargets(const std::vector<OutputTargets> & targets, bool ofValidation) const
{
  std::string missing;
  for (int i = 0; i < network.GetNumberOfOutputChannels(); ++i)
  {
    for (const bool target : { false, true })
    {
      const bool isThere = std::any_of(targets.begin(), targets.end(), [&](const OutputTargets & image) {
        return !image.isLogistic || image.targets[static_cast<std::size_t>(i)] == target;
      });
      missing += isThere ? ""
                         : (missing.empty() ? "" : ", ") +
                             network.objective.GetKind().describeTarget(network.objective, i, target);
    }
  }
  if (!missing.empty())
  {
    Warn({ "W-COHORT",
           std::string("no ") + (ofValidation ? "validation" : "training") + " sample has " + missing,
           std::string("check the cohort's ") + network.objective.GetKind().name + " and splits" });
  }
}

Diagnostic
PixelLabeling::DescribeMissing(const NetworkDescription & network, const std::string & classes, bool ofValidation) const
{
  const std::string masks =
    ofValidation ? "the validation masks" : "the training masks (at 256 places of each, of volumes in 16 slices)";
  const bool ignores255 = network.GetNumberOfClasses() > 2 && network.ignoredLabel == LabelSource::Ignored;
  const bool isFull = classes == NameClass(network, 0); // only background is missing
  return Diagnostic(isFull ? "W-DOUBT-MASK-FULL" : "W-DOUBT-MASK-EMPTY",
                    "no pixel of the class " + classes + " was found in " + masks,
                    std::string("check that they are the right masks, and drawn in this class") +
                      (ignores255 ? " (255 is ignored where there are more than two)" : ""))
    .OfValue(isFull ? "1" : "0"); // the share of the masks that is the object
}

Diagnostic
ImageLabeling::DescribeMissing(const NetworkDescription &, const std::string & classes, bool ofValidation) const
{
  return Diagnostic("W-COHORT",
                    std::string("no ") + (ofValidation ? "validation" : "training") + " sample has the label " +
                      classes,
                    "check the cohort's labels and splits")
    .OfValue(classes);
}

/** A network that never sees a class never finds it, and a Dice without one has nothing to judge. */
void
Trainer::Implementation::WarnOfMissingClasses(const std::vector<std::int64_t> & counts, bool ofValidation) const
{
  std::string missing;
  for (std::size_t c = 0; c < counts.size(); ++c)
  {
    missing += counts[c] > 0 ? "" : (missing.empty() ? "" : ", ") + NameClass(network, c);
  }
  if (!missing.empty())
  {
    Warn(Labeling::Of(network.graph).DescribeMissing(network, missing, ofValidation));
  }
}

void
Trainer::Implementation::TakeFirstWeights()
{
  if (!options.takeWeights)
  {
    throw Refusal(Diagnostic("E-OPTION-NEEDS",
                             "weights need a function that reads their file (TrainingOptions::takeWeights)",
                             "give it TakeWeights() of the module Import")
                    .OfOption("--weights", options.weights));
  }
  const TakenWeights result = options.takeWeights(options.weights, network, state.parameters, options.weightsSet);
  if (!result.warning.empty())
  {
    Warn(result.GetWarning(options.weights));
  }
  if (result.AreAll())
  {
    return;
  }
  if (!options.partialWeights)
  {
    throw Refusal(
      Diagnostic("E-WEIGHTS-MISMATCH",
                 "it lacks " + result.DescribeMissing(network.name),
                 "give the weights of this network, or let what it lacks begin by chance (--partial-weights)")
        .OfFile(options.weights));
  }
  Warn(Diagnostic("W-TRAINING",
                  "of \"" + options.weights + "\" are taken " + result.DescribeTaken() + "; the others begin by chance")
         .OfFile(options.weights));
}

/** Shares of each output's target, or of each class; warns of those that are missing. */
std::vector<double>
Trainer::Implementation::GetShares()
{
  if (!trainingTargets.empty())
  {
    WarnOfMissingTargets(trainingTargets, false);
    return GetSharesOfTargets();
  }
  const auto          counts = CountAllClasses();
  const double        sum = std::max<double>(1, std::accumulate(counts.begin(), counts.end(), 0.0));
  std::vector<double> shares(counts.size());
  std::transform(counts.begin(), counts.end(), shares.begin(), [sum](std::int64_t count) { return count / sum; });
  WarnOfMissingClasses(counts, false);
  return shares;
}

void
Trainer::Implementation::Begin()
{
  const std::vector<double> shares = GetShares();
  state = TrainingState{};
  state.parameters = MakeInitialWeights(network, options.seed, shares, gigapixel::GetNumberOfThreads(options.threads));
  if (!options.weights.empty())
  {
    this->TakeFirstWeights();
  }
  else if (!network.graph.frozen.empty())
  {
    Warn({ "W-TRAINING",
           "what is frozen stays as it begins, which is by chance where no weights are given",
           "give those that it is to keep (--weights)" });
  }
  state.optimizer = Optimizer(options, network);
  state.learningRate = options.learningRate;
  best = MakeModel();
}

/** Of a run that begins. \return false if it was stopped */
bool
Trainer::Implementation::Calibrate()
{
  if (options.calibrate == 0 || state.epoch > 0 || state.step > 0)
  {
    return true;
  }
  NormCalibration calibration(network);
  const int       together = plan.validationTilesInFlight > 0 ? plan.validationTilesInFlight : plan.tilesInFlight;
  calibration.SetTiles(options.tileSize == WholeImage ? WholeImage : plan.tileSize, together, options.device);
  const std::size_t           number = std::min<std::size_t>(options.calibrate, training.size());
  std::vector<const Sample *> images(number);
  for (std::size_t i = 0; i < number; ++i)
  {
    images[i] = &training[i * training.size() / number];
  }
  progress.epoch = 1;
  const bool done = calibration.Run(images, *ranks, state.parameters, [this](const Sample & sample) {
    progress.sample = sample.name;
    return Report(0);
  });
  best = MakeModel();
  return done;
}

void
Trainer::Implementation::Resume(std::string && content)
{
  const std::string file = folderPath + "/last.safetensors";
  SafeTensors       checkpoint;
  const std::string kept = ReadRunFile(MakeLastFileError, folderPath, [&] {
    checkpoint = SafeTensors::Parse(std::move(content), file);
    return GetSettings(checkpoint.metadata, file);
  });
  CheckSettings(kept, settings, folderPath);
  if (const auto found = checkpoint.metadata.find(PlaneKey); plane.empty() && found != checkpoint.metadata.end())
  {
    plane = found->second; // the content of the samples is that of the run, whatever was said of the plane
  }
  settings = KeepFirstWeights(kept, settings, options.weights, folderPath);
  state = ReadRunFile(MakeLastFileError, folderPath, [&] {
    TrainingState read = TrainingState::FromFile(checkpoint, network, Optimizer(options, network), file);
    read.Check(GetNumberOfSteps(), options.learningRate, file);
    return read;
  });
  best = state.history.empty() ? MakeModel() : LoadBest();
}

/** Only rank 0 needs to see the folder. */
Model
Trainer::Implementation::LoadBest()
{
  const std::string file = folderPath + "/best.safetensors";
  std::string       content =
    folder ? ReadRunFile(MakeBestFileError, folderPath, [&] { return ReadFile(file); }) : std::string();
  content = ShareText(std::move(content));
  return ReadRunFile(MakeBestFileError, folderPath, [&] {
    return ToModelOf(network, SafeTensors::Parse(std::move(content), file), file);
  });
}

} // namespace gigapixel

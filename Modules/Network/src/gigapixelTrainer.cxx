/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTrainer.h"
#include "gigapixelInitialWeights.h"
#include "gigapixelOrientedSource.h"
#include "gigapixelParameterLayout.h"
#include "gigapixelRandom.h"
#include "gigapixelRunFolder.h"
#include "gigapixelStreamedNetwork.h"
#include "gigapixelTrainingState.h"
#include "gigapixelWholeNetwork.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

/** Calls work(), and says to which sample wrong labels belong. */
template <typename TWork>
bool
NameSampleInErrors(const Sample & sample, const TWork & work)
{
  try
  {
    return work();
  }
  catch (const LabelError & error)
  {
    throw std::runtime_error("sample \"" + sample.name + "\": " + error.what());
  }
}

std::int64_t
CountPixels(const Sample & sample)
{
  const Size size = sample.pixels->GetSize();
  return size.width * size.height;
}

std::string
Describe(Size size)
{
  return std::to_string(size.width) + " x " + std::to_string(size.height);
}

nlohmann::ordered_json
ToJson(const std::vector<Sample> & samples)
{
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Sample & sample : samples)
  {
    const Size size = sample.pixels->GetSize();
    list.push_back({ sample.name, size.width, size.height });
  }
  return list;
}

} // namespace

struct Trainer::Implementation
{
  NetworkDescription  network;
  TrainingOptions     options;
  std::string         folderPath;
  std::vector<Sample> training;
  std::vector<Sample> validation;
  double              micronsPerPixel{ 0 };
  Model               best;
  Model               last;

  // While Run() is on.
  std::unique_ptr<RunFolder>       folder;
  std::unique_ptr<StreamedNetwork> streamed;
  MemoryPlan                       plan;
  std::string                      settings;
  TrainingState                    state;
  TrainingProgress                 progress;
  Observer                         observer;

  bool Run();

private:
  void        CheckOptions() const;
  void        CheckSample(const Sample & sample) const;
  void        MakePlan();
  std::string MakeSettings() const;
  void        Prepare();
  void        Begin();
  void        Resume(const SafeTensors & file);
  bool        IsFinished() const;

  std::vector<std::size_t> GetOrder() const;
  bool                     RunStep(std::size_t sample);
  bool                     ComputeGradient(PixelSource & pixels, LabelSource & labels, LossGradient & sum);
  bool                     Validate(double & loss, Score & total);
  bool                     FinishEpoch();
  void                     Save();
  Model                    MakeModel() const;
  bool                     Report(double fraction);
};

void
Trainer::Implementation::CheckOptions() const
{
  const auto refuse = [](const std::string & what) { throw std::invalid_argument(what); };
  if (training.empty())
  {
    refuse("there is no training sample");
  }
  if (options.epochs < 1)
  {
    refuse("the number of epochs must be at least 1");
  }
  if (!(options.learningRate > 0) || !std::isfinite(options.learningRate))
  {
    refuse("the learning rate must be positive");
  }
  if (!(options.learningRateDecay > 0 && options.learningRateDecay <= 1))
  {
    refuse("the learning-rate decay must be above 0 and at most 1");
  }
  if (options.earlyStopping > 0 && validation.empty())
  {
    refuse("early stopping needs validation samples");
  }
}

void
Trainer::Implementation::CheckSample(const Sample & sample) const
{
  const Size pixels = sample.pixels->GetSize(), labels = sample.labels->GetSize();
  if (pixels.width < 1 || pixels.height < 1)
  {
    throw std::invalid_argument("sample \"" + sample.name + "\" has no pixels");
  }
  if (pixels.width != labels.width || pixels.height != labels.height)
  {
    throw std::invalid_argument("sample \"" + sample.name + "\": the labels are of another size (" + Describe(labels) +
                                ") than the pixels (" + Describe(pixels) + ")");
  }
  if (static_cast<int>(sample.pixels->GetNumberOfChannels()) != network.channels)
  {
    throw std::invalid_argument("sample \"" + sample.name + "\" has " +
                                std::to_string(sample.pixels->GetNumberOfChannels()) + " channels, the network \"" +
                                network.name + "\" takes " + std::to_string(network.channels));
  }
}

void
Trainer::Implementation::MakePlan()
{
  std::vector<Sample> all = training;
  all.insert(all.end(), validation.begin(), validation.end());
  const auto largest = std::max_element(
    all.begin(), all.end(), [](const Sample & a, const Sample & b) { return CountPixels(a) < CountPixels(b); });
  plan = MemoryPlan::Make(network,
                          largest->pixels->GetSize(),
                          Purpose::Training,
                          options.strategy,
                          options.memory,
                          options.threads,
                          options.tileSize);
  if (plan.strategy == Strategy::Whole)
  {
    // Validation and the model's later use stream in any case.
    const MemoryPlan tiles = MemoryPlan::Make(network,
                                              largest->pixels->GetSize(),
                                              Purpose::Inference,
                                              Strategy::Streamed,
                                              options.memory,
                                              options.threads,
                                              options.tileSize);
    plan.tileSize = tiles.tileSize;
    plan.tilesInFlight = tiles.tilesInFlight;
  }
}

std::string
Trainer::Implementation::MakeSettings() const
{
  const nlohmann::ordered_json json{ { "network", nlohmann::ordered_json::parse(network.ToJSON()) },
                                     { "learning rate", options.learningRate },
                                     { "learning-rate decay", options.learningRateDecay },
                                     { "augmentation", options.augment },
                                     { "seed", options.seed },
                                     { "strategy", plan.strategy == Strategy::Whole ? "whole" : "streamed" },
                                     { "tile size", plan.tileSize },
                                     { "microns per pixel", micronsPerPixel },
                                     { "training samples", ToJson(training) },
                                     { "validation samples", ToJson(validation) } };
  return json.dump();
}

void
Trainer::Implementation::Prepare()
{
  CheckOptions();
  std::for_each(training.begin(), training.end(), [this](const Sample & s) { CheckSample(s); });
  std::for_each(validation.begin(), validation.end(), [this](const Sample & s) { CheckSample(s); });
  SafeTensors checkpoint;
  bool        resume = false;
  if (!folderPath.empty())
  {
    folder = std::make_unique<RunFolder>(folderPath, options.resume);
    resume = options.resume && folder->HoldsCheckpoint();
  }
  if (resume)
  {
    // What the plan chose when the run began stays, whatever the budget is now.
    checkpoint = SafeTensors::Load(folder->GetLastFile());
    const bool whole = GetSetting(checkpoint, folder->GetLastFile(), "strategy") == "\"whole\"";
    options.strategy = options.strategy != Strategy::Automatic ? options.strategy
                       : whole                                 ? Strategy::Whole
                                                               : Strategy::Streamed;
    options.tileSize = options.tileSize > 0 ? options.tileSize : ToModel(checkpoint, folder->GetLastFile()).tileSize;
  }
  MakePlan();
  settings = MakeSettings();
  streamed = std::make_unique<StreamedNetwork>(network, plan.tileSize, plan.tilesInFlight);
  resume ? Resume(checkpoint) : Begin();
}

void
Trainer::Implementation::Begin()
{
  std::vector<std::int64_t> counts(network.GetNumberOfClasses());
  for (const Sample & sample : training)
  {
    CountClasses(*sample.labels, counts);
  }
  const double        sum = std::max<double>(1, std::accumulate(counts.begin(), counts.end(), 0.0));
  std::vector<double> shares(counts.size());
  std::transform(counts.begin(), counts.end(), shares.begin(), [sum](std::int64_t count) { return count / sum; });
  state = TrainingState{};
  state.parameters = MakeInitialWeights(network, options.seed, shares);
  state.adam.firstMoment.resize(state.parameters.size());
  state.adam.secondMoment.resize(state.parameters.size());
  state.learningRate = options.learningRate;
  last = best = MakeModel();
}

void
Trainer::Implementation::Resume(const SafeTensors & file)
{
  const std::string path = folder->GetLastFile();
  CheckSettings(GetSettings(file, path), settings, folderPath);
  state = TrainingState::FromFile(file, path);
  last = MakeModel();
  best = state.history.empty() ? last : Model::Load(folder->GetBestFile());
}

bool
Trainer::Implementation::IsFinished() const
{
  return state.epoch >= options.epochs ||
         (options.earlyStopping > 0 && state.epochsWithoutBetter >= options.earlyStopping);
}

/** A new order for each epoch, by the shuffle of Fisher and Yates. */
std::vector<std::size_t>
Trainer::Implementation::GetOrder() const
{
  std::vector<std::size_t> order(training.size());
  std::iota(order.begin(), order.end(), 0);
  Random random(options.seed, Random::Purpose::Order, state.epoch);
  for (std::size_t i = order.size(); i > 1; --i)
  {
    std::swap(order[i - 1], order[random.Below(i)]);
  }
  return order;
}

bool
Trainer::Implementation::Report(double fraction)
{
  progress.fractionOfStep = fraction;
  return !observer || observer(progress);
}

bool
Trainer::Implementation::ComputeGradient(PixelSource & pixels, LabelSource & labels, LossGradient & sum)
{
  if (plan.strategy == Strategy::Whole)
  {
    sum = ComputeWholeGradient(
      network, state.parameters, pixels, labels, Precision::Float, GetNumberOfThreads(options.threads));
    return true;
  }
  streamed->SetParameters(state.parameters);
  // The step is done only after the update: its last tile is not reported on its own.
  return streamed->ComputeGradient(
    pixels, labels, sum, [this](double fraction) { return fraction >= 1 || Report(fraction); });
}

bool
Trainer::Implementation::RunStep(std::size_t index)
{
  const Sample &      sample = training[index];
  Random              random(options.seed,
                Random::Purpose::Augmentation,
                static_cast<std::uint64_t>(state.epoch) * training.size() + state.step);
  const int           orientation = options.augment ? static_cast<int>(random.Below(Orientation::Number)) : 0;
  OrientedPixelSource pixels(*sample.pixels, orientation);
  OrientedLabelSource labels(*sample.labels, orientation);
  progress.step = state.step + 1;
  progress.sample = sample.name;
  progress.loss = NaN;
  LossGradient sum;
  if (!NameSampleInErrors(sample, [&] { return ComputeGradient(pixels, labels, sum); }))
  {
    return false;
  }
  if (sum.pixels == 0)
  {
    throw std::runtime_error("sample \"" + sample.name + "\" has no pixel that takes part in the loss");
  }
  const double loss = sum.loss / sum.pixels;
  if (!std::isfinite(loss))
  {
    throw std::runtime_error("the loss of sample \"" + sample.name +
                             "\" is no finite number any more: begin again with a smaller learning rate");
  }
  for (double & value : sum.gradient)
  {
    value /= static_cast<double>(sum.pixels);
  }
  state.adam.Step(state.learningRate, sum.gradient, state.parameters);
  state.lossSum += loss;
  ++state.step;
  Save();
  progress.loss = loss;
  return Report(1);
}

bool
Trainer::Implementation::Validate(double & loss, Score & total)
{
  streamed->SetParameters(state.parameters);
  progress.validating = true;
  loss = 0;
  for (const Sample & sample : validation)
  {
    progress.sample = sample.name;
    Score      score;
    const auto report = [this](double fraction) { return Report(fraction); };
    if (!NameSampleInErrors(sample,
                            [&] { return streamed->ComputeScore(*sample.pixels, *sample.labels, score, report); }))
    {
      progress.validating = false;
      return false;
    }
    if (score.pixels == 0)
    {
      throw std::runtime_error("validation sample \"" + sample.name + "\" has no pixel that takes part in the loss");
    }
    // Every image weighs the same, as it does in training.
    loss += score.GetMeanLoss() / static_cast<double>(validation.size());
    total.Add(score);
  }
  progress.validating = false;
  return true;
}

bool
Trainer::Implementation::FinishEpoch()
{
  EpochRecord record{
    state.epoch + 1, state.lossSum / static_cast<double>(training.size()), NaN, NaN, state.learningRate
  };
  if (!validation.empty())
  {
    Score total;
    if (!Validate(record.validationLoss, total))
    {
      return false;
    }
    record.validationDice = total.GetDice();
  }
  const bool better = validation.empty() || record.validationLoss < state.bestLoss;
  if (better && !validation.empty())
  {
    state.bestLoss = record.validationLoss;
  }
  state.epochsWithoutBetter = better ? 0 : state.epochsWithoutBetter + 1;
  state.learningRate *= better ? 1 : options.learningRateDecay;
  state.history.push_back(record);
  ++state.epoch;
  state.step = 0;
  state.lossSum = 0;
  if (better)
  {
    best = MakeModel();
  }
  if (folder)
  {
    // The checkpoint last: a run that is killed before it does this end of the epoch again.
    if (better)
    {
      best.Save(folder->GetBestFile());
    }
    WriteFileAtomically(folder->GetHistoryFile(), state.ToCSV());
  }
  Save();
  progress.epochDone = true;
  progress.loss = record.trainingLoss;
  progress.validationLoss = record.validationLoss;
  progress.validationDice = record.validationDice;
  return Report(1);
}

Model
Trainer::Implementation::MakeModel() const
{
  return { network, ToParameters(network, state.parameters), micronsPerPixel, plan.tileSize };
}

void
Trainer::Implementation::Save()
{
  last = MakeModel();
  if (folder)
  {
    state.ToFile(last, settings).Save(folder->GetLastFile());
  }
}

bool
Trainer::Implementation::Run()
{
  Prepare();
  progress = TrainingProgress{};
  progress.stepsPerEpoch = static_cast<int>(training.size());
  progress.validationLoss = state.history.empty() ? NaN : state.history.back().validationLoss;
  progress.validationDice = state.history.empty() ? NaN : state.history.back().validationDice;
  while (!IsFinished())
  {
    progress.epoch = state.epoch + 1;
    progress.epochDone = false;
    progress.learningRate = state.learningRate;
    const std::vector<std::size_t> order = GetOrder();
    while (state.step < static_cast<int>(order.size()))
    {
      if (!RunStep(order[state.step]))
      {
        return false;
      }
    }
    if (!FinishEpoch())
    {
      return false;
    }
  }
  return true;
}

Trainer::Trainer(const NetworkDescription & network, const TrainingOptions & options, const std::string & runFolder)
  : m_Implementation(std::make_unique<Implementation>())
{
  network.Validate();
  m_Implementation->network = network;
  m_Implementation->options = options;
  m_Implementation->folderPath = runFolder;
}

Trainer::~Trainer() = default;

void
Trainer::AddTrainingSample(const Sample & sample)
{
  m_Implementation->training.push_back(sample);
}

void
Trainer::AddValidationSample(const Sample & sample)
{
  m_Implementation->validation.push_back(sample);
}

void
Trainer::SetMicronsPerPixel(double micronsPerPixel)
{
  m_Implementation->micronsPerPixel = micronsPerPixel;
}

bool
Trainer::Run(const Observer & observer)
{
  // Threads, buffers and the folder's lock are given back however the run ends.
  struct Release
  {
    Implementation & run;
    ~Release()
    {
      run.streamed.reset();
      run.folder.reset();
      run.observer = {};
    }
  } release{ *m_Implementation };
  m_Implementation->observer = observer;
  return m_Implementation->Run();
}

const Model &
Trainer::GetBestModel() const
{
  return m_Implementation->best;
}

const Model &
Trainer::GetLastModel() const
{
  return m_Implementation->last;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTrainer.h"
#include "gigapixelInitialWeights.h"
#include "gigapixelOrientedSource.h"
#include "gigapixelParameterLayout.h"
#include "gigapixelRankTeam.h"
#include "gigapixelRandom.h"
#include "gigapixelRunFolder.h"
#include "gigapixelStreamedNetwork.h"
#include "gigapixelTrainingSettings.h"
#include "gigapixelTrainingState.h"
#include "gigapixelWholeNetwork.h"

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

} // namespace

struct Trainer::Implementation
{
  NetworkDescription     network;
  TrainingOptions        options;
  std::shared_ptr<Ranks> ranks{ std::make_shared<Ranks>() };
  std::string            folderPath;
  std::vector<Sample>    training;
  std::vector<Sample>    validation;
  double                 micronsPerPixel{ 0 };
  Model                  best;
  Model                  last;

  // While Run() is on.
  std::unique_ptr<RunFolder>       folder;
  std::unique_ptr<StreamedNetwork> streamed;
  std::unique_ptr<SharedImage>     shared; ///< of the last sample that was computed
  const Sample *                   sharedOf{ nullptr };
  MemoryPlan                       plan;
  int                              run{ 1 }; ///< tiles that go to one rank in a row
  std::string                      settings;
  TrainingState                    state;
  TrainingProgress                 progress;
  Observer                         observer;

  bool Run();

private:
  void        MakePlan();
  void        Prepare();
  void        AgreeOnPlan();
  void        Begin();
  void        Resume(const SafeTensors & checkpoint, const std::string & file);
  bool        IsFinished() const;
  int         GetNumberOfSteps() const;
  std::string ShareText(std::string text);

  std::vector<std::int64_t> CountAllClasses();

  std::vector<std::size_t> GetOrder() const;
  bool                     RunStep(const std::vector<std::size_t> & order);
  LossGradient             Average(const std::vector<LossGradient> & sums, const std::vector<const Sample *> & images);
  bool ComputeGradient(const Sample & sample, std::int64_t number, const RankTeam & team, LossGradient & sum);
  bool Validate(double & loss, Score & total);

  template <typename TSum, typename TCompute>
  bool  ShareOut(const std::vector<const Sample *> & images, std::vector<TSum> & sums, const TCompute & compute);
  bool  FinishEpoch();
  void  Save();
  Model MakeModel() const;
  bool  Report(double fraction);
};

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
                          options.tileSize,
                          options.device.precision);
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

void
Trainer::Implementation::Prepare()
{
  CheckTraining(network, options, training, validation);
  bool resume = false;
  if (!folderPath.empty() && ranks->GetRank() == 0)
  {
    folder = std::make_unique<RunFolder>(folderPath, options.resume);
    resume = options.resume && folder->HoldsCheckpoint();
  }
  // Only rank 0 needs to see the folder.
  const std::string kept = ShareText(resume ? ReadFile(folder->GetLastFile()) : std::string());
  const std::string file = folderPath + "/last.safetensors";
  SafeTensors       checkpoint;
  if (!kept.empty())
  {
    // What the plan chose when the run began stays, whatever the budget is now.
    checkpoint = SafeTensors::Parse(kept, file);
    if (options.strategy == Strategy::Automatic)
    {
      const std::string quoted = GetSetting(checkpoint, file, "strategy");
      options.strategy = quoted.size() > 2 ? FindStrategy(quoted.substr(1, quoted.size() - 2)) : Strategy::Streamed;
    }
    options.tileSize = options.tileSize > 0 ? options.tileSize : ToModel(checkpoint, file).tileSize;
  }
  AgreeOnPlan();
  options.device.shared = plan.strategy == Strategy::Unified;
  const std::string problem = options.device.shared ? options.device.GetSharingProblem() : std::string();
  if (!problem.empty())
  {
    throw std::runtime_error(problem + ": choose the strategy streamed, whose result is the same");
  }
  streamed = std::make_unique<StreamedNetwork>(network, plan.tileSize, plan.tilesInFlight, options.device);
  kept.empty() ? Begin() : Resume(checkpoint, file);
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
  std::int64_t agreed[3] = {};
  if (ranks->GetRank() == 0)
  {
    MakePlan();
    agreed[0] = static_cast<std::int64_t>(plan.strategy);
    agreed[1] = plan.tileSize;
    agreed[2] = plan.tilesInFlight;
  }
  ranks->Broadcast(0, agreed, sizeof(agreed));
  if (ranks->GetRank() != 0)
  {
    options.strategy = static_cast<Strategy>(agreed[0]);
    options.tileSize = agreed[1];
    MakePlan();
  }
  run = static_cast<int>(agreed[2]);
  settings = DescribeTraining(network, options, plan, micronsPerPixel, training, validation);
  // How long to train is no setting of the run: --resume may ask for more.
  ranks->CheckSame(settings + std::to_string(options.epochs) + ' ' + std::to_string(options.earlyStopping));
}

/** Each rank counts a part of the images. */
std::vector<std::int64_t>
Trainer::Implementation::CountAllClasses()
{
  const int                 rank = ranks->GetRank(), number = ranks->GetNumberOfRanks();
  std::vector<std::int64_t> counts(network.GetNumberOfClasses());
  for (std::size_t i = rank; i < training.size(); i += number)
  {
    CountClasses(*training[i].labels, counts, [this] { ranks->ReportProgress(); });
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

void
Trainer::Implementation::Begin()
{
  const auto          counts = CountAllClasses();
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
Trainer::Implementation::Resume(const SafeTensors & checkpoint, const std::string & file)
{
  CheckSettings(GetSettings(checkpoint, file), settings, folderPath);
  state = TrainingState::FromFile(checkpoint, file);
  last = best = MakeModel();
  if (!state.history.empty())
  {
    const std::string content = ShareText(folder ? ReadFile(folder->GetBestFile()) : std::string());
    best = ToModel(SafeTensors::Parse(content, folderPath + "/best.safetensors"), folderPath);
  }
}

bool
Trainer::Implementation::IsFinished() const
{
  return state.epoch >= options.epochs ||
         (options.earlyStopping > 0 && state.epochsWithoutBetter >= options.earlyStopping);
}

/** Of an epoch. */
int
Trainer::Implementation::GetNumberOfSteps() const
{
  const int images = static_cast<int>(training.size());
  return (images + options.imagesPerStep - 1) / options.imagesPerStep;
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
  progress.seconds = streamed->GetSeconds();
  return !observer || observer(progress);
}

/** Sums over several images that are worked on at the same time: each rank computes its part, and rank 0 gets the
 * sums.
 * \param compute (number of the image, its team, sum) does this rank's part of an image
 * \return false if it was stopped */
template <typename TSum, typename TCompute>
bool
Trainer::Implementation::ShareOut(const std::vector<const Sample *> & images,
                                  std::vector<TSum> &                 sums,
                                  const TCompute &                    compute)
{
  const int number = static_cast<int>(images.size());
  sums.assign(number, TSum{});
  for (int i = 0; i < number; ++i)
  {
    const RankTeam team(*ranks, i, number, run);
    if (team.ContainsThis() && !NameSampleInErrors(*images[i], [&] { return compute(i, team, sums[i]); }))
    {
      return false;
    }
  }
  for (int i = 0; i < number; ++i)
  {
    const RankTeam team(*ranks, i, number, run);
    const int      last = streamed->GetLastRank(*images[i]->pixels, team);
    if (last != 0 && ranks->GetRank() == last)
    {
      RankTeam::Send(*ranks, 0, sums[i], network);
    }
    else if (last != 0 && ranks->GetRank() == 0)
    {
      RankTeam::Receive(*ranks, last, sums[i], network);
    }
  }
  return true;
}

/** \param number of the step's image among all that the run takes */
bool
Trainer::Implementation::ComputeGradient(const Sample &   sample,
                                         std::int64_t     number,
                                         const RankTeam & team,
                                         LossGradient &   sum)
{
  progress.sample = sample.name;
  if (plan.strategy == Strategy::Unified && sharedOf != &sample)
  {
    shared.reset(); // before there is another one
    shared = streamed->Share(*sample.pixels, *sample.labels, [this] {
      ranks->ReportProgress();
      return Report(0);
    });
    if (!shared)
    {
      return false;
    }
    sharedOf = &sample;
  }
  Random              random(options.seed, Random::Purpose::Augmentation, static_cast<std::uint64_t>(number));
  const int           orientation = options.augment ? static_cast<int>(random.Below(Orientation::Number)) : 0;
  OrientedPixelSource pixels(shared ? shared->GetPixels() : *sample.pixels, orientation);
  OrientedLabelSource labels(shared ? shared->GetLabels() : *sample.labels, orientation);
  if (plan.strategy == Strategy::Whole)
  {
    sum = ComputeWholeGradient(
      network, state.parameters, pixels, labels, options.device, GetNumberOfThreads(options.threads));
    return true;
  }
  // The step is done only after the update: its last tile is not reported on its own.
  return streamed->ComputeGradient(
    pixels, labels, sum, [this](double fraction) { return fraction >= 1 || Report(fraction); }, team);
}

/** Mean loss (in `loss`) and mean gradient of the images, each of which weighs the same. */
LossGradient
Trainer::Implementation::Average(const std::vector<LossGradient> & sums, const std::vector<const Sample *> & images)
{
  LossGradient mean;
  mean.gradient.resize(state.parameters.size());
  for (std::size_t i = 0; i < sums.size(); ++i)
  {
    if (sums[i].weight == 0)
    {
      throw std::runtime_error("sample \"" + images[i]->name + "\" has no pixel that takes part in the loss");
    }
    const double weight = sums[i].weight * static_cast<double>(sums.size());
    const double loss = sums[i].loss / weight;
    if (!std::isfinite(loss))
    {
      throw std::runtime_error("the loss of sample \"" + images[i]->name +
                               "\" is no finite number any more: begin again with a smaller learning rate");
    }
    mean.loss += loss;
    for (std::size_t j = 0; j < mean.gradient.size(); ++j)
    {
      mean.gradient[j] += sums[i].gradient[j] / weight;
    }
  }
  return mean;
}

bool
Trainer::Implementation::RunStep(const std::vector<std::size_t> & order)
{
  const std::size_t           first = static_cast<std::size_t>(state.step) * options.imagesPerStep;
  const std::size_t           end = std::min(order.size(), first + options.imagesPerStep);
  std::vector<const Sample *> images;
  for (std::size_t i = first; i < end; ++i)
  {
    images.push_back(&training[order[i]]);
  }
  progress.step = state.step + 1;
  progress.loss = NaN;
  if (plan.strategy != Strategy::Whole)
  {
    streamed->SetParameters(state.parameters);
  }
  std::vector<LossGradient> sums;
  const auto                number = static_cast<std::int64_t>(state.epoch) * training.size() + first;
  if (!ShareOut(images, sums, [&](int i, const RankTeam & team, LossGradient & sum) {
        return ComputeGradient(*images[i], number + i, team, sum);
      }))
  {
    return false;
  }
  LossGradient mean;
  mean.gradient.resize(state.parameters.size());
  if (ranks->GetRank() == 0)
  {
    mean = Average(sums, images);
  }
  ranks->Broadcast(0, &mean.loss, sizeof(mean.loss));
  ranks->Broadcast(0, mean.gradient.data(), mean.gradient.size() * sizeof(double));
  state.adam.Step(state.learningRate, mean.gradient, state.parameters);
  state.lossSum += mean.loss * static_cast<double>(images.size());
  ++state.step;
  Save();
  progress.loss = mean.loss;
  return Report(1);
}

bool
Trainer::Implementation::Validate(double & loss, Score & total)
{
  streamed->SetParameters(state.parameters);
  std::vector<const Sample *> images;
  for (const Sample & sample : validation)
  {
    images.push_back(&sample);
  }
  std::vector<Score> scores;
  progress.validating = true;
  const bool done = ShareOut(images, scores, [&](int i, const RankTeam & team, Score & score) {
    progress.sample = images[i]->name;
    return streamed->ComputeScore(
      *images[i]->pixels, *images[i]->labels, score, [this](double fraction) { return Report(fraction); }, team);
  });
  progress.validating = false;
  loss = 0;
  for (std::size_t i = 0; done && ranks->GetRank() == 0 && i < scores.size(); ++i)
  {
    if (scores[i].weight == 0)
    {
      throw std::runtime_error("validation sample \"" + images[i]->name +
                               "\" has no pixel that takes part in the loss");
    }
    // Every image weighs the same, as it does in training.
    loss += scores[i].GetMeanLoss() / static_cast<double>(validation.size());
    total.Add(scores[i]);
  }
  return done;
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
    ranks->Broadcast(0, &record.validationLoss, sizeof(record.validationLoss));
    ranks->Broadcast(0, &record.validationDice, sizeof(record.validationDice));
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
  progress.stepsPerEpoch = GetNumberOfSteps();
  progress.validationLoss = state.history.empty() ? NaN : state.history.back().validationLoss;
  progress.validationDice = state.history.empty() ? NaN : state.history.back().validationDice;
  while (!IsFinished())
  {
    progress.epoch = state.epoch + 1;
    progress.epochDone = false;
    progress.learningRate = state.learningRate;
    const std::vector<std::size_t> order = GetOrder();
    while (state.step < GetNumberOfSteps())
    {
      if (!RunStep(order))
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
  if (options.ranks)
  {
    m_Implementation->ranks = options.ranks;
  }
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
      run.shared.reset();
      run.sharedOf = nullptr;
      run.streamed.reset();
      run.folder.reset();
      run.observer = {};
    }
  } release{ *m_Implementation };
  m_Implementation->observer = observer;
  try
  {
    if (m_Implementation->Run())
    {
      return true;
    }
    m_Implementation->ranks->Stop();
  }
  catch (const Ranks::Stopped &)
  {
    // By another rank.
  }
  catch (const std::exception & error)
  {
    m_Implementation->ranks->Fail(error.what());
    throw;
  }
  return false;
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

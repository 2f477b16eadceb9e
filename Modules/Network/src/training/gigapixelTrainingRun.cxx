/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTrainingRun.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelAtomicFile.h"
#include "gigapixelJitter.h"
#include "model/gigapixelModelFile.h"
#include "gigapixelOrientedSource.h"
#include "gigapixelSampleIdentity.h"
#include "graph/gigapixelLabelings.h"
#include "graph/gigapixelParameterLayout.h"
#include "execute/gigapixelRandom.h"
#include "model/gigapixelValueRange.h"
#include "execute/gigapixelGraphPasses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Up to so many parameters a checkpoint is written after every step: it takes milliseconds. Larger ones are written
 * when some time has passed, when an epoch ends, and when the run is stopped. */
constexpr std::int64_t         SmallNetwork = 1000000;
constexpr std::chrono::seconds CheckpointInterval{ 60 };

constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

bool
IsFinite(const std::vector<double> & values)
{
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

} // namespace

bool
Trainer::Implementation::IsFinished() const
{
  return state.epoch >= options.epochs ||
         (options.earlyStopping > 0 && state.CountEpochsWithoutBetter() >= options.earlyStopping);
}

/** Of an epoch. */
int
Trainer::Implementation::GetNumberOfSteps() const
{
  const int images = static_cast<int>(training.size());
  return (images + options.imagesPerStep - 1) / options.imagesPerStep;
}

/** \param step of the current epoch */
double
Trainer::Implementation::GetLearningRate(std::int64_t step) const
{
  return schedule->Get(state.learningRate, std::int64_t{ state.epoch } * GetNumberOfSteps() + step);
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

/** Between steps, while an image is made ready. */
bool
Trainer::Implementation::GoesOn()
{
  ranks->ReportProgress();
  return Report(0);
}

/** Calls work(), and says to which sample wrong labels belong, and with which one the training diverged. */
template <typename TWork>
bool
Trainer::Implementation::ExplainErrors(const Sample & sample, const TWork & work)
{
  try
  {
    return work();
  }
  catch (const LabelError & error)
  {
    Diagnostic problem = error.GetDiagnostic();
    problem.why = "sample \"" + sample.name + "\": " + problem.why;
    throw Refusal(problem.OfFile(sample.name));
  }
  catch (const NotFiniteError & error)
  {
    this->ThrowDiverged("for sample \"" + sample.name + "\" " + error.GetDiagnostic().why);
  }
}

/** Sums over several images that are worked on at the same time: each rank computes its part, and rank 0 gets the
 * sums, one after the other in the images' order; where it is alone, as soon as each is computed.
 * \param compute (number of the image, its team, sum) does this rank's part of an image
 * \param take (number of the image, its sum), of rank 0
 * \return false if it was stopped */
template <typename TSum, typename TCompute, typename TTake>
bool
Trainer::Implementation::ShareOut(const std::vector<const Sample *> & images,
                                  const TCompute &                    compute,
                                  const TTake &                       take)
{
  const int         number = static_cast<int>(images.size());
  const bool        alone = ranks->GetNumberOfRanks() == 1;
  std::vector<TSum> sums(alone ? 0 : number);
  for (int i = 0; i < number; ++i)
  {
    const RankTeam team(*ranks, i, number, run);
    TSum           sum;
    if (team.ContainsThis() && !ExplainErrors(*images[i], [&] { return compute(i, team, sum); }))
    {
      return false;
    }
    if (alone)
    {
      take(i, std::move(sum));
    }
    else
    {
      sums[i] = std::move(sum);
    }
  }
  for (int i = 0; i < number && !alone; ++i)
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
  // What rank 0 refuses it refuses when no rank waits for it any more.
  for (int i = 0; i < number && !alone && ranks->GetRank() == 0; ++i)
  {
    take(i, std::move(sums[i]));
  }
  return true;
}

namespace
{

/** Targets of a sample; null: its labels are learnt. */
const OutputTargets *
FindTargets(const std::vector<OutputTargets> & targets, std::size_t sample)
{
  return targets.empty() ? nullptr : &targets[sample];
}

} // namespace

/** \param number of the step's image among all that the run takes */
bool
Trainer::Implementation::ComputeGradient(const Sample &   sample,
                                         std::int64_t     number,
                                         const RankTeam & team,
                                         LossGradient &   sum)
{
  progress.sample = sample.name;
  const auto goesOn = [this] { return GoesOn(); };
  if (sample.prepare && !sample.prepare(goesOn))
  {
    return false;
  }
  if (options.sharedMemory && sharedOf != &sample)
  {
    shared.reset(); // before there is another one
    shared = streamed->Share(*sample.pixels, *sample.labels, goesOn);
    if (!shared)
    {
      return false;
    }
    sharedOf = &sample;
  }
  Random    random(options.seed, Random::Purpose::Augmentation, static_cast<std::uint64_t>(number));
  const int orientation = options.augment ? Orientation::Draw(random, sample.pixels->GetSize(), sample.square) : 0;
  OrientedPixelSource pixels(shared ? shared->GetPixels() : *sample.pixels, orientation);
  OrientedLabelSource labels(shared ? shared->GetLabels() : *sample.labels, orientation);
  JitteredPixelSource jittered(
    pixels,
    Jitter::Draw(
      options.jitter, options.seed, static_cast<std::uint64_t>(number), sample.pixels->GetNumberOfChannels()));
  PixelSource & source = options.jitter > 0 ? static_cast<PixelSource &>(jittered) : pixels;
  streamed->SetMaskSeed(Random(options.seed, Random::Purpose::Dropout, static_cast<std::uint64_t>(number)).Bits());
  streamed->SetTargets(FindTargets(trainingTargets, static_cast<std::size_t>(&sample - training.data())));
  // The step is done only after the update: its last tile is not reported on its own.
  return streamed->ComputeGradient(
    source, labels, sum, [this](double fraction) { return fraction >= 1 || Report(fraction); }, team);
}

/** Adds an image's loss and gradient to the means of a step's images (the loss in `loss`), each of which weighs the
 * same, or, with balanced classes, by the rarity of its class.
 * \param images that the step has */
void
Trainer::Implementation::AddToMean(const Sample & sample, LossGradient && sum, std::size_t images, LossGradient & mean)
{
  if (sum.weight == 0)
  {
    throw Refusal(
      Diagnostic("E-COHORT-LABELS", "sample \"" + sample.name + "\" has no pixel that takes part in the loss")
        .OfFile(sample.name));
  }
  const double factor = trainingWeights[static_cast<std::size_t>(&sample - training.data())];
  const double weight = sum.weight * static_cast<double>(images) / factor;
  const double loss = sum.loss / weight;
  if (!std::isfinite(loss) || !IsFinite(sum.gradient))
  {
    this->ThrowDiverged("the loss of sample \"" + sample.name + "\", or its gradient, is no finite number any more");
  }
  mean.loss += loss;
  if (mean.gradient.empty())
  {
    mean.gradient = std::move(sum.gradient);
    std::for_each(mean.gradient.begin(), mean.gradient.end(), [weight](double & value) { value /= weight; });
    return;
  }
  for (std::size_t j = 0; j < mean.gradient.size(); ++j)
  {
    mean.gradient[j] += sum.gradient[j] / weight;
  }
}

/** Of the step that failed nothing is taken over: what is kept is the step before.
 * \param byStep whether it is the weights of a step that were found to be of no use, before it was taken */
void
Trainer::Implementation::ThrowDiverged(const std::string & what, bool byStep)
{
  // The weights that a run begins with, whatever the learning rate is.
  if (state.optimizer.steps == 0 && !byStep)
  {
    throw Refusal(
      Diagnostic("E-NOT-FINITE",
                 "the training cannot begin: " + what + " although no weight was changed yet",
                 "see whether the network's factors, norms and input, and the class weights, are what they should be"));
  }
  std::string kept;
  try
  {
    SaveLastSteps();
    kept = folder && folder->HoldsCheckpoint() ? " (the last good step is kept in " + folder->GetLastFile() + ")" : "";
  }
  catch (const std::exception & error)
  {
    kept = " (the last good step could not be saved: " + Diagnostic::Of(error).why + ")";
  }
  throw Refusal(Diagnostic("E-NOT-FINITE",
                           "the training has diverged in epoch " + std::to_string(state.epoch + 1) + ": " + what + kept,
                           "begin again with a smaller learning rate"));
}

/** Too great a step can leave the range of floats.
 * \param next the weights after the step that is to be taken */
void
Trainer::Implementation::CheckWeights(const std::vector<float> & next)
{
  auto value = next.begin();
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    const auto end = value + parameter.GetNumberOfValues();
    if (!std::all_of(value, end, [](float weight) { return std::isfinite(weight); }))
    {
      this->ThrowDiverged("the weights \"" + parameter.name + "\" come to a value that is no finite number", true);
    }
    value = end;
  }
  try
  {
    CheckValueRange(network, next);
  }
  catch (const std::invalid_argument & error)
  {
    this->ThrowDiverged(Diagnostic::Of(error).why, true);
  }
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
  progress.learningRate = GetLearningRate(state.step);
  streamed->SetParameters(state.parameters);
  LossGradient mean;
  const auto   number = static_cast<std::int64_t>(state.epoch) * training.size() + first;
  const bool   done = ShareOut<LossGradient>(
    images,
    [&](int i, const RankTeam & team, LossGradient & sum) {
      return ComputeGradient(*images[i], number + i, team, sum);
    },
    [&](int i, LossGradient && sum) { AddToMean(*images[i], std::move(sum), images.size(), mean); });
  if (!done)
  {
    return false;
  }
  TakeStep(std::move(mean), images.size());
  if (static_cast<std::int64_t>(state.parameters.size()) <= SmallNetwork ||
      std::chrono::steady_clock::now() - savedAt >= CheckpointInterval)
  {
    Save();
  }
  return Report(1);
}

/** \param mean of so many images, which rank 0 has */
void
Trainer::Implementation::TakeStep(LossGradient && mean, std::size_t images)
{
  std::vector<float> next;
  Workers &          workers = streamed->GetWorkers();
  const auto         findNext = [&] {
    next = state.optimizer.GetNext(progress.learningRate, mean.gradient, state.parameters, workers);
  };
  if (ranks->GetRank() == 0)
  {
    if (options.clipGradient > 0 && !std::isfinite(state.optimizer.Clip(options.clipGradient, mean.gradient)))
    {
      this->ThrowDiverged("the norm of the gradient is no finite number any more");
    }
    findNext();
    CheckWeights(next); // before any rank takes the step
  }
  mean.gradient.resize(state.parameters.size()); // of a rank that receives it
  ranks->Broadcast(0, &mean.loss, sizeof(mean.loss));
  ranks->Broadcast(0, mean.gradient.data(), mean.gradient.size() * sizeof(double));
  if (ranks->GetRank() != 0)
  {
    findNext();
  }
  state.optimizer.Step(mean.gradient, next, state.parameters, workers);
  state.lossSum += mean.loss * static_cast<double>(images);
  ++state.step;
  saved = false;
  progress.loss = mean.loss;
}

/** \return false if it was stopped */
bool
Trainer::Implementation::Validate(EpochRecord & record)
{
  streamed->SetParameters(state.parameters);
  streamed->SetMaskSeed({});
  std::vector<const Sample *> images;
  images.reserve(validation.size());
  for (const Sample & sample : validation)
  {
    images.push_back(&sample);
  }
  std::vector<Score> scores;
  progress.validating = true;
  const auto compute = [&](int i, const RankTeam & team, Score & score) {
    progress.sample = images[i]->name;
    streamed->SetTargets(FindTargets(validationTargets, static_cast<std::size_t>(i)));
    return (!images[i]->prepare || images[i]->prepare([this] { return GoesOn(); })) &&
           streamed->ComputeScore(
             *images[i]->pixels, *images[i]->labels, score, [this](double fraction) { return Report(fraction); }, team);
  };
  const bool done = ShareOut<Score>(images, compute, [&](int, Score && score) { scores.push_back(std::move(score)); });
  progress.validating = false;
  record.validationLoss = 0;
  Score total;
  for (std::size_t i = 0; done && i < scores.size(); ++i)
  {
    if (scores[i].weight == 0)
    {
      throw Refusal(Diagnostic("E-COHORT-LABELS",
                               "validation sample \"" + images[i]->name + "\" has no pixel that takes part in the loss")
                      .OfFile(images[i]->name));
    }
    if (!std::isfinite(scores[i].GetMeanLoss()))
    {
      this->ThrowDiverged("the loss of validation sample \"" + images[i]->name + "\" is no finite number any more");
    }
    // Every image, or with balanced classes every class, weighs the same, as it does in training.
    record.validationLoss += validationWeights[i] * scores[i].GetMeanLoss() / static_cast<double>(validation.size());
    total.Add(scores[i]);
  }
  if (done && ranks->GetRank() == 0)
  {
    record.validationScore = Labeling::Of(network.graph).GetScore(network, validation, scores, total);
  }
  if (done && state.epoch == 0)
  {
    validationTargets.empty() ? WarnOfMissingClasses(total.actual, true)
                              : WarnOfMissingTargets(validationTargets, true);
  }
  return done;
}

namespace
{

/** The number of the class that an image has. */
ImageTruth
GetClass(const Score & score)
{
  const auto found = std::find_if(score.actual.begin(), score.actual.end(), [](auto count) { return count > 0; });
  return { found == score.actual.end() ? std::numeric_limits<double>::quiet_NaN()
                                       : static_cast<double>(found - score.actual.begin()) };
}

} // namespace

double
PixelLabeling::GetScore(const NetworkDescription &,
                        const std::vector<Sample> &,
                        const std::vector<Score> &,
                        const Score & total) const
{
  return total.GetDice();
}

double
ImageLabeling::GetScore(const NetworkDescription &  network,
                        const std::vector<Sample> & validation,
                        const std::vector<Score> &  scores,
                        const Score &) const
{
  const ObjectiveKind &            kind = network.objective.GetKind();
  std::vector<ImageTruth>          truths;
  std::vector<std::vector<double>> predictions;
  for (std::size_t i = 0; i < scores.size(); ++i)
  {
    truths.push_back(validation[i].truth.empty() ? GetClass(scores[i]) : validation[i].truth);
    predictions.push_back(kind.predict(network.objective, scores[i].probabilities));
  }
  return kind.getScore(network.objective, truths, predictions);
}

/** Gives the score its name. */
void
Trainer::Implementation::TellScore(const EpochRecord & record)
{
  progress.validationLoss = record.validationLoss;
  progress.validationScore = record.validationScore;
  progress.validationScoreName = Labeling::Of(network.graph).GetKind(network).score;
  progress.validationDice = progress.validationScoreName == "Dice" ? record.validationScore : NaN;
}

bool
Trainer::Implementation::FinishEpoch()
{
  EpochRecord record{
    state.epoch + 1, state.lossSum / static_cast<double>(training.size()), NaN, NaN, GetLearningRate(state.step - 1)
  };
  progress.learningRate = record.learningRate;
  if (!validation.empty())
  {
    if (!Validate(record))
    {
      return false;
    }
    ranks->Broadcast(0, &record.validationLoss, sizeof(record.validationLoss));
    ranks->Broadcast(0, &record.validationScore, sizeof(record.validationScore));
  }
  const bool               better = validation.empty() || record.validationLoss < state.GetBestLoss();
  std::vector<EpochRecord> history = state.history;
  history.push_back(record);
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
    AtomicFile file(folder->GetHistoryFile());
    file.Append(ToCSV(history, Labeling::Of(network.graph).GetKind(network).scoreColumn));
    file.Commit();
  }
  // Only now: a file that could not be written leaves the state at the epoch's last step, and so does what is saved
  // then.
  state.history = std::move(history);
  state.learningRate = schedule->Lower(state.learningRate, state.CountEpochsWithoutBetter());
  ++state.epoch;
  state.step = 0;
  state.lossSum = 0;
  Save();
  progress.epochDone = true;
  progress.loss = record.trainingLoss;
  TellScore(record);
  return Report(1);
}

const Model &
Trainer::Implementation::GetLast()
{
  if (last.parameters.empty())
  {
    last = MakeModel();
  }
  return last;
}

std::optional<bool>
PixelLabeling::FindTissue(const std::vector<Sample> &) const
{
  return {};
}

std::optional<bool>
ImageLabeling::FindTissue(const std::vector<Sample> & training) const
{
  return std::any_of(training.begin(), training.end(), [](const Sample & sample) {
    return sample.identity.find(TissueIdentity) != std::string::npos;
  });
}

Model
Trainer::Implementation::MakeModel() const
{
  Model model{ network, ToParameters(network, state.parameters), micronsPerPixel, modelTileSize, {}, channels, window,
               plane };
  model.tissueOnly = Labeling::Of(network.graph).FindTissue(training);
  model.network.graph.frozen.clear(); // of this training, and no part of the network: files do not have it either
  return model;
}

void
Trainer::Implementation::Save()
{
  if (folder)
  {
    state.ToFile(MakeModel(), settings).Save(folder->GetLastFile());
  }
  last = Model();
  saved = true;
  savedAt = std::chrono::steady_clock::now();
}

void
Trainer::Implementation::SaveLastSteps()
{
  if (!saved)
  {
    Save();
  }
}

bool
Trainer::Implementation::Run()
{
  Prepare();
  progress = TrainingProgress{};
  progress.stepsPerEpoch = GetNumberOfSteps();
  TellScore(state.history.empty() ? EpochRecord{ 0, NaN, NaN, NaN, NaN } : state.history.back());
  if (!Calibrate())
  {
    return false;
  }
  while (!IsFinished())
  {
    progress.epoch = state.epoch + 1;
    progress.epochDone = false;
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

} // namespace gigapixel

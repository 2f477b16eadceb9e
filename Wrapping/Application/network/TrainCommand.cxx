/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"
#include "Peaks.h"

#include "ArgumentText.h"
#include "CrossValidation.h"
#include "Engine.h"
#include "InputKind.h"
#include "ITKMessages.h"
#include "PyramidOutput.h"
#include "RankBands.h"
#include "gigapixelLearningOptions.h"
#include "gigapixelReadingMemory.h"
#include "SlideFile.h"
#include "TableValues.h"
#include "VolumeFile.h"
#include "VolumeSegmentation.h"

#include "gigapixelBegunRun.h"
#include "gigapixelLabeling.h"
#include "gigapixelPackedDiagnostic.h"
#include "gigapixelTableReader.h"
#include "gigapixelUsableCores.h"
#include "gigapixelVolumePrediction.h"

#include "itkGigapixelNetworkSource.h"
#include "itkGigapixelUNetTrainer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

namespace gigapixel::application
{

/** What a cohort asks of the machine. */
struct Workload
{
  Size                                                   largest;
  double                                                 pixelsPerEpoch{ 0 };
  std::size_t                                            trainingSamples{ 0 };
  std::size_t                                            validationSamples{ 0 };
  std::int64_t                                           heldBytes{ 0 }; // of volumes, of which one is in memory
  ReadingMemory                                          reading;        // of slides and their masks
  std::map<std::string, itk::WholeSlideImageIO::Pointer> slides; // open until the end, as they count damaged tiles
};

namespace
{
std::int64_t
GetPixels(const Size & size)
{
  return size.width * size.height * size.depth;
}

/** Pixels of one row of the cohort at the level that is trained on. */
Size
MeasureSample(const CohortEntry & entry, const itk::WholeSlideImageIO & slide)
{
  const auto size = slide.GetLevelSize(slide.GetLevel());
  const auto downsamples = slide.GetLevelDownsamples(slide.GetLevel());
  if (entry.region.width > 0)
  {
    return { static_cast<std::int64_t>(std::ceil(static_cast<double>(entry.region.width) / downsamples[0])),
             static_cast<std::int64_t>(std::ceil(static_cast<double>(entry.region.height) / downsamples[1])) };
  }
  return { static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) };
}

std::int64_t
CountDamagedTiles(const Workload & workload)
{
  std::int64_t count = 0;
  for (const auto & slide : workload.slides)
  {
    count += static_cast<std::int64_t>(slide.second->GetNumberOfDamagedTiles());
  }
  return count;
}

/** Of a region that reaches beyond the slide the rest is taken; of one that begins there, nothing is left. */
void
RequireInside(const CohortEntry & entry, const itk::WholeSlideImageIO & slide, const std::string & table)
{
  const auto     size = slide.GetLevelSize(0);
  const Region & region = entry.region;
  const auto     isWithin = [](std::int64_t place, itk::SizeValueType end) {
    return place >= 0 && static_cast<itk::SizeValueType>(place) < end;
  };
  if (region.width > 0 && !(isWithin(region.x, size[0]) && isWithin(region.y, size[1])))
  {
    TableReader::Fail(table,
                      entry.line,
                      Diagnostic("E-REGION",
                                 "the region " + std::to_string(region.x) + ',' + std::to_string(region.y) + ',' +
                                   std::to_string(region.width) + ',' + std::to_string(region.height) +
                                   " (x,y,width,height) does not begin inside of " + entry.slide + ", which has " +
                                   std::to_string(size[0]) + " x " + std::to_string(size[1]) + " pixels",
                                 "give one that does"));
  }
}

} // namespace

Size
SlideInput::Measure(const CohortEntry &        entry,
                    const NetworkDescription & network,
                    const ArgumentValues &     values,
                    const Session &            session,
                    Workload &                 workload) const
{
  const auto slide = OpenSlide(entry.slide, values, session);
  RequireChannels(*slide, static_cast<unsigned>(network.channels), network.IsNormalized());
  RequireInside(entry, *slide, values.GetText("cohort"));
  const std::string mask = Labeling::Of(network.graph).GetMask(entry.mask);
  if (!mask.empty())
  {
    CheckInputFile(mask);
  }
  SelectPixels(*slide, values);
  workload.slides[entry.slide] = slide;
  workload.reading.AddFile(entry.slide, network.channels, GetSlideOptions(values), network.IsNormalized());
  workload.reading.AddResampling(*slide);
  if (!mask.empty())
  {
    workload.reading.AddFile(mask, 1);
  }
  return MeasureSample(entry, *slide);
}

/** Looks at the headers of a volume and its labels. */
Size
VolumeInput::Measure(const CohortEntry &        entry,
                     const NetworkDescription & network,
                     const ArgumentValues &,
                     const Session &,
                     Workload & workload) const
{
  const itk::GigapixelVolume volume = OpenVolume(entry.slide); // the trainer gives the warnings
  RequireVolumeChannels(volume, network);
  if (!entry.mask.empty())
  {
    this->RequireFile(entry.mask, "the network " + network.name);
    const itk::GigapixelVolume labels = OpenVolume(entry.mask);
    workload.heldBytes = std::max(workload.heldBytes, CountMemory(volume, network, &labels).training);
  }
  return FindAxisOrder(volume.grid, network).Apply(volume.grid).size;
}

namespace
{

/** Opens every slide, or volume, once, so that what cannot work is said before anything starts. */
Workload
MeasureCohort(const Cohort &             cohort,
              const NetworkDescription & network,
              const ArgumentValues &     values,
              const Session &            session)
{
  Workload     workload;
  const auto & kind = InputKind::Of(network);
  itk::GigapixelRefuseWindow(GetSlideOptions(values).window, network);
  itk::GigapixelRefuseSharedMemory(values.Has("shared-memory"), network);
  for (const CohortEntry & entry : cohort.entries)
  {
    if (entry.split == CohortEntry::Split::Test)
    {
      continue;
    }
    kind.RequireFile(entry.slide, "the network " + network.name);
    const Size size = kind.Measure(entry, network, values, session, workload);
    workload.pixelsPerEpoch += static_cast<double>(GetPixels(size));
    workload.largest = GetPixels(size) > GetPixels(workload.largest) ? size : workload.largest;
    (entry.split == CohortEntry::Split::Training ? workload.trainingSamples : workload.validationSamples) += 1;
  }
  if (workload.trainingSamples == 0)
  {
    const std::string & file = values.GetText("cohort");
    throw Refusal(Diagnostic("E-COHORT-FORMAT",
                             file + " has no row with the split train",
                             "give it to the slides that are to be learnt from")
                    .OfFile(file));
  }
  return workload;
}

std::string
Describe(const Workload & workload, const NetworkDescription & network)
{
  return "network " + network.name + ", " + std::to_string(workload.trainingSamples) + " training and " +
         std::to_string(workload.validationSamples) + " validation samples, the largest " +
         FormatSize(workload.largest);
}

/** As they are given; what decides on the bits of a run that goes on, and is not given, as it began. */
LearningOptions
GetLearning(const ArgumentValues & values, const std::optional<BegunRun> & begun)
{
  LearningOptions options = begun ? LearningOptions(begun->options) : LearningOptions();
  VisitLearningOptions([&](const Option & option, auto member) {
    if (!begun || values.IsGiven(option.name) || !DecidesOnBits(option, begun->options))
    {
      TakeOption(values, option.name, option, options.*member);
    }
  });
  // Another optimizer, say, is refused as such, and not for what belongs to that of the run.
  const LearningOptions defaults;
  VisitLearningOptions([&](const Option & option, auto member) {
    if (!IsInUse(option, options) && !values.IsGiven(option.name))
    {
      options.*member = defaults.*member;
    }
  });
  return options;
}

/** Refuses options that are given and belong to something else than the run that goes on has. */
void
CheckLearning(const ArgumentValues & values, const LearningOptions & options)
{
  for (const LearningOption & entry : GetOptionTable<LearningOptions>())
  {
    const Option & option = entry.option;
    if (values.IsGiven(option.name) && !IsInUse(option, options))
    {
      throw UsageError(Diagnostic("E-OPTION-NEEDS",
                                  option.GetDisplayName() + " is of --" + option.needs + ' ' + option.neededValue +
                                    ", and --" + option.needs + " is " + GetText(options, option.needs))
                         .OfOption(option.GetDisplayName(), values.GetText(option.name)));
    }
  }
}

void
CheckIgnoredLabel(const ArgumentValues & values, const NetworkDescription & network)
{
  if (values.GetInteger("ignored-label") == LabelSource::Ignored && network.GetNumberOfClasses() == 2)
  {
    throw UsageError(Diagnostic("E-OPTION-VALUE",
                                "--ignored-label 255 cannot be: of two classes, which the network " + network.name +
                                  " tells apart, 255 is the object",
                                "give those pixels another value in the masks, such as 254")
                       .OfOption("--ignored-label", values.GetText("ignored-label")));
  }
}

void
Configure(itk::GigapixelUNetTrainer & trainer, const ArgumentValues & values, const LearningOptions & options)
{
  trainer.SetNetwork(values.IsGiven("network") ? values.GetText("network") : "");
  trainer.SetLearningOptions(options);
  trainer.SetLossOptions(GetOptions<LossOptions>(values));
  trainer.SetRunFolder(values.GetText("output"));
  trainer.SetSlideOptions(GetSlideOptions(values));
  trainer.SetResume(values.Has("resume"));
}

/** The epoch with the least validation loss, the first of several; null: none was validated. */
const EpochRecord *
FindBest(const std::vector<EpochRecord> & history)
{
  const EpochRecord * best = nullptr;
  for (const EpochRecord & record : history)
  {
    if (!std::isnan(record.validationLoss) && (best == nullptr || record.validationLoss < best->validationLoss))
    {
      best = &record;
    }
  }
  return best;
}

/** The score of the validation samples. */
const std::string &
GetScoreName(const NetworkDescription & network)
{
  return Labeling::Of(network.graph).GetKind(network).score;
}

std::string
FormatEpoch(const TrainingProgress & state, std::int64_t epochs)
{
  std::string text =
    "epoch " + std::to_string(state.epoch) + '/' + std::to_string(epochs) + ": loss " + FormatNumber(state.loss, 5);
  if (!std::isnan(state.validationLoss))
  {
    text += ", validation loss " + FormatNumber(state.validationLoss, 5);
  }
  if (!std::isnan(state.validationScore))
  {
    text += ", validation " + state.validationScoreName + ' ' + FormatNumber(state.validationScore, 4);
  }
  return text;
}

/** How long CPUs take, by the plan: it may be weeks. Pixels of validation count as those of training. Empty: less than
 * a minute. */
std::string
FormatTime(const Workload & workload, const MemoryPlan & plan, const itk::GigapixelUNetTrainer & trainer, int ranks)
{
  constexpr double Minute = 60;
  const int        threads = std::min(static_cast<int>(trainer.GetNumberOfWorkUnits()), CountUsableCores());
  const int        together = ranks * std::clamp(plan.tilesInFlight, 1, std::max(1, threads));
  const double     steps = workload.pixelsPerEpoch / static_cast<double>(GetPixels(workload.largest));
  const double     epoch = steps * plan.coreSeconds / together;
  const double     all = epoch * trainer.GetEpochs();
  return all < Minute ? std::string()
                      : "; estimated time " + FormatDuration(epoch) + " an epoch, " + FormatDuration(all) + " for " +
                          std::to_string(trainer.GetEpochs()) + " epochs";
}

/** Trains with a line of what it takes, a line of progress and a line for each epoch.
 * \return the plan of the run, with what slides take beside it in its peak */
MemoryPlan
Train(itk::GigapixelUNetTrainer &   trainer,
      const Workload &              workload,
      const ImageRun &              run,
      const Session &               session,
      int                           ranks,
      const std::function<void()> & whenStepped)
{
  const ArgumentValues & values = run.values;
  MemoryPlan             plan;
  const std::int64_t     epochs = trainer.GetEpochs();
  Progress               progress(session, "train", workload.pixelsPerEpoch * static_cast<double>(epochs));
  Observe(&trainer, progress, 0, 1);
  trainer.AddObserver(itk::GigapixelPlanEvent(), [&](const itk::EventObject &) {
    plan = trainer.GetMemoryPlan();
    plan.peakBytes +=
      GetSlideBytes(run, GetBudget(values)) - run.reading.GetSpareBytes(session.GetThreads(), GetBudget(values));
    session.Say(Describe(workload, run.network) + "; " + FormatPlan(plan, run.tiling) +
                (values.GetText("device") == "cpu" ? FormatTime(workload, plan, trainer, ranks) : ""));
    if (values.Has("scratch") && plan.keptBytes == 0)
    {
      session.Say(IdleScratch);
    }
  });
  if (whenStepped)
  {
    trainer.AddObserver(itk::GigapixelStepEvent(), [&](const itk::EventObject &) { whenStepped(); });
  }
  trainer.AddObserver(itk::IterationEvent(), [&](const itk::EventObject &) {
    session.Say(FormatEpoch(trainer.GetTrainingProgress(), epochs));
  });
  try
  {
    trainer.Update();
  }
  catch (const itk::ProcessAborted &)
  {
    const std::string run = values.GetText("output");
    throw Interrupted(std::filesystem::exists(run + "/last.safetensors")
                        ? "Everything up to the last full step is in " + run +
                            "; the same command with --resume goes on from there."
                        : "No step was done yet, so that nothing is kept.");
  }
  catch (const std::nested_exception & refused)
  {
    try
    {
      refused.rethrow_nested();
    }
    catch (const MemoryLimitError & refusal)
    {
      throw Refusal(Diagnose(refusal, run));
    }
  }
  progress.Finish();
  return plan;
}

/** Of a run that has ended: the plan has room for validation, which it may not have had. */
Peaks
GetPeaks(const Workload & workload, MemoryPlan plan, const ImageRun & run)
{
  const bool segmentsImages = workload.validationSamples > 0 || run.values.GetInteger("calibrate") > 0;
  plan.peakBytes -= segmentsImages ? 0 : plan.validationBytes;
  return Peaks(plan, run.network, run.values);
}

nlohmann::ordered_json
Describe(const std::vector<EpochRecord> & history,
         const Workload &                 workload,
         const MemoryPlan &               plan,
         const StageSeconds &             seconds,
         const ImageRun &                 image)
{
  const std::string run = image.values.GetText("output");
  const auto        known = [](double value) {
    return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
  };
  constexpr EpochRecord     unknown{ 0, NAN, NAN, NAN, NAN };
  const EpochRecord         last = history.empty() ? unknown : history.back();
  const EpochRecord * const found = FindBest(history);
  const EpochRecord         best = found != nullptr ? *found : unknown;
  nlohmann::ordered_json    json{ { "run", run }, { "model", run + "/best.safetensors" } };
  json["trainingSamples"] = workload.trainingSamples;
  json["validationSamples"] = workload.validationSamples;
  json["epochs"] = last.epoch;
  json["loss"] = known(last.trainingLoss);
  json["validationLoss"] = known(last.validationLoss);
  const std::string & score = GetScoreName(image.network);
  const auto          knownAs = [&](const char * name, double value) { return known(score == name ? value : NAN); };
  json["validationDice"] = knownAs("Dice", last.validationScore);
  json["validationAUC"] = knownAs("AUC", last.validationScore);
  json["bestEpoch"] = found != nullptr ? nlohmann::ordered_json(best.epoch) : nullptr;
  json["bestValidationLoss"] = known(best.validationLoss);
  json["bestValidationDice"] = knownAs("Dice", best.validationScore);
  json["bestValidationAUC"] = knownAs("AUC", best.validationScore);
  json["scoreName"] = score; // the same by any name
  json["validationScore"] = known(last.validationScore);
  json["bestValidationScore"] = known(best.validationScore);
  json["plan"] = DescribePlan(plan, image.network, Purpose::Training);
  GetPeaks(workload, plan, image).AddTo(json);
  json["cpuSeconds"] = DescribeSeconds(seconds, GetCPUSeconds());
  return json;
}

/** \param whenStepped called after each step, if there is one
 * \param text gets the result for people
 * \return the result for --json; null on all ranks but the first, which alone keeps the run */
nlohmann::ordered_json
TrainOn(const Cohort &                 cohort,
        const std::shared_ptr<Ranks> & ranks,
        const ArgumentValues &         values,
        const Session &                session,
        const std::function<void()> &  whenStepped,
        std::string &                  text)
{
  const auto begun = values.Has("resume") ? BegunRun::Find(values.GetText("output"), ranks.get()) : std::nullopt;
  const LearningOptions options = GetLearning(values, begun);
  CheckLearning(values, options);
  Tiling     tiling = GetTiling(values, session);
  const auto trainer = itk::GigapixelUNetTrainer::New();
  trainer->SetRanks(ranks);
  Configure(*trainer, values, options);
  if (values.IsGiven("network"))
  {
    SayIfNetworkHidesFile(values.GetText("network"), session);
  }
  SayIfModelHidesFile(values.GetText("weights"), session);
  trainer->AddCohort(cohort);
  auto network = trainer->LoadNetwork();
  InputKind::Of(network).CheckOptions(values, "the network " + network.name);
  tiling.axes = network.graph.GetNumberOfAxes();
  if (!network.orientation.empty())
  {
    session.Say(IsOrientation(network.orientation) ? "volumes are oriented " + network.orientation
                                                   : std::string("volumes are shown as they are stored"));
  }
  const Workload workload = MeasureCohort(cohort, network, values, session);
  CheckIgnoredLabel(values, network);
  const auto     images = static_cast<int>(workload.trainingSamples + workload.validationSamples);
  const ImageRun run{ values, network, workload.largest, Purpose::Training, tiling, {}, workload.heldBytes,
                      0,      images,  workload.reading };
  trainer->SetNumberOfWorkUnits(static_cast<itk::ThreadIdType>(
    std::max(1, workload.reading.LimitThreads(session.GetThreads(), GetBudget(values)))));
  ComputingOptions computing = GetComputing(values, tiling);
  computing.precision = values.IsGiven("precision") ? computing.precision : std::string();
  computing.memoryLimit = static_cast<std::uint64_t>(GetBudget(values));
  trainer->SetComputingOptions(computing);
  const MemoryPlan   plan = Train(*trainer, workload, run, session, ranks->GetNumberOfRanks(), whenStepped);
  const std::int64_t damagedTiles = SumOverRanks(CountDamagedTiles(workload), *ranks);
  if (ranks->GetRank() > 0)
  {
    return {};
  }
  const auto & history = trainer->GetHistory();
  const auto   seconds = trainer->GetTrainingProgress().seconds;
  auto         json = Describe(history, workload, plan, seconds, run);
  json["damagedTiles"] = damagedTiles;
  text = "model " + json["model"].get<std::string>();
  if (const EpochRecord * const best = FindBest(history))
  {
    text += ": best validation loss " + FormatNumber(best->validationLoss, 5) +
            (std::isnan(best->validationScore)
               ? std::string()
               : " (" + GetScoreName(network) + ' ' + FormatNumber(best->validationScore, 4) + ')') +
            " in epoch " + std::to_string(best->epoch);
  }
  text += FormatDamage(damagedTiles);
  session.Say(GetPeaks(workload, plan, run).Format());
  session.Say(FormatSeconds(seconds, GetCPUSeconds()));
  return json;
}

void
RunTrainOn(const std::shared_ptr<Ranks> & ranks, const ArgumentValues & values, const Session & session)
{
  const TileCacheBound bound = BoundMemory(values, session);
  CheckScratch(values);
  if (values.Has("folds"))
  {
    if (ranks->GetNumberOfRanks() > 1)
    {
      throw UsageError(Diagnostic("E-OPTION-CONFLICT",
                                  "--folds is of one process: folds know nothing of each other",
                                  "start one for each (--fold I)")
                         .OfOption("--folds", values.GetText("folds")));
    }
    RunCrossValidation(
      values, session, [&](const Cohort & cohort, const auto & ofFold, const auto & whenStepped, auto & text) {
        return TrainOn(cohort, ranks, ofFold, session, whenStepped, text);
      });
    return;
  }
  const Cohort cohort = LoadCohort(values, session, true);
  std::string  text;
  const auto   json = TrainOn(cohort, ranks, values, session, {}, text);
  if (!json.is_null())
  {
    session.ShowResult(text, json);
  }
}
} // namespace

int
RunTrain(const ArgumentValues & values, const Session & session)
{
  const auto ranks = JoinJob(Launch::Find());
  try
  {
    RunTrainOn(ranks, values, session);
  }
  catch (const std::exception &)
  {
    ranks->Fail(PackDiagnostic(DiagnoseThrown()));
    throw;
  }
  return Success;
}

} // namespace gigapixel::application

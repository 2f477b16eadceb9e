/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CrossValidation.h"

#include "OutputCheck.h"
#include "SlideClassification.h"
#include "SlideFile.h"

#include "gigapixelBegunRun.h"
#include "gigapixelClassifier.h"
#include "gigapixelFolds.h"
#include "gigapixelTableReader.h"
#include "gigapixelFormatCount.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace gigapixel::application
{
namespace
{

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Cohort
LoadStudy(const std::string & file, const ArgumentValues & values, const Session & session)
{
  Cohort cohort = LoadCohort(values, session, false);
  if (cohort.classes.empty() && cohort.entries.front().truth.empty())
  {
    throw Refusal(Diagnostic("E-COHORT-FORMAT",
                             "it has no column label: folds are of networks that label whole slides",
                             "add the column, or leave --folds out")
                    .OfFile(file)
                    .OfOption("--folds"));
  }
  for (const CohortEntry & entry : cohort.entries)
  {
    if (entry.region.width > 0)
    {
      TableReader::Fail(file,
                        entry.line,
                        Diagnostic("E-COHORT-FORMAT",
                                   "folds are of whole slides, and this row is a region of one",
                                   "leave --folds out"));
    }
  }
  return cohort;
}

/** Before the first fold is trained in vain. */
void
CheckNetwork(const ArgumentValues & values, const Cohort & cohort)
{
  const bool          hasMasks = !cohort.entries.front().mask.empty();
  const std::string & network = values.GetText("network");
  if (values.IsGiven("network") ? !NetworkDescription::Load(network).LabelsImage() : hasMasks && !values.Has("resume"))
  {
    throw Refusal(Diagnostic("E-OPTION-APPLIES",
                             "--folds is of networks that label whole slides, such as --network resnet18, and " +
                               network + " labels pixels")
                    .OfOption("--folds", values.GetText("folds")));
  }
}

/** The names that all folds have, by which their predictions are one table: a grade may be missing among the slides of
 * one fold, and intervals of survival would end at other times. */
std::vector<std::string>
GetNames(const Cohort & cohort)
{
  Objective               objective = cohort.objective;
  std::vector<ImageTruth> truths;
  for (const CohortEntry & entry : cohort.entries)
  {
    if (entry.split != CohortEntry::Split::Test)
    {
      truths.push_back(entry.truth);
    }
  }
  objective.GetKind().learn(objective, truths, truths);
  return objective.names;
}

std::string
GetFoldFolder(const ArgumentValues & values, int fold)
{
  return (fs::path(values.GetText("output")) / ("fold-" + std::to_string(fold))).string();
}

std::string
GetPredictionFile(const ArgumentValues & values, int fold)
{
  return (fs::path(GetFoldFolder(values, fold)) / "predictions.csv").string();
}

/** \param folds of all slides, as AssignFolds() has them: no fold is without one */
int
CountFolds(const std::vector<int> & folds)
{
  return *std::max_element(folds.begin(), folds.end());
}

/** The slides that a fold holds back, with what the cohort tells of them. */
PredictionTable
MakeTable(const Cohort & cohort, const std::vector<int> & folds, int fold)
{
  PredictionTable table;
  table.knowsLabels = true;
  table.knowsPatients = !cohort.entries.front().patient.empty();
  table.hasFolds = true;
  table.objective = cohort.objective.kind;
  for (std::size_t i = 0; i < folds.size(); ++i)
  {
    const CohortEntry & entry = cohort.entries[i];
    if (folds[i] == fold)
    {
      const std::string label = entry.truth.empty() ? entry.label : ToLabel(entry.truth, cohort.objective);
      table.cases.push_back({ entry.slide, entry.patient, label, {}, {}, fold, entry.line, entry.truth });
    }
  }
  return table;
}

/** With the precision of the run, which with --resume need not be given again. */
void
Predict(PredictionTable & table, const ArgumentValues & ofRun, const Session & session)
{
  const Model          model = Model::Load(ofRun.GetText("output"));
  const auto           begun = BegunRun::Find(ofRun.GetText("output"));
  const ArgumentValues values = begun ? ofRun.With("precision", begun->precision) : ofRun;
  table.classes = Classifier::GetClassNames(model.network);
  for (Prediction & prediction : table.cases)
  {
    ThrowIfInterrupted();
    TakeProbabilities(ClassifySlide(prediction.name, model, values, session), prediction);
  }
}

/** Refuses a table that a fold of another division has left. */
void
CheckSlides(const PredictionTable & found, const PredictionTable & wanted)
{
  const auto getNames = [](const PredictionTable & table) {
    std::vector<std::string> names;
    names.reserve(table.cases.size());
    for (const Prediction & prediction : table.cases)
    {
      names.push_back(fs::path(prediction.name).filename().string() + '\n' + prediction.label);
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  if (getNames(found) != getNames(wanted))
  {
    throw Refusal(Diagnostic("E-RUN-CONFLICT",
                             found.file + " is of other slides than this fold holds back: the cohort or the number of "
                                          "folds is another one",
                             "choose another folder")
                    .OfFile(found.file));
  }
}

/** \return the fold's result, and in \a text that for people */
Json
RunFold(const Cohort &           cohort,
        const std::vector<int> & folds,
        int                      fold,
        const ArgumentValues &   values,
        const Session &          session,
        const TrainFunction &    train,
        std::string &            text)
{
  Cohort part = cohort;
  for (std::size_t i = 0; i < folds.size(); ++i)
  {
    part.entries[i].split = folds[i] == fold ? CohortEntry::Split::Test : part.entries[i].split;
  }
  PredictionTable      table = MakeTable(cohort, folds, fold);
  const ArgumentValues ofFold = values.With("output", GetFoldFolder(values, fold));
  const std::string    file = GetPredictionFile(values, fold);
  std::error_code      ignored;
  session.Say("fold " + std::to_string(fold) + " of " + std::to_string(CountFolds(folds)) + ": " +
              FormatCount(table.cases.size(), "slide") + (table.cases.size() == 1 ? " is" : " are") + " held back");
  if (fs::exists(file))
  {
    CheckSlides(PredictionTable::Load(file), table);
  }
  // What an earlier state of the network has said is of no use any more as soon as it learns on.
  Json json = train(
    part, ofFold, [&] { fs::remove(file, ignored); }, text);
  const bool isKept = fs::exists(file);
  if (!isKept)
  {
    Predict(table, ofFold, session);
    WriteTable(table, file, true);
  }
  text += isKept ? "; was done already, its predictions are kept" : "";
  json["fold"] = fold;
  json["heldBack"] = table.cases.size();
  json["predictions"] = file;
  json["skipped"] = isKept;
  return json;
}

std::string
GetAllPredictionsFile(const ArgumentValues & values)
{
  return (fs::path(values.GetText("output")) / "predictions.csv").string();
}

/** Before anything is learnt: a table of this name that was there before the folds is somebody else's. */
void
CheckAllPredictions(const ArgumentValues & values, const std::string & cohort, int folds)
{
  const std::string file = GetAllPredictionsFile(values);
  RefuseInput(file, { cohort });
  bool hasFolds = false;
  for (int fold = 1; fold <= folds; ++fold)
  {
    hasFolds = hasFolds || fs::exists(GetFoldFolder(values, fold));
  }
  if (fs::exists(file) && !hasFolds)
  {
    throw Refusal(Diagnostic("E-RUN-CONFLICT",
                             file + " is there already, and no folds are: it is no table of a cross-validation that "
                                    "could go on",
                             "choose another folder")
                    .OfFile(file));
  }
}

/** The tables of all folds as one, if all are there. \return its file; empty: some are not */
std::string
Collect(const ArgumentValues & values, const Cohort & cohort, const std::vector<int> & folds)
{
  PredictionTable all;
  for (int fold = 1; fold <= CountFolds(folds); ++fold)
  {
    if (!fs::exists(GetPredictionFile(values, fold)))
    {
      return {};
    }
    PredictionTable table = PredictionTable::Load(GetPredictionFile(values, fold));
    CheckSlides(table, MakeTable(cohort, folds, fold));
    if (!all.cases.empty() && table.classes != all.classes)
    {
      throw Refusal(
        Diagnostic("E-RUN-CONFLICT", table.file + " is of other classes than the fold before", "choose another folder")
          .OfFile(table.file));
    }
    table.cases.insert(table.cases.begin(), all.cases.begin(), all.cases.end());
    all = std::move(table);
  }
  std::string file = GetAllPredictionsFile(values);
  WriteTable(all, file, true);
  return file;
}

} // namespace

Cohort
LoadCohort(const ArgumentValues & values, const Session & session, bool needsSplit)
{
  const std::string file = values.GetText("cohort"), objective = values.GetText("objective");
  CheckInputFile(file);
  Cohort cohort = Cohort::Load(file, needsSplit, objective == "auto" ? "" : objective);
  for (const Diagnostic & warning : cohort.warnings)
  {
    session.Warn(warning);
  }
  return cohort;
}

int
RunCrossValidation(const ArgumentValues & values, const Session & session, const TrainFunction & train)
{
  const int number = static_cast<int>(values.GetInteger("folds"));
  const int only = static_cast<int>(values.GetInteger("fold"));
  const int first = std::max(only, 1);
  if (first > number)
  {
    throw UsageError(
      Diagnostic("E-OPTION-VALUE", "--fold " + std::to_string(first) + " is none of --folds " + std::to_string(number))
        .OfOption("--fold", std::to_string(first)));
  }
  const std::string & file = values.GetText("cohort");
  Cohort              cohort = LoadStudy(file, values, session);
  CheckNetwork(values, cohort);
  cohort.objective.names = GetNames(cohort);
  CheckAllPredictions(values, file, number);
  const std::vector<int> folds = AssignFolds(cohort, number);
  Json                   json{ { "run", values.GetText("output") }, { "folds", Json::array() } };
  std::string            text;
  for (int fold = first; fold <= (only > 0 ? only : number); ++fold)
  {
    ThrowIfInterrupted();
    std::string ofFold;
    json["folds"].push_back(RunFold(cohort, folds, fold, values, session, train, ofFold));
    text += "fold " + std::to_string(fold) + ": " + ofFold + '\n';
  }
  const std::string all = Collect(values, cohort, folds);
  json["predictions"] = all.empty() ? Json() : Json(all);
  text += all.empty() ? "the other folds are missing yet: their predictions are collected when all are there"
                      : "predictions " + all;
  session.ShowResult(text, json);
  return Success;
}

} // namespace gigapixel::application

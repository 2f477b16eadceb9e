/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "EvaluateKinds.h"

#include "ObjectiveReport.h"
#include "OutputCheck.h"
#include "PictureFile.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelFormatCount.h"
#include "gigapixelJoinNames.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace gigapixel::application
{
namespace
{

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr double PictureScale = 2; // pixels for each unit of the SVG

/** Only the rows that --split asks for, and a warning where the others were trained on. */
void
TakeSplit(PredictionTable & table, const ArgumentValues & values, const Session & session)
{
  std::vector<Prediction> & cases = table.cases;
  const std::string &       cohort = values.GetText("cohort");
  if (const std::string split = values.GetText("split"); split != "all")
  {
    for (const Prediction & prediction : cases)
    {
      if (prediction.split != "train" && prediction.split != "validation" && prediction.split != "test")
      {
        throw Refusal(Diagnostic("E-COHORT-FORMAT",
                                 "the split \"" + prediction.split + "\" of " + prediction.name +
                                   " is none of train, validation, test",
                                 "write one of them there")
                        .OfFile(cohort)
                        .OfValue(prediction.split));
      }
    }
    const auto isOther = [&](const Prediction & prediction) { return prediction.split != split; };
    cases.erase(std::remove_if(cases.begin(), cases.end(), isOther), cases.end());
    if (cases.empty())
    {
      throw Refusal(Diagnostic("E-PREDICTIONS-FORMAT",
                               table.file + " has no prediction of a slide with the split " + split + " in " + cohort)
                      .OfFile(table.file)
                      .OfOption("--split", split));
    }
  }
  const auto trained = std::count_if(
    cases.begin(), cases.end(), [](const Prediction & prediction) { return prediction.split == "train"; });
  if (trained > 0 && !table.hasFolds)
  {
    session.Warn(Diagnostic("W-COHORT",
                            std::to_string(trained) + " of " + FormatCount(cases.size(), "slide") +
                              (trained == 1 ? " has" : " have") + " the split train in " + cohort +
                              ": a network that was trained on " + (trained == 1 ? "it" : "them") +
                              " is judged too well",
                            "use --split test for the others")
                   .OfFile(cohort));
  }
}

PredictionTable
ReadTable(const ArgumentValues & values, const Session & session)
{
  PredictionTable table = PredictionTable::Load(values.GetText("PREDICTION"));
  if (const std::string & cohort = values.GetText("cohort"); !cohort.empty())
  {
    table.TakeCohort(cohort);
  }
  if (!table.knowsLabels)
  {
    throw Refusal(Diagnostic("E-PREDICTIONS-FORMAT",
                             "line 1: there is no truth",
                             "give the table of the slides' labels (--cohort), or add \"" +
                               JoinNames(table.GetObjective().GetColumns(), "\" and \"") + "\" here")
                    .OfFile(table.file));
  }
  TakeSplit(table, values, session);
  return values.GetText("case") == "patient" ? table.GetPatients() : table;
}

using NamedDrawings = std::vector<std::pair<std::string, Drawing>>;

/** All files are checked before any of them is written, which makes their folder, and whole before any takes its name.
 */
void
WritePictures(const std::string & folder, const NamedDrawings & pictures, bool overwrite)
{
  MakeFolderWithFirstOutput(folder);
  const auto getFile = [&](const std::string & name, const char * ending) {
    return (fs::path(folder) / (name + ending)).string();
  };
  for (const auto & picture : pictures)
  {
    for (const char * ending : { ".svg", ".png" })
    {
      RefuseExisting(getFile(picture.first, ending), overwrite);
      CheckOutput(getFile(picture.first, ending), 0);
    }
  }
  std::deque<AtomicFile> files;
  for (const auto & picture : pictures)
  {
    files.emplace_back(getFile(picture.first, ".svg"), overwrite).Append(picture.second.ToSVG());
    AppendPNG(picture.second.Rasterize(PictureScale), files.emplace_back(getFile(picture.first, ".png"), overwrite));
  }
  for (AtomicFile & file : files)
  {
    file.Commit();
  }
}

/** Refuses options that are of other kinds of predictions. */
void
CheckOptions(const ObjectiveReport & report, const PredictionTable & table, const ArgumentValues & values)
{
  for (const std::string option : { "positive-class", "bins" })
  {
    if (values.IsGiven(option) && std::count(report.takes.begin(), report.takes.end(), option) == 0)
    {
      throw UsageError(Diagnostic("E-OPTION-APPLIES",
                                  "--" + option + " is of other predictions than of " + table.objective->name +
                                    ", which " + table.file + " has")
                         .OfFile(table.file)
                         .OfOption("--" + option));
    }
  }
}

/** \param begin of each warning */
void
Tell(const std::vector<Diagnostic> & warnings,
     const std::string &             begin,
     const PredictionTable &         table,
     const Session &                 session)
{
  for (Diagnostic warning : warnings)
  {
    warning.why = begin + warning.why;
    session.Warn(warning.OfFile(table.file));
  }
}

} // namespace

int
RunEvaluatePredictions(const ArgumentValues & values, const Session & session)
{
  if (values.GetText("split") != "all" && !values.Has("cohort"))
  {
    throw UsageError(Diagnostic("E-OPTION-NEEDS", "--split is of --cohort, which is not given")
                       .OfOption("--split", values.GetText("split")));
  }
  const PredictionTable table = ReadTable(values, session);
  const ReportOptions   options{ values.GetText("positive-class"), static_cast<int>(values.GetInteger("bins")) };
  const ObjectiveReport report = ReportObjective(table, options);
  CheckOptions(report, table, values);
  Tell(report.warnings, "", table, session);
  if (const std::string & folder = values.GetText("pictures"); !folder.empty())
  {
    WritePictures(folder, report.pictures, values.Has("overwrite"));
  }
  Json json{ { "predictions", table.file }, { "objective", table.objective->name } };
  json["by"] = values.GetText("case");
  json["cases"] = table.cases.size();
  json.update(report.json);
  const Json folds = DescribeFolds(table, [&](const PredictionTable & part) {
    const ObjectiveReport ofPart = ReportObjective(part, { options.positive, options.bins, true });
    Tell(ofPart.warnings, "fold " + std::to_string(part.cases.front().fold) + ": ", table, session);
    return ofPart.ofFold;
  });
  json.update(folds.is_null() ? Json::object() : folds);
  session.ShowResult(Pad(table.arePatients ? "patients" : "slides", 20) + json.at("cases").dump() + '\n' + report.text +
                       FormatFolds(folds),
                     json);
  return Success;
}

} // namespace gigapixel::application

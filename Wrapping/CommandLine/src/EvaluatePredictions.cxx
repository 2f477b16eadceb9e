/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "EvaluatePredictions.h"

#include "ClassificationFigures.h"
#include "FoldFigures.h"
#include "ObjectiveReport.h"
#include "OutputCheck.h"
#include "PictureFile.h"

#include "gigapixelAtomicFile.h"
#include "gigapixelFormatCount.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace gigapixel::commandline
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
                        .OfFile(values.GetText("cohort"))
                        .OfValue(prediction.split));
      }
    }
    const auto isOther = [&](const Prediction & prediction) { return prediction.split != split; };
    cases.erase(std::remove_if(cases.begin(), cases.end(), isOther), cases.end());
    if (cases.empty())
    {
      throw Refusal(Diagnostic("E-PREDICTIONS-FORMAT",
                               table.file + " has no prediction of a slide with the split " + split + " in " +
                                 values.GetText("cohort"))
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
                              (trained == 1 ? " has" : " have") + " the split train in " + values.GetText("cohort") +
                              ": a network that was trained on " + (trained == 1 ? "it" : "them") +
                              " is judged too well",
                            "use --split test for the others")
                   .OfFile(values.GetText("cohort")));
  }
}

PredictionTable
ReadTable(const ArgumentValues & values, const Session & session)
{
  PredictionTable table = PredictionTable::Load(values.GetText("PREDICTION"));
  if (values.Has("cohort"))
  {
    table.TakeCohort(values.GetText("cohort"));
  }
  if (!table.knowsLabels)
  {
    const ObjectiveKind & kind = table.GetObjective().GetKind();
    throw Refusal(Diagnostic("E-PREDICTIONS-FORMAT",
                             "line 1: there is no truth",
                             "give the table of the slides' labels (--cohort), or a column \"" +
                               std::string(kind.column) + (kind.HasNames() ? table.classes.front() : std::string()) +
                               "\" here")
                    .OfFile(table.file));
  }
  TakeSplit(table, values, session);
  return values.GetText("by") == "patient" ? table.GetPatients() : table;
}

Json
Describe(const ClassFigures & figures, const ConfusionMatrix & confusion, int c)
{
  Json json{ { "class", figures.name } };
  json["cases"] = confusion.GetActual(c);
  json["predicted"] = confusion.GetPredicted(c);
  json["sensitivity"] = ToFigure(confusion.GetSensitivity(c));
  json["specificity"] = ToFigure(confusion.GetSpecificity(c));
  json["precision"] = ToFigure(confusion.GetPrecision(c));
  json["f1"] = ToFigure(confusion.GetF1(c));
  json["rocAUC"] = figures.area ? ToFigure(figures.area->area) : Json();
  json["rocAUCLower"] = figures.area ? ToFigure(figures.area->lower) : Json();
  json["rocAUCUpper"] = figures.area ? ToFigure(figures.area->upper) : Json();
  json["prAUC"] = figures.area ? ToFigure(figures.averagePrecision) : Json();
  return json;
}

} // namespace

nlohmann::ordered_json
DescribeClassification(const PredictionTable & table, const ClassificationFigures & figures)
{
  const ConfusionMatrix & confusion = figures.confusion;
  const int               number = confusion.GetNumberOfClasses();
  Json                    json{ { "predictions", table.file } };
  json["by"] = table.arePatients ? "patient" : "slide";
  json["cases"] = table.cases.size();
  json["classes"] = table.classes;
  json["positive"] = figures.positive < 0 ? Json() : Json(table.classes[static_cast<std::size_t>(figures.positive)]);
  json["rocAUC"] = figures.GetArea();
  if (figures.positive >= 0)
  {
    const AreaUnderROC & area = *figures.classes[static_cast<std::size_t>(figures.positive)].area;
    json["rocAUCLower"] = ToFigure(area.lower);
    json["rocAUCUpper"] = ToFigure(area.upper);
    json["rocAUCStandardError"] = ToFigure(area.standardError);
  }
  json["prAUC"] = figures.GetAveragePrecision();
  json["accuracy"] = confusion.GetAccuracy();
  json["balancedAccuracy"] = confusion.GetBalancedAccuracy();
  json["expectedCalibrationError"] = figures.calibrationError;
  json["confusion"] = Json::array();
  json["perClass"] = Json::array();
  for (int truth = 0; truth < number; ++truth)
  {
    Json row = Json::array();
    for (int predicted = 0; predicted < number; ++predicted)
    {
      row.push_back(confusion.GetCount(truth, predicted));
    }
    json["confusion"].push_back(std::move(row));
    json["perClass"].push_back(Describe(figures.classes[static_cast<std::size_t>(truth)], confusion, truth));
  }
  json["reliability"] = Json::array();
  for (const CalibrationBin & bin : figures.reliability)
  {
    json["reliability"].push_back({ { "above", bin.lower },
                                    { "upTo", bin.upper },
                                    { "cases", bin.cases },
                                    { "meanProbability", ToFigure(bin.meanProbability) },
                                    { "share", ToFigure(bin.share) } });
  }
  return json;
}

nlohmann::ordered_json
DescribeFold(const ClassificationFigures & figures)
{
  return { { "rocAUC", ToFigure(figures.GetArea()) },
           { "prAUC", ToFigure(figures.GetAveragePrecision()) },
           { "balancedAccuracy", figures.confusion.GetBalancedAccuracy() },
           { "accuracy", figures.confusion.GetAccuracy() } };
}

namespace
{
std::string
FormatInterval(const Json & json)
{
  return json.value("rocAUCLower", Json()).is_number()
           ? FormatFigure(json.at("rocAUCLower")) + " to " + FormatFigure(json.at("rocAUCUpper"))
           : "-";
}

std::string
Format(const Json & json)
{
  const std::string cases = json.at("by") == "patient" ? "patients" : "slides";
  const bool        hasPositive = json.at("positive").is_string();
  std::string       text;
  const auto add = [&](const std::string & name, const std::string & value) { text += Pad(name, 20) + value + '\n'; };
  add(cases, json.at("cases").dump() + (hasPositive ? ", positive: " + json.at("positive").get<std::string>() : ""));
  add("ROC-AUC",
      FormatFigure(json.at("rocAUC")) +
        (hasPositive ? " (95 %: " + FormatInterval(json) + ")" : ", mean of the classes against the rest"));
  add("PR-AUC", FormatFigure(json.at("prAUC")) + (hasPositive ? "" : ", likewise"));
  add("balanced accuracy", FormatFigure(json.at("balancedAccuracy")));
  add("accuracy", FormatFigure(json.at("accuracy")));
  add("calibration error", FormatFigure(json.at("expectedCalibrationError")));
  std::size_t name = 8;
  for (const Json & ofClass : json.at("perClass"))
  {
    name = std::max(name, ofClass.at("class").get<std::string>().size() + 2);
  }
  text += '\n' + Pad("class", name) +
          "cases  sensitivity  specificity  precision  F1      ROC-AUC (95 %)              PR-AUC\n";
  for (const Json & ofClass : json.at("perClass"))
  {
    text += Pad(ofClass.at("class"), name) + Pad(ofClass.at("cases").dump(), 7) +
            Pad(FormatFigure(ofClass.at("sensitivity")), 13) + Pad(FormatFigure(ofClass.at("specificity")), 13) +
            Pad(FormatFigure(ofClass.at("precision")), 11) + Pad(FormatFigure(ofClass.at("f1")), 8) +
            Pad(FormatFigure(ofClass.at("rocAUC")) + " (" + FormatInterval(ofClass) + ")", 28) +
            FormatFigure(ofClass.at("prAUC")) + '\n';
  }
  text += '\n' + Pad("true", name) + "taken for\n";
  for (std::size_t c = 0; c < json.at("classes").size(); ++c)
  {
    text += Pad(json.at("classes")[c], name);
    for (std::size_t other = 0; other < json.at("classes").size(); ++other)
    {
      text += json.at("confusion")[c][other].dump() + ' ' + json.at("classes")[other].get<std::string>() +
              (other + 1 < json.at("classes").size() ? ", " : "\n");
    }
  }
  text.pop_back();
  return text;
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

/** Figures that look better than they are. */
void
WarnOfLittle(const ClassificationFigures & figures, const Session & session)
{
  for (const ClassFigures & ofClass : figures.classes)
  {
    if (!ofClass.area)
    {
      session.Warn(
        Diagnostic("W-COHORT",
                   "no case is of the class " + ofClass.name + ": its figures, and its part in the means, are left out")
          .OfValue(ofClass.name));
    }
    else if (ofClass.area->standardError == 0 &&
             (figures.positive < 0 || &ofClass == &figures.classes[static_cast<std::size_t>(figures.positive)]))
    {
      session.Warn(Diagnostic("W-COHORT",
                              "the ROC-AUC of " + ofClass.name + " is " + FormatFigure(ofClass.area->area) +
                                ": DeLong's interval has no width there, which does not make it certain")
                     .OfValue(ofClass.name));
    }
  }
}

ObjectiveReport
Report(const PredictionTable & table, const ArgumentValues & values)
{
  const bool areFindings = table.objective == Objective::Kind::Findings;
  if (values.Has("positive") || (values.IsGiven("bins") && !areFindings))
  {
    const std::string option = values.Has("positive") ? "--positive" : "--bins";
    throw UsageError(Diagnostic("E-OPTION-APPLIES",
                                option + " is of other predictions than of " + table.GetObjective().GetKind().name +
                                  ", which " + table.file + " has")
                       .OfFile(table.file)
                       .OfOption(option));
  }
  return ReportObjective(table, static_cast<int>(values.GetInteger("bins")));
}

} // namespace

ObjectiveReport
ReportObjective(const PredictionTable & table, int bins)
{
  return table.objective == Objective::Kind::Findings ? ReportFindings(table, bins)
         : table.objective == Objective::Kind::Grades ? ReportGrades(table)
                                                      : ReportValues(table);
}

namespace
{
/** Numbers of a report: those of the whole, and of values, which have no whole, each one's. */
Json
GetFigures(const Json & report)
{
  Json figures;
  for (const auto & item : report.items())
  {
    if (item.value().is_number())
    {
      figures[item.key()] = item.value();
    }
  }
  for (const Json & value : report.value("perValue", Json::array()))
  {
    for (const char * name : { "meanAbsoluteError", "pearson" })
    {
      figures[name + (" of " + value.at("value").get<std::string>())] = value.at(name);
    }
  }
  return figures;
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
  const auto            writePictures = [&](const NamedDrawings & pictures) {
    if (values.Has("pictures"))
    {
      WritePictures(values.GetText("pictures"), pictures, values.Has("overwrite"));
    }
  };
  if (table.objective != Objective::Kind::Classes)
  {
    const ObjectiveReport report = Report(table, values);
    for (const std::string & warning : report.warnings)
    {
      session.Warn(Diagnostic("W-COHORT", warning).OfFile(table.file));
    }
    writePictures(report.pictures);
    Json json{ { "predictions", table.file }, { "objective", table.GetObjective().GetKind().name } };
    json["by"] = values.GetText("by");
    json["cases"] = table.cases.size();
    json.update(report.json);
    const Json folds =
      DescribeFolds(table, [&](const PredictionTable & part) { return GetFigures(Report(part, values).json); });
    json.update(folds.is_null() ? Json::object() : folds);
    const std::string cases = values.GetText("by") == "patient" ? "patients" : "slides";
    session.PrintResult(Pad(cases, 20) + std::to_string(table.cases.size()) + '\n' + report.text + FormatFolds(folds),
                        json.dump(2, ' ', false, Json::error_handler_t::replace));
    return Success;
  }
  const auto make = [&](const PredictionTable & part) {
    return ClassificationFigures::Make(
      part, values.Has("positive") ? values.GetText("positive") : "", static_cast<int>(values.GetInteger("bins")));
  };
  const auto figures = make(table);
  if (!figures.KnowsArea())
  {
    throw Refusal(Diagnostic("E-PREDICTIONS-FORMAT",
                             "of " + FormatCount(table.cases.size(), "case") + " none is of another class than " +
                               table.cases.front().label + ": how well they are told from others cannot be known")
                    .OfFile(table.file)
                    .OfValue(table.cases.front().label));
  }
  WarnOfLittle(figures, session);
  writePictures({ { "roc", DrawROC(figures) },
                  { "confusion", DrawConfusion(figures) },
                  { "reliability", DrawReliability(figures) } });
  Json       json = DescribeClassification(table, figures);
  const Json folds = DescribeFolds(table, [&](const PredictionTable & part) {
    const ClassificationFigures ofPart = make(part);
    if (!ofPart.KnowsArea())
    {
      session.Warn(Diagnostic("W-COHORT",
                              "fold " + std::to_string(part.cases.front().fold) + " has cases of the class " +
                                part.cases.front().label + " alone: there is no ROC-AUC and no PR-AUC of it")
                     .OfFile(table.file));
    }
    return DescribeFold(ofPart);
  });
  json.update(folds.is_null() ? Json::object() : folds);
  session.PrintResult(Format(json) + FormatFolds(folds), json.dump(2, ' ', false, Json::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline

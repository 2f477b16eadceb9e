/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ObjectiveReport.h"

#include "gigapixelArgumentValues.h"
#include "gigapixelFormatCount.h"
#include "gigapixelJoinNames.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace gigapixel::application
{
namespace
{

using Json = nlohmann::ordered_json;

/** The number of each case's class. */
std::vector<int>
FindTruths(const PredictionTable & table)
{
  std::vector<int> truths;
  truths.reserve(table.cases.size());
  for (const Prediction & prediction : table.cases)
  {
    const auto found = std::find(table.classes.begin(), table.classes.end(), prediction.label);
    if (found == table.classes.end())
    {
      RefuseRow(table.file,
                prediction.line,
                Diagnostic("E-PREDICTIONS-FORMAT",
                           prediction.name + " has the label " + prediction.label + ", which is none of the classes (" +
                             JoinNames(table.classes) + ")")
                  .OfValue(prediction.label));
    }
    truths.push_back(static_cast<int>(found - table.classes.begin()));
  }
  return truths;
}

/** \param name of the class that is looked for, of two; empty: the last \return -1: there are more than two */
int
FindPositive(const PredictionTable & table, const std::string & name)
{
  const char * const option = "--positive-class";
  if (table.classes.size() > 2)
  {
    if (!name.empty())
    {
      throw UsageError(Diagnostic("E-OPTION-APPLIES",
                                  std::string(option) + " is of two classes, and there are " +
                                    std::to_string(table.classes.size()) + " (" + JoinNames(table.classes) +
                                    "), each of which is set against the rest")
                         .OfOption(option, name));
    }
    return -1;
  }
  const auto found = std::find(table.classes.begin(), table.classes.end(), name);
  if (!name.empty() && found == table.classes.end())
  {
    throw UsageError(
      Diagnostic("E-OPTION-VALUE",
                 std::string(option) + ' ' + name + " is none of the classes (" + JoinNames(table.classes) + ')')
        .OfOption(option, name));
  }
  return name.empty() ? 1 : static_cast<int>(found - table.classes.begin());
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

Json
Describe(const PredictionTable & table, const ClassificationFigures & figures)
{
  const ConfusionMatrix & confusion = figures.confusion;
  const int               number = confusion.GetNumberOfClasses();
  Json                    json{ { "classes", table.classes } };
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

Json
DescribeFold(const ClassificationFigures & figures)
{
  return { { "rocAUC", ToFigure(figures.GetArea()) },
           { "prAUC", ToFigure(figures.GetAveragePrecision()) },
           { "balancedAccuracy", figures.confusion.GetBalancedAccuracy() },
           { "accuracy", figures.confusion.GetAccuracy() } };
}

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
  const bool  hasPositive = json.at("positive").is_string();
  std::string text;
  const auto  add = [&](const std::string & name, const std::string & value) { text += Pad(name, 20) + value + '\n'; };
  hasPositive ? add("positive", json.at("positive").get<std::string>()) : void();
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

/** Figures that look better than they are. */
std::vector<Diagnostic>
WarnOfLittle(const ClassificationFigures & figures)
{
  std::vector<Diagnostic> warnings;
  for (const ClassFigures & ofClass : figures.classes)
  {
    if (!ofClass.area)
    {
      warnings.push_back(
        Diagnostic("W-COHORT",
                   "no case is of the class " + ofClass.name + ": its figures, and its part in the means, are left out")
          .OfValue(ofClass.name));
    }
    else if (ofClass.area->standardError == 0 &&
             (figures.positive < 0 || &ofClass == &figures.classes[static_cast<std::size_t>(figures.positive)]))
    {
      warnings.push_back(Diagnostic("W-COHORT",
                                    "the ROC-AUC of " + ofClass.name + " is " + FormatFigure(ofClass.area->area) +
                                      ": DeLong's interval has no width there, which does not make it certain")
                           .OfValue(ofClass.name));
    }
  }
  return warnings;
}

} // namespace

ObjectiveReport
ReportClasses(const PredictionTable & table, const ReportOptions & options)
{
  const std::vector<int>           truths = FindTruths(table);
  std::vector<std::vector<double>> probabilities;
  probabilities.reserve(table.cases.size());
  for (const Prediction & prediction : table.cases)
  {
    probabilities.push_back(prediction.probabilities);
  }
  const auto figures = ClassificationFigures::Make(
    table.classes, truths, probabilities, FindPositive(table, options.positive), options.bins);
  const auto only =
    "of " + FormatCount(table.cases.size(), "case") + " none is of another class than " + table.cases.front().label;
  if (!figures.KnowsArea() && !options.isFold)
  {
    throw Refusal(Diagnostic("E-PREDICTIONS-FORMAT", only + ": how well they are told from others cannot be known")
                    .OfFile(table.file)
                    .OfValue(table.cases.front().label));
  }
  ObjectiveReport report;
  report.takes = { "positive-class", "bins" };
  report.ofFold = DescribeFold(figures);
  if (options.isFold)
  {
    if (!figures.KnowsArea())
    {
      report.warnings.emplace_back("W-COHORT", only + ": there is no ROC-AUC and no PR-AUC of it");
    }
    return report;
  }
  report.warnings = WarnOfLittle(figures);
  report.json = Describe(table, figures);
  report.text = Format(report.json);
  report.pictures = { { "roc", DrawROC(figures) },
                      { "confusion", DrawConfusion(figures) },
                      { "reliability", DrawReliability(figures) } };
  for (const ClassFigures & ofClass : figures.classes)
  {
    Json points = Json::array();
    for (const OperatingPoint & point : ofClass.points)
    {
      points.push_back({ point.falsePositiveRate, point.truePositiveRate });
    }
    report.curves.push_back(std::move(points));
  }
  return report;
}

} // namespace gigapixel::application

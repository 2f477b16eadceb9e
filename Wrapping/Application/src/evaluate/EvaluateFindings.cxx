/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ObjectiveReport.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace gigapixel::application
{
namespace
{

using Json = nlohmann::ordered_json;

/** The cases in which it is known. */
struct Finding
{
  std::vector<double> probabilities{};
  std::vector<bool>   isThere{};
};

Finding
Gather(const PredictionTable & table, std::size_t number)
{
  Finding finding;
  for (const Prediction & prediction : table.cases)
  {
    const double truth = prediction.truth[number];
    if (!std::isnan(truth))
    {
      finding.probabilities.push_back(prediction.probabilities[number]);
      finding.isThere.push_back(truth == 1);
    }
  }
  return finding;
}

Json
Judge(const Finding & finding, const ClassFigures & figures, int bins)
{
  ConfusionMatrix confusion(2);
  for (std::size_t i = 0; i < finding.isThere.size(); ++i)
  {
    confusion.Add(finding.isThere[i] ? 1 : 0, finding.probabilities[i] >= 0.5 ? 1 : 0);
  }
  Json json{ { "finding", figures.name } };
  json["cases"] = confusion.GetTotal();
  json["positive"] = confusion.GetActual(1);
  json["rocAUC"] = figures.area ? ToFigure(figures.area->area) : Json();
  json["rocAUCLower"] = figures.area ? ToFigure(figures.area->lower) : Json();
  json["rocAUCUpper"] = figures.area ? ToFigure(figures.area->upper) : Json();
  json["prAUC"] = figures.area ? ToFigure(figures.averagePrecision) : Json();
  json["sensitivity"] = ToFigure(confusion.GetSensitivity(1));
  json["specificity"] = ToFigure(confusion.GetSpecificity(1));
  const auto reliability = GetReliability(finding.probabilities, finding.isThere, bins);
  json["expectedCalibrationError"] = ToFigure(finding.isThere.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                                      : GetExpectedCalibrationError(reliability));
  return json;
}

/** Over the findings that have the figure. */
Json
GetMean(const Json & perFinding, const char * figure)
{
  double sum = 0, number = 0;
  for (const Json & finding : perFinding)
  {
    sum += finding.at(figure).is_number() ? finding.at(figure).get<double>() : 0;
    number += finding.at(figure).is_number() ? 1 : 0;
  }
  return number > 0 ? Json(sum / number) : Json();
}

std::string
Format(const Json & json, const std::vector<std::string> & names)
{
  const std::size_t width = GetWidth(names, "finding");
  std::string       text =
    "ROC-AUC             " + FormatFigure(json.at("rocAUC")) + ", mean of the findings\n" + "PR-AUC              " +
    FormatFigure(json.at("prAUC")) + ", likewise\n\n" + Pad("finding", width) +
    "cases  with it  ROC-AUC (95 %)              PR-AUC  sensitivity  specificity  calibration error\n";
  for (const Json & finding : json.at("perFinding"))
  {
    const std::string interval =
      finding.at("rocAUCLower").is_number()
        ? FormatFigure(finding.at("rocAUCLower")) + " to " + FormatFigure(finding.at("rocAUCUpper"))
        : "-";
    text +=
      Pad(finding.at("finding").get<std::string>(), width) + Pad(finding.at("cases").dump(), 7) +
      Pad(finding.at("positive").dump(), 9) + Pad(FormatFigure(finding.at("rocAUC")) + " (" + interval + ")", 28) +
      Pad(FormatFigure(finding.at("prAUC")), 8) + Pad(FormatFigure(finding.at("sensitivity")), 13) +
      Pad(FormatFigure(finding.at("specificity")), 13) + FormatFigure(finding.at("expectedCalibrationError")) + '\n';
  }
  text.pop_back();
  return text;
}

} // namespace

ObjectiveReport
ReportFindings(const PredictionTable & table, const ReportOptions & options)
{
  ObjectiveReport       report;
  ClassificationFigures figures{ {}, -1, ConfusionMatrix(2), {} };
  Json                  perFinding = Json::array();
  for (std::size_t k = 0; k < table.classes.size(); ++k)
  {
    const Finding finding = Gather(table, k);
    figures.classes.push_back(ClassFigures::Make(table.classes[k], finding.probabilities, finding.isThere));
    const ClassFigures & ofFinding = figures.classes.back();
    perFinding.push_back(Judge(finding, ofFinding, options.bins));
    if (!ofFinding.area)
    {
      report.warnings.emplace_back("W-COHORT",
                                   "of the finding " + table.classes[k] +
                                     " not both answers are there: its areas, and its part in the means, are left out");
    }
    else if (ofFinding.area->standardError == 0)
    {
      report.warnings.emplace_back("W-COHORT",
                                   "the ROC-AUC of " + table.classes[k] + " is " + FormatFigure(ofFinding.area->area) +
                                     ": DeLong's interval has no width there, which does not make it certain");
    }
  }
  report.json["rocAUC"] = GetMean(perFinding, "rocAUC");
  report.json["prAUC"] = GetMean(perFinding, "prAUC");
  report.json["perFinding"] = std::move(perFinding);
  if (report.json["rocAUC"].is_null())
  {
    throw Refusal(Diagnostic("E-PREDICTIONS-FORMAT",
                             "of no finding there are cases with it and cases without it: how well they are told apart "
                             "cannot be known")
                    .OfFile(table.file));
  }
  report.takes = { "bins" };
  report.ofFold = GetNumbers(report.json);
  report.text = Format(report.json, table.classes);
  report.pictures.emplace_back("roc", DrawROC(figures));
  return report;
}

} // namespace gigapixel::application

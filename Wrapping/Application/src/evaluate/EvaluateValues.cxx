/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ObjectiveReport.h"

#include "gigapixelRegressionFigures.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>

namespace gigapixel::application
{
namespace
{

using Json = nlohmann::ordered_json;

std::string
Format(const Json & json, const std::vector<std::string> & names)
{
  const std::size_t width = GetWidth(names, "value");
  std::string       text = Pad("value", width) + "cases  RMSE        mean |err|  R2        Pearson   Spearman\n";
  for (const Json & value : json.at("perValue"))
  {
    text += Pad(value.at("value").get<std::string>(), width) + Pad(value.at("cases").dump(), 7) +
            Pad(FormatFigure(value.at("rootMeanSquaredError")), 12) +
            Pad(FormatFigure(value.at("meanAbsoluteError")), 12) + Pad(FormatFigure(value.at("determination")), 10) +
            Pad(FormatFigure(value.at("pearson")), 10) + FormatFigure(value.at("spearman")) + '\n';
  }
  text.pop_back();
  return text;
}

} // namespace

ObjectiveReport
ReportValues(const PredictionTable & table, const ReportOptions &)
{
  ObjectiveReport report;
  report.json["perValue"] = Json::array();
  for (std::size_t k = 0; k < table.classes.size(); ++k)
  {
    std::vector<double> truths, predictions;
    for (const Prediction & prediction : table.cases)
    {
      if (!std::isnan(prediction.truth[k]))
      {
        truths.push_back(prediction.truth[k]);
        predictions.push_back(prediction.probabilities[k]);
      }
    }
    if (truths.empty())
    {
      report.warnings.emplace_back("W-COHORT",
                                   "of no case the value of " + table.classes[k] + " is known: it is left out");
      continue;
    }
    const RegressionFigures figures = RegressionFigures::Make(truths, predictions);
    Json                    json{ { "value", table.classes[k] }, { "cases", truths.size() } };
    json["rootMeanSquaredError"] = figures.rootMeanSquaredError;
    json["meanAbsoluteError"] = figures.meanAbsoluteError;
    json["determination"] = ToFigure(figures.determination);
    json["pearson"] = ToFigure(figures.pearson);
    json["spearman"] = ToFigure(figures.spearman);
    for (const char * figure : { "meanAbsoluteError", "pearson" })
    {
      report.ofFold[figure + (" of " + table.classes[k])] = json.at(figure);
    }
    report.json["perValue"].push_back(std::move(json));
    report.pictures.emplace_back("scatter-" + std::to_string(k + 1),
                                 DrawScatter(table.classes[k], truths, predictions));
  }
  if (report.json["perValue"].empty())
  {
    throw Refusal(Diagnostic("E-PREDICTIONS-FORMAT", "of no case a value is known").OfFile(table.file));
  }
  report.text = Format(report.json, table.classes);
  return report;
}

} // namespace gigapixel::application

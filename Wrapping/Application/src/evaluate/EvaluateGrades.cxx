/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ObjectiveReport.h"

#include "gigapixelTableReader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
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
  const auto  add = [](const std::string & name, const std::string & value) { return Pad(name, 20) + value + '\n'; };
  std::string text = add("quadratic kappa", FormatFigure(json.at("quadraticKappa")));
  text += add("mean absolute error", FormatFigure(json.at("meanAbsoluteError")) + " grades");
  text += add("accuracy", FormatFigure(json.at("accuracy")));
  text += add("balanced accuracy", FormatFigure(json.at("balancedAccuracy")));
  text += "\ntrue     taken for\n";
  for (std::size_t grade = 0; grade < names.size(); ++grade)
  {
    text += Pad(names[grade], 9);
    for (std::size_t other = 0; other < names.size(); ++other)
    {
      text +=
        json.at("confusion")[grade][other].dump() + " as " + names[other] + (other + 1 < names.size() ? ", " : "\n");
    }
  }
  text.pop_back();
  return text;
}

} // namespace

ObjectiveReport
ReportGrades(const PredictionTable & table, const ReportOptions &)
{
  const int             number = static_cast<int>(table.classes.size());
  ClassificationFigures figures{ {}, -1, ConfusionMatrix(number), {} };
  double                errors = 0, cases = 0;
  for (const std::string & name : table.classes)
  {
    figures.classes.push_back({ name });
  }
  for (const Prediction & prediction : table.cases)
  {
    const double truth = prediction.truth.front();
    if (std::isnan(truth))
    {
      continue;
    }
    const auto name = std::find(table.classes.begin(), table.classes.end(), FormatTruth(truth));
    if (name == table.classes.end())
    {
      RefuseRow(
        table.file,
        prediction.line,
        Diagnostic("E-PREDICTIONS-FORMAT",
                   prediction.name + " has the grade " + FormatTruth(truth) + ", which is none of the predicted ones")
          .OfValue(FormatTruth(truth)));
    }
    const std::size_t predicted = GetGrade(prediction.probabilities);
    figures.confusion.Add(static_cast<int>(name - table.classes.begin()), static_cast<int>(predicted));
    errors += std::abs(truth - std::stod(table.classes[predicted]));
    ++cases;
  }
  if (cases == 0)
  {
    throw Refusal(Diagnostic("E-PREDICTIONS-FORMAT", "of no case the grade is known").OfFile(table.file));
  }
  ObjectiveReport report;
  report.json["cases"] = static_cast<std::int64_t>(cases); // those that are judged
  report.json["grades"] = table.classes;
  report.json["quadraticKappa"] = ToFigure(figures.confusion.GetQuadraticKappa());
  report.json["meanAbsoluteError"] = errors / cases;
  report.json["accuracy"] = ToFigure(figures.confusion.GetAccuracy());
  report.json["balancedAccuracy"] = ToFigure(figures.confusion.GetBalancedAccuracy());
  report.json["confusion"] = Json::array();
  for (int truth = 0; truth < number; ++truth)
  {
    Json row = Json::array();
    for (int predicted = 0; predicted < number; ++predicted)
    {
      row.push_back(figures.confusion.GetCount(truth, predicted));
    }
    report.json["confusion"].push_back(std::move(row));
  }
  report.ofFold = GetNumbers(report.json);
  report.ofFold.erase("cases");
  report.text = Format(report.json, table.classes);
  report.pictures.emplace_back("confusion", DrawConfusion(figures));
  return report;
}

} // namespace gigapixel::application

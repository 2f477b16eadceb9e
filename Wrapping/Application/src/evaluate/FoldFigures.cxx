/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ObjectiveReport.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace gigapixel::application
{
namespace
{

using Json = nlohmann::ordered_json;

std::map<int, PredictionTable>
Divide(const PredictionTable & table)
{
  PredictionTable empty = table;
  empty.cases.clear();
  std::map<int, PredictionTable> parts;
  for (const Prediction & prediction : table.cases)
  {
    parts.emplace(prediction.fold, empty).first->second.cases.push_back(prediction);
  }
  return parts;
}

Json
Summarize(const std::vector<double> & values)
{
  const auto number = static_cast<double>(values.size());
  double     mean = 0, squares = 0;
  for (const double value : values)
  {
    mean += value / number;
  }
  for (const double value : values)
  {
    squares += (value - mean) * (value - mean);
  }
  return { { "mean", mean },
           { "standardDeviation", values.size() > 1 ? Json(std::sqrt(squares / (number - 1))) : Json() },
           { "folds", values.size() } };
}

} // namespace

Json
DescribeFolds(const PredictionTable & table, const std::function<Json(const PredictionTable &)> & judge)
{
  Json described;
  if (!table.hasFolds)
  {
    return described;
  }
  std::vector<std::string>                   names; // in their order
  std::map<std::string, std::vector<double>> known;
  for (const auto & [fold, part] : Divide(table))
  {
    Json row{ { "fold", fold }, { "cases", part.cases.size() } };
    try
    {
      const Json figures = judge(part);
      for (const auto & figure : figures.items())
      {
        row[figure.key()] = figure.value();
        if (figure.value().is_number())
        {
          std::vector<double> & values = known[figure.key()];
          values.push_back(figure.value().get<double>());
          if (std::find(names.begin(), names.end(), figure.key()) == names.end())
          {
            names.push_back(figure.key());
          }
        }
      }
    }
    catch (const std::runtime_error &)
    {
      // The fold alone cannot be judged, which its missing figures tell.
    }
    described["perFold"].push_back(std::move(row));
  }
  for (const std::string & name : names)
  {
    described["overFolds"][name] = Summarize(known.at(name));
  }
  return described;
}

std::string
FormatFolds(const Json & folds)
{
  std::string text;
  if (!folds.contains("overFolds"))
  {
    return text;
  }
  const Json &             figures = folds.at("overFolds");
  std::vector<std::string> names;
  for (const auto & figure : figures.items())
  {
    names.push_back(figure.key());
  }
  const std::size_t width = GetWidth(names, "over folds");
  text += "\n\n" + Pad("over folds", width) + "mean \u00b1 SD          each\n";
  for (const auto & figure : figures.items())
  {
    std::string each;
    for (const Json & row : folds.at("perFold"))
    {
      each += (each.empty() ? "" : ", ") + FormatFigure(row.value(figure.key(), Json()));
    }
    text += Pad(figure.key(), width) + FormatFigure(figure.value().at("mean")) + " \u00b1 " +
            Pad(FormatFigure(figure.value().at("standardDeviation")), 11) + each + '\n';
  }
  text.pop_back();
  return text;
}

} // namespace gigapixel::application

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportFigures.h"

#include "EvaluatePredictions.h"

namespace gigapixel::commandline
{

nlohmann::ordered_json
DescribePredictions(const std::string & file)
{
  using Json = nlohmann::ordered_json;
  const PredictionTable table = PredictionTable::Load(file);
  if (!table.knowsLabels)
  {
    return {};
  }
  if (table.objective != Objective::Kind::Classes)
  {
    Json json{ { "objective", table.GetObjective().GetKind().name }, { "cases", table.cases.size() } };
    json.update(ReportObjective(table).json);
    return json;
  }
  constexpr int bins = 10;
  const auto    make = [](const PredictionTable & part) { return ClassificationFigures::Make(part, "", bins); };
  const auto    figures = make(table);
  if (!figures.KnowsArea())
  {
    throw Refusal(
      Diagnostic("E-PREDICTIONS-FORMAT", "all cases are of the class " + table.cases.front().label).OfFile(file));
  }
  Json json = DescribeClassification(table, figures);
  for (std::size_t c = 0; c < figures.classes.size(); ++c)
  {
    Json & points = json["perClass"][c]["roc"] = Json::array();
    for (const OperatingPoint & point : figures.classes[c].points)
    {
      points.push_back({ point.falsePositiveRate, point.truePositiveRate });
    }
  }
  const Json folds = DescribeFolds(table, [&](const PredictionTable & part) { return DescribeFold(make(part)); });
  json.update(folds.is_null() ? Json::object() : folds);
  return json;
}

} // namespace gigapixel::commandline

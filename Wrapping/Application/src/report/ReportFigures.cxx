/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportFigures.h"

#include "ObjectiveReport.h"

#include <nlohmann/json.hpp>

namespace gigapixel::application
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
  const ObjectiveReport report = ReportObjective(table, {});
  Json                  json{ { "objective", table.objective->name }, { "cases", table.cases.size() } };
  json.update(report.json);
  for (std::size_t c = 0; c < report.curves.size(); ++c)
  {
    json["perClass"][c]["roc"] = report.curves[c];
  }
  const Json folds = DescribeFolds(table, [](const PredictionTable & part) {
    return ReportObjective(part, { {}, ReportOptions().bins, true }).ofFold;
  });
  json.update(folds.is_null() ? Json::object() : folds);
  return json;
}

} // namespace gigapixel::application

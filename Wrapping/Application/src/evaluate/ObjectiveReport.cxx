/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ObjectiveReport.h"

#include "gigapixelSession.h"

#include <algorithm>
#include <cmath>

namespace gigapixel::application
{

nlohmann::ordered_json
ToFigure(double value)
{
  return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
}

nlohmann::ordered_json
GetNumbers(const nlohmann::ordered_json & report)
{
  nlohmann::ordered_json numbers;
  for (const auto & item : report.items())
  {
    if (item.value().is_number())
    {
      numbers[item.key()] = item.value();
    }
  }
  return numbers;
}

ObjectiveReport
ReportObjective(const PredictionTable & table, const ReportOptions & options)
{
  using Function = ObjectiveReport (*)(const PredictionTable &, const ReportOptions &);
#define GIGAPIXEL_OBJECTIVE_KIND(Name) &Report##Name,
  static constexpr Function all[] = {
#include "gigapixelObjectiveKindList.h"

#include <nlohmann/json.hpp>
  };
  const auto & kinds = ObjectiveKind::GetAll(); // of the same list
  const auto   kind = std::find(kinds.begin(), kinds.end(), table.objective) - kinds.begin();
  return all[kind](table, options);
}

std::string
FormatFigure(const nlohmann::ordered_json & figure)
{
  return figure.is_number() ? FormatNumber(figure.get<double>(), 4) : "-";
}

std::string
Pad(const std::string & text, std::size_t width)
{
  return text + std::string(width > text.size() ? width - text.size() : 1, ' ');
}

std::size_t
GetWidth(const std::vector<std::string> & names, const std::string & title)
{
  std::size_t width = title.size() + 2;
  for (const std::string & name : names)
  {
    width = std::max(width, name.size() + 2);
  }
  return width;
}

} // namespace gigapixel::application

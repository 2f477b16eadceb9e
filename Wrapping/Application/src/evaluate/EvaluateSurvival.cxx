/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Drawing.h"
#include "ObjectiveReport.h"

#include "gigapixelSession.h"
#include "gigapixelSurvivalFigures.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace gigapixel::application
{
namespace
{

using Json = nlohmann::ordered_json;

std::vector<SurvivalCase>
Gather(const PredictionTable & table)
{
  std::vector<SurvivalCase> cases;
  for (const Prediction & prediction : table.cases)
  {
    if (std::none_of(prediction.truth.begin(), prediction.truth.end(), [](double x) { return std::isnan(x); }))
    {
      const auto & survival = prediction.probabilities;
      cases.push_back(
        { prediction.truth[0], prediction.truth[1] == 1, -std::accumulate(survival.begin(), survival.end(), 0.0) });
    }
  }
  return cases;
}

constexpr std::array<const char *, 2> GroupNames{ "low risk", "high risk" };

Json
DescribeGroup(const std::vector<SurvivalCase> & cases, const char * name)
{
  Json json{ { "group", name }, { "cases", cases.size() } };
  json["events"] = std::count_if(cases.begin(), cases.end(), [](const SurvivalCase & one) { return one.hasEvent; });
  json["medianTime"] = ToFigure(GetMedianTime(cases));
  return json;
}

Drawing
Draw(const std::array<std::vector<SurvivalCase>, 2> & groups, const Json & report)
{
  constexpr Color                black{ { 0, 0, 0 } }, gray{ { 200, 200, 200 } };
  constexpr std::array<Color, 2> colors{ { { { 0, 114, 178 } }, { { 213, 94, 0 } } } };
  constexpr double               side = 360, left = 55, top = 60;
  double                         last = 0;
  for (const auto & group : groups)
  {
    for (const SurvivalCase & one : group)
    {
      last = std::max(last, one.time);
    }
  }
  last = last > 0 ? last : 1;
  const int  digits = std::clamp(1 - static_cast<int>(std::floor(std::log10(last))), 0, 6);
  const auto place = [&](double time, double survival) {
    return Point{ left + side * time / last, top + side * (1 - survival) };
  };
  Drawing drawing(450, 530);
  for (int i = 0; i <= 5; ++i)
  {
    const double at = i / 5.0;
    drawing.AddLine({ place(at * last, 0), place(at * last, 1) }, gray, 0.5);
    drawing.AddLine({ place(0, at), place(last, at) }, gray, 0.5);
    drawing.AddText(
      { place(at * last, 0)[0], top + side + 17 }, FormatNumber(at * last, digits), 12, Drawing::Anchor::Middle);
    drawing.AddText({ left - 6, place(0, at)[1] + 4 }, FormatNumber(at, 1), 12, Drawing::Anchor::End);
  }
  drawing.AddLine({ place(0, 0), place(last, 0), place(last, 1), place(0, 1), place(0, 0) }, black, 1);
  drawing.AddText({ left, top - 28 }, "Survival by predicted risk (Kaplan-Meier)", 15);
  drawing.AddText({ left - 30, top - 9 }, "no event", 12);
  drawing.AddText({ left + side / 2, top + side + 36 }, "time", 12, Drawing::Anchor::Middle);
  double y = top + side + 70;
  for (std::size_t g = 0; g < groups.size(); ++g)
  {
    std::vector<Point> points;
    for (const SurvivalStep & step : GetKaplanMeier(groups[g]))
    {
      if (!points.empty())
      {
        points.push_back({ place(step.time, 0)[0], points.back()[1] });
      }
      points.push_back(place(step.time, step.survival));
    }
    drawing.AddLine(std::move(points), colors[g], 2);
    drawing.AddLine({ { left, y - 4 }, { left + 20, y - 4 } }, colors[g], 3);
    const Json & group = report.at("groups")[g];
    drawing.AddText({ left + 27, y },
                    std::string(GroupNames[g]) + ": " + group.at("cases").dump() + " cases, " +
                      group.at("events").dump() + " with an event",
                    12);
    y += 18;
  }
  return drawing;
}

std::string
Format(const Json & json)
{
  constexpr double  least = 1e-4; // of four digits
  const Json &      p = json.at("logRankP");
  const std::string probability = p.is_number() && p < least ? "below 0.0001" : FormatFigure(p);
  std::string       text = Pad("with an event", 20) + json.at("events").dump() + '\n' + Pad("C-index", 20) +
                     FormatFigure(json.at("cIndex")) + " (95 %: " + FormatFigure(json.at("cIndexLower")) + " to " +
                     FormatFigure(json.at("cIndexUpper")) + ")\n" + Pad("log-rank test", 20) + "p " + probability +
                     ", of the groups at the median of the risk\n\n" + Pad("group", 11) +
                     "cases  events  median time\n";
  for (const Json & group : json.at("groups"))
  {
    text += Pad(group.at("group").get<std::string>(), 11) + Pad(group.at("cases").dump(), 7) +
            Pad(group.at("events").dump(), 8) + FormatFigure(group.at("medianTime")) + '\n';
  }
  text.pop_back();
  return text;
}

} // namespace

ObjectiveReport
ReportSurvival(const PredictionTable & table, const ReportOptions & options)
{
  const std::vector<SurvivalCase> cases = Gather(table);
  const Concordance               concordance = Concordance::Make(cases);
  if (concordance.pairs == 0 && !options.isFold)
  {
    throw Refusal(
      Diagnostic("E-PREDICTIONS-FORMAT", "of no two cases it is known which had its event first: nothing can be judged")
        .OfFile(table.file));
  }
  ObjectiveReport report;
  const double    reach = 1.96 * concordance.standardError;
  report.json["cases"] = cases.size(); // those that are judged
  report.json["events"] =
    std::count_if(cases.begin(), cases.end(), [](const SurvivalCase & one) { return one.hasEvent; });
  report.json["cIndex"] = ToFigure(concordance.index);
  report.json["cIndexLower"] = ToFigure(std::isnan(reach) ? reach : std::max(0.0, concordance.index - reach));
  report.json["cIndexUpper"] = ToFigure(std::isnan(reach) ? reach : std::min(1.0, concordance.index + reach));
  report.ofFold["cIndex"] = ToFigure(concordance.index);
  if (options.isFold)
  {
    return report;
  }
  if (concordance.standardError == 0)
  {
    report.warnings.emplace_back("W-COHORT",
                                 "the C-index is " + FormatFigure(report.json["cIndex"]) +
                                   ": its interval has no width there, which does not make it certain");
  }
  const auto   groups = SplitAtMedianRisk(cases);
  const double chi = GetLogRank(groups[0], groups[1]);
  report.json["logRankChi2"] = ToFigure(chi);
  report.json["logRankP"] = ToFigure(std::erfc(std::sqrt(chi / 2)));
  for (std::size_t g = 0; g < groups.size(); ++g)
  {
    report.json["groups"].push_back(DescribeGroup(groups[g], GroupNames[g]));
  }
  report.text = Format(report.json);
  report.pictures.emplace_back("survival", Draw(groups, report.json));
  return report;
}

} // namespace gigapixel::application

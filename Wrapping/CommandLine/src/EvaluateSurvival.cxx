/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Drawing.h"
#include "ObjectiveReport.h"

#include "gigapixelSession.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gigapixel::commandline
{
namespace
{

using Json = nlohmann::ordered_json;

struct Case
{
  double time;
  bool   hasEvent;
  double risk; ///< the more, the sooner: the negative sum of the predicted survival
};

std::vector<Case>
Gather(const PredictionTable & table)
{
  std::vector<Case> cases;
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

struct Concordance
{
  double index{ 0 };
  double standardError{ 0 };
  double pairs{ 0 };
};

/** Harrell's, as ObjectiveKind has it. Its standard error is that of the jackknife, which leaves out one case after the
 * other: B. Efron, C. Stein, Ann. Stat. 9:586, 1981. */
Concordance
GetConcordance(const std::vector<Case> & cases)
{
  const std::size_t   number = cases.size();
  std::vector<double> pairs(number), right(number); // those that a case takes part in
  Concordance         result;
  double              sum = 0;
  for (std::size_t i = 0; i < number; ++i)
  {
    for (std::size_t j = 0; j < number && cases[i].hasEvent; ++j)
    {
      if (cases[i].time < cases[j].time || (cases[i].time == cases[j].time && !cases[j].hasEvent))
      {
        const double is = cases[i].risk > cases[j].risk ? 1 : cases[i].risk == cases[j].risk ? 0.5 : 0;
        for (const std::size_t one : { i, j })
        {
          pairs[one] += 1;
          right[one] += is;
        }
        result.pairs += 1;
        sum += is;
      }
    }
  }
  result.index = result.pairs > 0 ? sum / result.pairs : std::numeric_limits<double>::quiet_NaN();
  double squares = 0;
  for (std::size_t i = 0; i < number; ++i)
  {
    const double others = result.pairs - pairs[i];
    const double without = (sum - right[i]) / others; // NaN where no pair is left: too little is known
    squares += (without - result.index) * (without - result.index);
  }
  result.standardError = std::sqrt(squares * static_cast<double>(number - 1) / static_cast<double>(number));
  return result;
}

/** A step of the estimate of E. L. Kaplan and P. Meier, J. Am. Stat. Assoc. 53:457, 1958. */
struct Step
{
  double time;
  double survival; ///< from there on
};

std::vector<Step>
GetKaplanMeier(std::vector<Case> cases)
{
  std::sort(cases.begin(), cases.end(), [](const Case & a, const Case & b) { return a.time < b.time; });
  std::vector<Step> steps{ { 0, 1 } };
  for (std::size_t i = 0; i < cases.size();)
  {
    const std::size_t atRisk = cases.size() - i;
    const double      time = cases[i].time;
    std::size_t       events = 0;
    for (; i < cases.size() && cases[i].time == time; ++i)
    {
      events += cases[i].hasEvent ? 1 : 0;
    }
    const double before = steps.back().survival;
    steps.push_back({ time, before * (1 - static_cast<double>(events) / static_cast<double>(atRisk)) });
  }
  return steps;
}

/** N. Mantel's test, Cancer Chemother. Rep. 50:163, 1966. \return chi squared of one degree of freedom */
double
GetLogRank(const std::vector<Case> & first, const std::vector<Case> & second)
{
  std::vector<double> times;
  for (const auto * const group : { &first, &second })
  {
    for (const Case & one : *group)
    {
      if (one.hasEvent)
      {
        times.push_back(one.time);
      }
    }
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  double difference = 0, variance = 0;
  for (const double time : times)
  {
    const auto isAtRisk = [time](const Case & one) { return one.time >= time; };
    const auto hasEvent = [time](const Case & one) { return one.hasEvent && one.time == time; };
    const auto own = static_cast<double>(std::count_if(first.begin(), first.end(), isAtRisk));
    const auto all = own + static_cast<double>(std::count_if(second.begin(), second.end(), isAtRisk));
    const auto ownEvents = static_cast<double>(std::count_if(first.begin(), first.end(), hasEvent));
    const auto events = ownEvents + static_cast<double>(std::count_if(second.begin(), second.end(), hasEvent));
    difference += ownEvents - events * own / all;
    variance += all > 1 ? events * (own / all) * (1 - own / all) * (all - events) / (all - 1) : 0;
  }
  return variance > 0 ? difference * difference / variance : std::numeric_limits<double>::quiet_NaN();
}

/** The cases below the median risk, and the others. */
std::array<std::vector<Case>, 2>
SplitAtMedian(std::vector<Case> cases)
{
  std::sort(cases.begin(), cases.end(), [](const Case & a, const Case & b) { return a.risk < b.risk; });
  const double                     median = cases[cases.size() / 2].risk;
  std::array<std::vector<Case>, 2> groups;
  for (const Case & one : cases)
  {
    groups[one.risk < median ? 0 : 1].push_back(one);
  }
  return groups;
}

constexpr std::array<const char *, 2> GroupNames{ "low risk", "high risk" };

Json
DescribeGroup(const std::vector<Case> & cases, const char * name)
{
  Json       json{ { "group", name }, { "cases", cases.size() } };
  const auto steps = GetKaplanMeier(cases);
  const auto half = std::find_if(steps.begin(), steps.end(), [](const Step & step) { return step.survival <= 0.5; });
  json["events"] = std::count_if(cases.begin(), cases.end(), [](const Case & one) { return one.hasEvent; });
  json["medianTime"] = half == steps.end() ? Json() : Json(half->time);
  return json;
}

Drawing
Draw(const std::array<std::vector<Case>, 2> & groups, const Json & report)
{
  constexpr Color                black{ { 0, 0, 0 } }, gray{ { 200, 200, 200 } };
  constexpr std::array<Color, 2> colors{ { { { 0, 114, 178 } }, { { 213, 94, 0 } } } };
  constexpr double               side = 360, left = 55, top = 60;
  double                         last = 0;
  for (const auto & group : groups)
  {
    for (const Case & one : group)
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
    for (const Step & step : GetKaplanMeier(groups[g]))
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
  const std::vector<Case> cases = Gather(table);
  const Concordance       concordance = GetConcordance(cases);
  if (concordance.pairs == 0 && !options.isFold)
  {
    throw Refusal(
      Diagnostic("E-PREDICTIONS-FORMAT", "of no two cases it is known which had its event first: nothing can be judged")
        .OfFile(table.file));
  }
  ObjectiveReport report;
  const double    reach = 1.96 * concordance.standardError;
  report.json["cases"] = cases.size(); // those that are judged
  report.json["events"] = std::count_if(cases.begin(), cases.end(), [](const Case & one) { return one.hasEvent; });
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
  const auto   groups = SplitAtMedian(cases);
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

} // namespace gigapixel::commandline

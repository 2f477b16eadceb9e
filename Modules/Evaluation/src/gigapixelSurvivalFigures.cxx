/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSurvivalFigures.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gigapixel
{

Concordance
Concordance::Make(const std::vector<SurvivalCase> & cases)
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

std::vector<SurvivalStep>
GetKaplanMeier(std::vector<SurvivalCase> cases)
{
  std::sort(cases.begin(), cases.end(), [](const SurvivalCase & a, const SurvivalCase & b) { return a.time < b.time; });
  std::vector<SurvivalStep> steps{ { 0, 1 } };
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

double
GetLogRank(const std::vector<SurvivalCase> & first, const std::vector<SurvivalCase> & second)
{
  std::vector<double> times;
  for (const auto * const group : { &first, &second })
  {
    for (const SurvivalCase & one : *group)
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
    const auto isAtRisk = [time](const SurvivalCase & one) { return one.time >= time; };
    const auto hasEvent = [time](const SurvivalCase & one) { return one.hasEvent && one.time == time; };
    const auto own = static_cast<double>(std::count_if(first.begin(), first.end(), isAtRisk));
    const auto all = own + static_cast<double>(std::count_if(second.begin(), second.end(), isAtRisk));
    const auto ownEvents = static_cast<double>(std::count_if(first.begin(), first.end(), hasEvent));
    const auto events = ownEvents + static_cast<double>(std::count_if(second.begin(), second.end(), hasEvent));
    difference += ownEvents - events * own / all;
    variance += all > 1 ? events * (own / all) * (1 - own / all) * (all - events) / (all - 1) : 0;
  }
  return variance > 0 ? difference * difference / variance : std::numeric_limits<double>::quiet_NaN();
}

std::array<std::vector<SurvivalCase>, 2>
SplitAtMedianRisk(std::vector<SurvivalCase> cases)
{
  std::sort(cases.begin(), cases.end(), [](const SurvivalCase & a, const SurvivalCase & b) { return a.risk < b.risk; });
  const double                             median = cases[cases.size() / 2].risk;
  std::array<std::vector<SurvivalCase>, 2> groups;
  for (const SurvivalCase & one : cases)
  {
    groups[one.risk < median ? 0 : 1].push_back(one);
  }
  return groups;
}

double
GetMedianTime(const std::vector<SurvivalCase> & cases)
{
  const auto steps = GetKaplanMeier(cases);
  const auto half =
    std::find_if(steps.begin(), steps.end(), [](const SurvivalStep & step) { return step.survival <= 0.5; });
  return half == steps.end() ? std::numeric_limits<double>::quiet_NaN() : half->time;
}

} // namespace gigapixel

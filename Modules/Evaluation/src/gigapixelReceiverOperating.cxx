/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelReceiverOperating.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** 97.5 % of the normal distribution lie below. */
constexpr double NormalQuantile = 1.959963984540054;

std::size_t
CheckCases(const std::vector<double> & scores, const std::vector<bool> & isPositive)
{
  if (scores.size() != isPositive.size())
  {
    throw InvalidArgument(Diagnostic("E-OPTION-VALUE", "there are not as many truths as scores"));
  }
  if (!std::all_of(scores.begin(), scores.end(), [](double score) { return std::isfinite(score); }))
  {
    throw InvalidArgument(Diagnostic("E-NOT-FINITE", "a score is no finite number"));
  }
  const auto positives = static_cast<std::size_t>(std::count(isPositive.begin(), isPositive.end(), true));
  if (positives == 0 || positives == scores.size())
  {
    throw InvalidArgument(Diagnostic("E-COHORT-LABELS", "all cases are of one kind: there is nothing to tell apart"));
  }
  return positives;
}

/** Ranks from 1, and for equal values the mean of the ranks that they take together. */
std::vector<double>
GetMidranks(const std::vector<double> & values)
{
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();)
  {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]])
    {
      ++end;
    }
    const double rank = 0.5 * static_cast<double>(first + 1 + end);
    for (; first < end; ++first)
    {
      ranks[order[first]] = rank;
    }
  }
  return ranks;
}

double
GetMean(const std::vector<double> & values)
{
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/** With n - 1 in the denominator; NaN of one value. */
double
GetVariance(const std::vector<double> & values)
{
  const double mean = GetMean(values);
  double       sum = 0;
  for (const double value : values)
  {
    sum += (value - mean) * (value - mean);
  }
  return values.size() > 1 ? sum / static_cast<double>(values.size() - 1) : std::numeric_limits<double>::quiet_NaN();
}

/** For each of some cases, the share of the other kind that it is ranked above, ties counting half.
 * \param ranks of all cases of both kinds
 * \param kind of the cases that it is asked for */
std::vector<double>
GetShares(const std::vector<double> & ranks,
          const std::vector<double> & scores,
          const std::vector<bool> &   isPositive,
          bool                        kind)
{
  std::vector<double> ofKind, shares;
  for (std::size_t i = 0; i < scores.size(); ++i)
  {
    if (isPositive[i] == kind)
    {
      ofKind.push_back(scores[i]);
      shares.push_back(ranks[i]);
    }
  }
  const std::vector<double> within = GetMidranks(ofKind);
  const auto                others = static_cast<double>(scores.size() - ofKind.size());
  std::transform(shares.begin(), shares.end(), within.begin(), shares.begin(), [others](double all, double own) {
    return (all - own) / others;
  });
  return shares;
}

} // namespace

std::vector<OperatingPoint>
GetOperatingPoints(const std::vector<double> & scores, const std::vector<bool> & isPositive)
{
  const auto               positives = static_cast<double>(CheckCases(scores, isPositive));
  const auto               negatives = static_cast<double>(scores.size()) - positives;
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<OperatingPoint> points{ { std::numeric_limits<double>::infinity(), 0, 0, 1 } };
  double                      truePositives = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
  {
    truePositives += isPositive[order[i]] ? 1 : 0;
    const double score = scores[order[i]];
    if (i + 1 == order.size() || scores[order[i + 1]] != score)
    {
      const auto called = static_cast<double>(i + 1);
      points.push_back(
        { score, (called - truePositives) / negatives, truePositives / positives, truePositives / called });
    }
  }
  return points;
}

AreaUnderROC
GetAreaUnderROC(const std::vector<double> & scores, const std::vector<bool> & isPositive)
{
  CheckCases(scores, isPositive);
  const std::vector<double> ranks = GetMidranks(scores);
  const std::vector<double> above = GetShares(ranks, scores, isPositive, true);
  const std::vector<double> below = GetShares(ranks, scores, isPositive, false);
  AreaUnderROC              result;
  result.area = GetMean(above);
  result.standardError = std::sqrt(GetVariance(above) / static_cast<double>(above.size()) +
                                   GetVariance(below) / static_cast<double>(below.size()));
  const double half = NormalQuantile * result.standardError;
  // Written so that NaN stays NaN.
  result.lower = result.area - half < 0 ? 0 : result.area - half;
  result.upper = result.area + half > 1 ? 1 : result.area + half;
  return result;
}

double
GetAveragePrecision(const std::vector<double> & scores, const std::vector<bool> & isPositive)
{
  double sum = 0, recall = 0;
  for (const OperatingPoint & point : GetOperatingPoints(scores, isPositive))
  {
    sum += (point.truePositiveRate - recall) * point.precision;
    recall = point.truePositiveRate;
  }
  return sum;
}

} // namespace gigapixel

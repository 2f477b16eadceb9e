/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelRegressionFigures.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** From their mean. */
std::vector<double>
GetDifferences(std::vector<double> values)
{
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  std::for_each(values.begin(), values.end(), [mean](double & value) { value -= mean; });
  return values;
}

double
GetSquares(const std::vector<double> & values)
{
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

bool
AreEqual(const std::vector<double> & values)
{
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
}

double
GetCorrelation(const std::vector<double> & a, const std::vector<double> & b)
{
  if (AreEqual(a) || AreEqual(b))
  {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto   x = GetDifferences(a), y = GetDifferences(b);
  const double product = std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  return std::clamp(product / std::sqrt(GetSquares(x) * GetSquares(y)), -1.0, 1.0);
}

std::vector<double>
GetRanks(const std::vector<double> & values)
{
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end)
  {
    while (end < order.size() && values[order[end]] == values[order[first]])
    {
      ++end;
    }
    for (std::size_t i = first; i < end; ++i)
    {
      ranks[order[i]] = 0.5 * static_cast<double>(first + end - 1);
    }
  }
  return ranks;
}

} // namespace

RegressionFigures
RegressionFigures::Make(const std::vector<double> & truths, const std::vector<double> & predictions)
{
  const auto isFinite = [](double value) { return std::isfinite(value); };
  if (truths.empty() || truths.size() != predictions.size() || !std::all_of(truths.begin(), truths.end(), isFinite) ||
      !std::all_of(predictions.begin(), predictions.end(), isFinite))
  {
    throw InvalidArgument(Diagnostic("E-OPTION-VALUE", "numbers are compared with as many finite ones, one at least"));
  }
  std::vector<double> errors(truths.size());
  std::transform(predictions.begin(), predictions.end(), truths.begin(), errors.begin(), std::minus<>());
  const double      number = static_cast<double>(truths.size());
  const double      squares = GetSquares(errors);
  RegressionFigures figures;
  figures.rootMeanSquaredError = std::sqrt(squares / number);
  for (const double error : errors)
  {
    figures.meanAbsoluteError += std::abs(error) / number;
  }
  figures.determination =
    AreEqual(truths) ? std::numeric_limits<double>::quiet_NaN() : 1 - squares / GetSquares(GetDifferences(truths));
  figures.pearson = GetCorrelation(truths, predictions);
  figures.spearman = GetCorrelation(GetRanks(truths), GetRanks(predictions));
  return figures;
}

} // namespace gigapixel

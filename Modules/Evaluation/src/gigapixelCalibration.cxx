/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelCalibration.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gigapixel
{

std::vector<CalibrationBin>
GetReliability(const std::vector<double> & probabilities, const std::vector<bool> & cameTrue, int bins)
{
  if (probabilities.size() != cameTrue.size() || bins < 1)
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE", "there are not as many truths as probabilities, or there is no bin"));
  }
  std::vector<CalibrationBin> result(static_cast<std::size_t>(bins));
  for (std::size_t i = 0; i < result.size(); ++i)
  {
    result[i].lower = static_cast<double>(i) / bins;
    result[i].upper = static_cast<double>(i + 1) / bins;
  }
  for (std::size_t i = 0; i < probabilities.size(); ++i)
  {
    const double probability = probabilities[i];
    if (!(probability >= 0 && probability <= 1))
    {
      throw InvalidArgument(Diagnostic("E-OPTION-VALUE", "a probability is not from 0 to 1"));
    }
    const auto isBelow = [](const CalibrationBin & bin, double value) { return bin.upper < value; };
    const auto bin = std::lower_bound(result.begin(), result.end(), probability, isBelow);
    ++bin->cases;
    bin->meanProbability += probability;
    bin->share += cameTrue[i] ? 1 : 0;
  }
  for (CalibrationBin & bin : result)
  {
    bin.meanProbability /= static_cast<double>(bin.cases);
    bin.share /= static_cast<double>(bin.cases);
  }
  return result;
}

double
GetExpectedCalibrationError(const std::vector<CalibrationBin> & bins)
{
  double       sum = 0;
  std::int64_t cases = 0;
  for (const CalibrationBin & bin : bins)
  {
    cases += bin.cases;
    sum += bin.cases > 0 ? static_cast<double>(bin.cases) * std::abs(bin.share - bin.meanProbability) : 0;
  }
  return cases > 0 ? sum / static_cast<double>(cases) : 0;
}

} // namespace gigapixel

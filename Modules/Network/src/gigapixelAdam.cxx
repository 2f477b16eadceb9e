/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelAdam.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gigapixel
{

namespace
{

double
GetFirst(double moment, double gradient)
{
  return Adam::Beta1 * moment + (1 - Adam::Beta1) * gradient;
}

double
GetSecond(double moment, double gradient)
{
  return Adam::Beta2 * moment + (1 - Adam::Beta2) * gradient * gradient;
}

} // namespace

std::vector<float>
Adam::GetNext(double learningRate, const std::vector<double> & gradient, const std::vector<double> & parameters) const
{
  const double       correction1 = 1 - std::pow(Beta1, static_cast<double>(steps + 1));
  const double       correction2 = 1 - std::pow(Beta2, static_cast<double>(steps + 1));
  std::vector<float> next(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i)
  {
    const double first = GetFirst(firstMoment[i], gradient[i]), second = GetSecond(secondMoment[i], gradient[i]);
    const double step = learningRate * (first / correction1) / (std::sqrt(second / correction2) + Epsilon);
    next[i] =
      std::isfinite(second) ? static_cast<float>(parameters[i] - step) : std::numeric_limits<float>::quiet_NaN();
  }
  return next;
}

void
Adam::Step(const std::vector<double> & gradient, const std::vector<float> & next, std::vector<double> & parameters)
{
  ++steps;
  for (std::size_t i = 0; i < parameters.size(); ++i)
  {
    firstMoment[i] = GetFirst(firstMoment[i], gradient[i]);
    secondMoment[i] = GetSecond(secondMoment[i], gradient[i]);
  }
  std::copy(next.begin(), next.end(), parameters.begin());
}

} // namespace gigapixel

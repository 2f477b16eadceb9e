/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelAdam.h"

#include <cmath>

namespace gigapixel
{

void
Adam::Step(double learningRate, const std::vector<double> & gradient, std::vector<double> & parameters)
{
  firstMoment.resize(parameters.size());
  secondMoment.resize(parameters.size());
  ++steps;
  const double correction1 = 1 - std::pow(Beta1, static_cast<double>(steps));
  const double correction2 = 1 - std::pow(Beta2, static_cast<double>(steps));
  for (std::size_t i = 0; i < parameters.size(); ++i)
  {
    firstMoment[i] = Beta1 * firstMoment[i] + (1 - Beta1) * gradient[i];
    secondMoment[i] = Beta2 * secondMoment[i] + (1 - Beta2) * gradient[i] * gradient[i];
    const double step =
      learningRate * (firstMoment[i] / correction1) / (std::sqrt(secondMoment[i] / correction2) + Epsilon);
    parameters[i] = static_cast<float>(parameters[i] - step);
  }
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef AdamFormula_h
#define AdamFormula_h

#include "../gigapixelOptimizerRule.h"

namespace gigapixel
{

/** What adam and adamw share; betas and epsilon are those of torch.optim. */
struct AdamFormula
{
  using State = std::array<double, 2>; ///< first and second moment

  static constexpr double Beta1 = 0.9;
  static constexpr double Beta2 = 0.999;
  static constexpr double Epsilon = 1e-8;

  explicit AdamFormula(const OptimizerStep & given)
    : step(given)
    , correction1(1 - std::pow(Beta1, static_cast<double>(given.number)))
    , correction2(1 - std::pow(Beta2, static_cast<double>(given.number)))
  {}

  double
  GetMove(double gradient, State & state) const
  {
    auto & [first, second] = state;
    first = Beta1 * first + (1 - Beta1) * gradient;
    second = Beta2 * second + (1 - Beta2) * gradient * gradient;
    return step.learningRate * (first / correction1) / (std::sqrt(second / correction2) + Epsilon);
  }

  static std::vector<OptimizerState>
  GetState()
  {
    return { { "adam.first_moment" }, { "adam.second_moment", 0 } };
  }

  const OptimizerStep step;
  const double        correction1, correction2;
};

} // namespace gigapixel

#endif

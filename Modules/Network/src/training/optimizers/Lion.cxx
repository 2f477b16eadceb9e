/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "../gigapixelOptimizerRule.h"

namespace gigapixel
{

/** Chen et al., "Symbolic Discovery of Optimization Algorithms" (NeurIPS 2023), Algorithm 2: weights move by the rate,
 * with the sign of the momentum and of a share of the gradient. The decay is decoupled. */
struct LionOptimizerFormula
{
  using State = std::array<double, 1>;

  static constexpr double Beta1 = 0.9;
  static constexpr double Beta2 = 0.99;

  explicit LionOptimizerFormula(const OptimizerStep & given)
    : step(given)
  {}

  double
  operator()(double gradient, double parameter, State & state) const
  {
    const double direction = Beta1 * state[0] + (1 - Beta1) * gradient;
    const double sign = (direction > 0) - (direction < 0);
    state[0] = Beta2 * state[0] + (1 - Beta2) * gradient;
    return (1 - step.learningRate * step.weightDecay) * parameter - step.learningRate * sign;
  }

  const OptimizerStep step;
};

const OptimizerRule &
GetLionOptimizer()
{
  static const OptimizerRule rule = MakeOptimizerRule<LionOptimizerFormula>({ { "lion.momentum" } });
  return rule;
}

} // namespace gigapixel

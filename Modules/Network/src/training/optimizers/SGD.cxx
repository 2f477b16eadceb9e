/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "../gigapixelOptimizerRule.h"

namespace gigapixel
{

/** With the momentum of torch.optim.SGD: v = momentum * v + g, weight -= rate * v. */
struct SGDOptimizerFormula
{
  using State = std::array<double, 1>;

  explicit SGDOptimizerFormula(const OptimizerStep & given)
    : step(given)
  {}

  double
  operator()(double gradient, double parameter, State & state) const
  {
    state[0] = step.momentum * state[0] + (gradient + step.weightDecay * parameter);
    return parameter - step.learningRate * state[0];
  }

  const OptimizerStep step;
};

const OptimizerRule &
GetSGDOptimizer()
{
  static const OptimizerRule rule = MakeOptimizerRule<SGDOptimizerFormula>({ { "sgd.momentum" } });
  return rule;
}

} // namespace gigapixel

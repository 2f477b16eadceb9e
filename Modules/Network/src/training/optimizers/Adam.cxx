/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "AdamFormula.h"

namespace gigapixel
{

/** Kingma and Ba, "Adam: A Method for Stochastic Optimization" (ICLR 2015), Algorithm 1. The decay is a part of the
 * gradient, as in torch.optim.Adam. */
struct AdamOptimizerFormula : AdamFormula
{
  using AdamFormula::AdamFormula;

  double
  operator()(double gradient, double parameter, State & state) const
  {
    return parameter - this->GetMove(gradient + step.weightDecay * parameter, state);
  }
};

const OptimizerRule &
GetAdamOptimizer()
{
  static const OptimizerRule rule = MakeOptimizerRule<AdamOptimizerFormula>(AdamFormula::GetState());
  return rule;
}

} // namespace gigapixel

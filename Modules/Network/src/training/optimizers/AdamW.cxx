/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "AdamFormula.h"

namespace gigapixel
{

/** Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (ICLR 2019), Algorithm 2: the moments do not see the
 * decay. */
struct AdamWOptimizerFormula : AdamFormula
{
  using AdamFormula::AdamFormula;

  double
  operator()(double gradient, double parameter, State & state) const
  {
    return (1 - step.learningRate * step.weightDecay) * parameter - this->GetMove(gradient, state);
  }
};

const OptimizerRule &
GetAdamWOptimizer()
{
  static const OptimizerRule rule = MakeOptimizerRule<AdamWOptimizerFormula>(AdamFormula::GetState());
  return rule;
}

} // namespace gigapixel

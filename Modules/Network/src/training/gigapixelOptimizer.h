/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOptimizer_h
#define gigapixelOptimizer_h

#include "gigapixelNetworkDescription.h"
#include "gigapixelOptimizerRule.h"
#include "gigapixelTrainer.h"

#include <cstdint>
#include <vector>

namespace gigapixel
{

class Workers;

/** A run of values in the array of all parameters that are treated alike. */
struct ParameterGroup
{
  std::size_t begin{ 0 };
  std::size_t end{ 0 };
  double      weightDecay{ 0 };
};

/** Those that a step changes: not statistics, and not what is frozen. Weights are decayed, biases and the scales and
 * shifts of norms are not: it is the rule of PyTorch's users that arrays of less than two axes get no weight decay. */
GigapixelNetwork_EXPORT std::vector<ParameterGroup> MakeParameterGroups(const NetworkDescription &       network,
                                                                        double                           weightDecay,
                                                                        const std::vector<std::string> & freeze = {});

/** \class Optimizer
 * \brief What a step makes of the gradient, in double, by the rule that the options name.
 *
 * Parameters are kept as floats, which is what the model file holds: they are rounded after each step. */
class GigapixelNetwork_EXPORT Optimizer
{
public:
  OptimizerRule::Arrays state; ///< as the rule says
  std::int64_t          steps{ 0 };

  Optimizer() = default;

  /** With a state of 0. \throw std::invalid_argument for an optimizer that is none */
  Optimizer(const TrainingOptions & options, const NetworkDescription & network);

  const OptimizerRule &
  GetRule() const
  {
    return *m_Rule;
  }

  /** What the options ask for, or the optimizer's own. */
  static double GetWeightDecay(const TrainingOptions & options);

  /** The parameters after a step, so that they can be looked at before the step is taken; NaN where the state would
   * hold no finite number. */
  std::vector<float> GetNext(double                      learningRate,
                             const std::vector<double> & gradient,
                             const std::vector<double> & parameters,
                             Workers &                   workers) const;

  /** Scales the gradient down if its norm, over all parameters that a step changes, is above the greatest, as
   * torch.nn.utils.clip_grad_norm_ does. \return the norm before */
  double Clip(double greatest, std::vector<double> & gradient) const;

  /** Takes the step that led to these parameters. No state depends on the learning rate. */
  void Step(const std::vector<double> & gradient,
            const std::vector<float> &  next,
            std::vector<double> &       parameters,
            Workers &                   workers);

private:
  template <typename F>
  void ForEachPart(double learningRate, Workers & workers, const F & f) const;

  const OptimizerRule *       m_Rule{ nullptr };
  double                      m_Momentum{ 0 };
  std::vector<ParameterGroup> m_Groups;
};

} // namespace gigapixel

#endif

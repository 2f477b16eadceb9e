/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOptimizer_h
#define gigapixelOptimizer_h

#include "gigapixelNetworkDescription.h"
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
 * \brief What a step makes of the gradient, in double; formulas and defaults are those of torch.optim.
 *
 * Adam: Kingma and Ba, "Adam: A Method for Stochastic Optimization" (ICLR 2015), Algorithm 1. AdamW: Loshchilov and
 * Hutter, "Decoupled Weight Decay Regularization" (ICLR 2019), Algorithm 2, where weights shrink by the factor
 * 1 - rate * decay; the others add decay * weight to the gradient. SGD has the momentum of PyTorch:
 * v = momentum * v + g, weight -= rate * v.
 *
 * Parameters are kept as floats, which is what the model file holds: they are rounded after each step. */
class GigapixelNetwork_EXPORT Optimizer
{
public:
  enum class Kind
  {
    Adam,
    AdamW,
    SGD
  };

  static constexpr double Beta1 = 0.9;
  static constexpr double Beta2 = 0.999;
  static constexpr double Epsilon = 1e-8;

  std::vector<double> firstMoment;  ///< of SGD its momentum
  std::vector<double> secondMoment; ///< empty for SGD
  std::int64_t        steps{ 0 };

  Optimizer() = default;

  /** With moments of 0. \throw std::invalid_argument for an optimizer that is none */
  Optimizer(const TrainingOptions & options, const NetworkDescription & network);

  Kind
  GetKind() const
  {
    return m_Kind;
  }

  /** \throw std::invalid_argument */
  static Kind ToKind(const std::string & name);

  /** What the options ask for, or the optimizer's own. */
  static double GetWeightDecay(const TrainingOptions & options);

  /** The parameters after a step, so that they can be looked at before the step is taken; NaN where a moment would be
   * no finite number. */
  std::vector<float> GetNext(double                      learningRate,
                             const std::vector<double> & gradient,
                             const std::vector<double> & parameters,
                             Workers &                   workers) const;

  /** Scales the gradient down if its norm, over all parameters that a step changes, is above the greatest, as
   * torch.nn.utils.clip_grad_norm_ does. \return the norm before */
  double Clip(double greatest, std::vector<double> & gradient) const;

  /** Takes the step that led to these parameters. */
  void Step(const std::vector<double> & gradient,
            const std::vector<float> &  next,
            std::vector<double> &       parameters,
            Workers &                   workers);

private:
  template <typename F>
  void ForEachPart(Workers & workers, const F & f) const;

  Kind                        m_Kind{ Kind::Adam };
  double                      m_Momentum{ 0 };
  std::vector<ParameterGroup> m_Groups;
};

} // namespace gigapixel

#endif

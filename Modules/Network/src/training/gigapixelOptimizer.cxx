/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOptimizer.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFrozenParameters.h"
#include "gigapixelLearningOptions.h"
#include "gigapixelWorkers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace gigapixel
{

std::vector<ParameterGroup>
MakeParameterGroups(const NetworkDescription & network, double weightDecay, const std::vector<std::string> & freeze)
{
  const std::set<std::string> frozen = FindFrozen(network, freeze);
  std::vector<ParameterGroup> groups;
  std::size_t                 begin = 0;
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    const std::size_t end = begin + static_cast<std::size_t>(parameter.GetNumberOfValues());
    if (parameter.trained && frozen.count(parameter.name) == 0)
    {
      groups.push_back({ begin, end, parameter.shape.size() > 1 ? weightDecay : 0 });
    }
    begin = end;
  }
  return groups;
}

#define GIGAPIXEL_OPTIMIZER(Name, name, weightDecay, description) const OptimizerRule & Get##Name##Optimizer();
#include "gigapixelOptimizerList.h"

namespace
{

/** An optimizer's rule, and its weight decay by default. */
std::pair<const OptimizerRule *, double>
Find(const std::string & wanted)
{
#define GIGAPIXEL_OPTIMIZER(Name, name, weightDecay, description)                                                      \
  if (wanted == (name))                                                                                                \
  {                                                                                                                    \
    return { &Get##Name##Optimizer(), weightDecay };                                                                   \
  }
#include "gigapixelOptimizerList.h"
  std::vector<std::string> names;
  for (const OptimizerDescription & optimizer : GetOptimizers())
  {
    names.push_back(optimizer.name);
  }
  throw InvalidArgument(
    Diagnostic("E-OPTION-VALUE", "there is no optimizer \"" + wanted + "\"", "choose " + JoinWithOr(names))
      .OfValue(wanted));
}

} // namespace

Optimizer::Optimizer(const TrainingOptions & options, const NetworkDescription & network)
  : m_Rule(Find(options.optimizer).first)
  , m_Momentum(options.momentum)
  , m_Groups(MakeParameterGroups(network, GetWeightDecay(options), options.freeze))
{
  state.assign(m_Rule->state.size(), std::vector<double>(network.GetNumberOfParameters()));
}

double
Optimizer::GetWeightDecay(const TrainingOptions & options)
{
  return options.weightDecay < 0 ? Find(options.optimizer).second : options.weightDecay;
}

/** Calls f(step, begin, end) for parts of the groups, by several threads: each value is computed by itself. */
template <typename F>
void
Optimizer::ForEachPart(double learningRate, Workers & workers, const F & f) const
{
  for (const ParameterGroup & group : m_Groups)
  {
    const OptimizerStep step{ learningRate, group.weightDecay, m_Momentum, steps + 1 };
    workers.ForEachPart(group.end - group.begin,
                        [&](std::size_t begin, std::size_t end) { f(step, group.begin + begin, group.begin + end); });
  }
}

std::vector<float>
Optimizer::GetNext(double                      learningRate,
                   const std::vector<double> & gradient,
                   const std::vector<double> & parameters,
                   Workers &                   workers) const
{
  std::vector<float> next(parameters.begin(), parameters.end());
  ForEachPart(learningRate, workers, [&](const OptimizerStep & step, std::size_t begin, std::size_t end) {
    m_Rule->move(step, gradient, parameters, state, begin, end, next);
  });
  return next;
}

double
Optimizer::Clip(double greatest, std::vector<double> & gradient) const
{
  constexpr double Tiny = 1e-6; // PyTorch's
  double           squares = 0;
  for (const ParameterGroup & group : m_Groups)
  {
    for (std::size_t i = group.begin; i < group.end; ++i)
    {
      squares += gradient[i] * gradient[i];
    }
  }
  const double norm = std::sqrt(squares), factor = greatest / (norm + Tiny);
  if (factor < 1)
  {
    std::transform(gradient.begin(), gradient.end(), gradient.begin(), [factor](double g) { return g * factor; });
  }
  return norm;
}

void
Optimizer::Step(const std::vector<double> & gradient,
                const std::vector<float> &  next,
                std::vector<double> &       parameters,
                Workers &                   workers)
{
  ForEachPart(0, workers, [&](const OptimizerStep & step, std::size_t begin, std::size_t end) {
    m_Rule->advance(step, gradient, parameters, begin, end, state);
  });
  ++steps;
  std::copy(next.begin(), next.end(), parameters.begin());
}

} // namespace gigapixel

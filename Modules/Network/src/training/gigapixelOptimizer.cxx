/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOptimizer.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFrozenParameters.h"
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

Optimizer::Optimizer(const TrainingOptions & options, const NetworkDescription & network)
  : m_Kind(ToKind(options.optimizer))
  , m_Momentum(options.momentum)
  , m_Groups(MakeParameterGroups(network, GetWeightDecay(options), options.freeze))
{
  firstMoment.resize(network.GetNumberOfParameters());
  secondMoment.resize(m_Kind == Kind::SGD ? 0 : firstMoment.size());
}

Optimizer::Kind
Optimizer::ToKind(const std::string & name)
{
  if (name != "adam" && name != "adamw" && name != "sgd")
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE", "there is no optimizer \"" + name + "\"", "choose adam, adamw or sgd")
        .OfValue(name));
  }
  return name == "adam" ? Kind::Adam : name == "adamw" ? Kind::AdamW : Kind::SGD;
}

double
Optimizer::GetWeightDecay(const TrainingOptions & options)
{
  constexpr double OfAdamW = 0.01;
  const double     own = ToKind(options.optimizer) == Kind::AdamW ? OfAdamW : 0;
  return options.weightDecay < 0 ? own : options.weightDecay;
}

namespace
{

/** How one value's moments go on, for each kind compiled by itself. */
template <Optimizer::Kind VKind>
struct Rule
{
  double momentum;

  /** That which the moments see: AdamW's do not see the weight decay. */
  static double
  GetGradient(double weightDecay, double gradient, double parameter)
  {
    return VKind == Optimizer::Kind::AdamW ? gradient : gradient + weightDecay * parameter;
  }

  double
  GetFirst(double moment, double gradient) const
  {
    return VKind == Optimizer::Kind::SGD ? momentum * moment + gradient
                                         : Optimizer::Beta1 * moment + (1 - Optimizer::Beta1) * gradient;
  }

  static double
  GetSecond(double moment, double gradient)
  {
    return Optimizer::Beta2 * moment + (1 - Optimizer::Beta2) * gradient * gradient;
  }
};

} // namespace

/** Calls f(rule, group, begin, end) with the kind's rule, for parts of the groups, by several threads: each value is
 * computed by itself. */
template <typename F>
void
Optimizer::ForEachPart(Workers & workers, const F & f) const
{
  const auto run = [&](const auto & rule) {
    for (const ParameterGroup & group : m_Groups)
    {
      workers.ForEachPart(group.end - group.begin, [&](std::size_t begin, std::size_t end) {
        f(rule, group, group.begin + begin, group.begin + end);
      });
    }
  };
  switch (m_Kind)
  {
    case Kind::Adam:
      return run(Rule<Kind::Adam>{ m_Momentum });
    case Kind::AdamW:
      return run(Rule<Kind::AdamW>{ m_Momentum });
    case Kind::SGD:
      return run(Rule<Kind::SGD>{ m_Momentum });
  }
}

std::vector<float>
Optimizer::GetNext(double                      learningRate,
                   const std::vector<double> & gradient,
                   const std::vector<double> & parameters,
                   Workers &                   workers) const
{
  const double       correction1 = 1 - std::pow(Beta1, static_cast<double>(steps + 1));
  const double       correction2 = 1 - std::pow(Beta2, static_cast<double>(steps + 1));
  std::vector<float> next(parameters.begin(), parameters.end());
  ForEachPart(workers, [&](const auto & rule, const ParameterGroup & group, std::size_t begin, std::size_t end) {
    const double kept = m_Kind == Kind::AdamW ? 1 - learningRate * group.weightDecay : 1;
    for (std::size_t i = begin; i < end; ++i)
    {
      const double slope = rule.GetGradient(group.weightDecay, gradient[i], parameters[i]);
      const double first = rule.GetFirst(firstMoment[i], slope);
      const double second = m_Kind == Kind::SGD ? 0 : rule.GetSecond(secondMoment[i], slope);
      const double step = m_Kind == Kind::SGD
                            ? learningRate * first
                            : learningRate * (first / correction1) / (std::sqrt(second / correction2) + Epsilon);
      next[i] = std::isfinite(first) && std::isfinite(second) ? static_cast<float>(kept * parameters[i] - step)
                                                              : std::numeric_limits<float>::quiet_NaN();
    }
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
  ++steps;
  ForEachPart(workers, [&](const auto & rule, const ParameterGroup & group, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
    {
      const double slope = rule.GetGradient(group.weightDecay, gradient[i], parameters[i]);
      firstMoment[i] = rule.GetFirst(firstMoment[i], slope);
      if (m_Kind != Kind::SGD)
      {
        secondMoment[i] = rule.GetSecond(secondMoment[i], slope);
      }
    }
  });
  std::copy(next.begin(), next.end(), parameters.begin());
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOptimizerRule_h
#define gigapixelOptimizerRule_h

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gigapixel
{

/** What holds for all values of a group of parameters in a step. */
struct OptimizerStep
{
  double       learningRate{ 0 };
  double       weightDecay{ 0 };
  double       momentum{ 0 };
  std::int64_t number{ 1 }; ///< from 1
};

/** An array of an optimizer's state, which has a value for each parameter. */
struct OptimizerState
{
  const char * name; ///< in the model file, after "training."
  double       least{ std::numeric_limits<double>::lowest() };
};

/** \class OptimizerRule
 * \brief What an optimizer makes of gradients: its entry. A rule is NAMEOptimizer in optimizers/NAME.cxx, made of a
 * formula for one value by MakeOptimizerRule(), and has a line in gigapixelOptimizerList.h. */
struct OptimizerRule
{
  using Arrays = std::vector<std::vector<double>>; ///< of the state

  std::vector<OptimizerState> state;

  /** The parameters [begin, end) after a step, which leaves the state as it is; NaN where it would hold no finite
   * number. */
  void (*move)(const OptimizerStep &       step,
               const std::vector<double> & gradient,
               const std::vector<double> & parameters,
               const Arrays &              state,
               std::size_t                 begin,
               std::size_t                 end,
               std::vector<float> &        next);

  /** Changes the state of the parameters [begin, end) as the same step does. */
  void (*advance)(const OptimizerStep &       step,
                  const std::vector<double> & gradient,
                  const std::vector<double> & parameters,
                  std::size_t                 begin,
                  std::size_t                 end,
                  Arrays &                    state);
};

/** The state of one parameter. \param TState an array of a double for each array of the state */
template <typename TState>
TState
GetState(const OptimizerRule::Arrays & arrays, std::size_t parameter)
{
  TState values{};
  for (std::size_t k = 0; k < values.size(); ++k)
  {
    values[k] = arrays[k][parameter];
  }
  return values;
}

/** \param TFormula is made of an OptimizerStep; formula(gradient, parameter, state) changes a TFormula::State and
 * returns the parameter after the step. */
template <typename TFormula>
OptimizerRule
MakeOptimizerRule(const std::vector<OptimizerState> & state)
{
  using State = typename TFormula::State;
  return { state,
           [](const OptimizerStep &         step,
              const std::vector<double> &   gradient,
              const std::vector<double> &   parameters,
              const OptimizerRule::Arrays & arrays,
              std::size_t                   begin,
              std::size_t                   end,
              std::vector<float> &          next) {
             const TFormula formula(step);
             for (std::size_t i = begin; i < end; ++i)
             {
               State        values = GetState<State>(arrays, i);
               const double moved = formula(gradient[i], parameters[i], values);
               const bool   isFinite =
                 std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
               next[i] = isFinite ? static_cast<float>(moved) : std::numeric_limits<float>::quiet_NaN();
             }
           },
           [](const OptimizerStep &       step,
              const std::vector<double> & gradient,
              const std::vector<double> & parameters,
              std::size_t                 begin,
              std::size_t                 end,
              OptimizerRule::Arrays &     arrays) {
             const TFormula formula(step);
             for (std::size_t i = begin; i < end; ++i)
             {
               State values = GetState<State>(arrays, i);
               formula(gradient[i], parameters[i], values);
               for (std::size_t k = 0; k < values.size(); ++k)
               {
                 arrays[k][i] = values[k];
               }
             }
           } };
}

} // namespace gigapixel

#endif

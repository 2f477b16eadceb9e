/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelAdam_h
#define gigapixelAdam_h

#include "GigapixelNetworkExport.h"

#include <cstdint>
#include <vector>

namespace gigapixel
{

/** \class Adam
 * \brief Kingma and Ba, "Adam: A Method for Stochastic Optimization" (ICLR 2015), Algorithm 1, in double.
 *
 * Parameters are kept as floats, which is what the model file holds: they are rounded after each step. */
struct GigapixelNetwork_EXPORT Adam
{
  static constexpr double Beta1 = 0.9;
  static constexpr double Beta2 = 0.999;
  static constexpr double Epsilon = 1e-8;

  std::vector<double> firstMoment;
  std::vector<double> secondMoment;
  std::int64_t        steps{ 0 };

  /** The parameters after a step, so that they can be looked at before the step is taken; NaN where a moment would be
   * no finite number. */
  std::vector<float> GetNext(double                      learningRate,
                             const std::vector<double> & gradient,
                             const std::vector<double> & parameters) const;

  /** Takes the step that led to these parameters. */
  void Step(const std::vector<double> & gradient, const std::vector<float> & next, std::vector<double> & parameters);
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "../gigapixelLoss.h"

#include <cmath>

namespace gigapixel
{

/** Lin et al., "Focal Loss for Dense Object Detection" (ICCV 2017): -(1 - p)^2 log(p), with their gamma of 2. Their
 * alpha are the weights of classes. */
double
GetFocalLoss(double logProbability, double & slope)
{
  const double missing = -std::expm1(logProbability); // 1 - p
  slope = missing * (missing - 2 * (1 - missing) * logProbability);
  return -missing * missing * logProbability;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLossEntry.h"

#include <cmath>

namespace gigapixel
{
namespace
{

/** Lin et al., "Focal Loss for Dense Object Detection" (ICCV 2017): -(1 - p)^2 log(p), with their gamma of 2. Their
 * alpha are the weights of classes. */
double
TakeFocal(double logProbability, double & slope)
{
  const double missing = -std::expm1(logProbability); // 1 - p
  slope = missing * (missing - 2 * (1 - missing) * logProbability);
  return -missing * missing * logProbability;
}

} // namespace

LossFormula
GetFocalLoss()
{
  return { &TakeFocal };
}

} // namespace gigapixel

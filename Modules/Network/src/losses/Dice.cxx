/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "../gigapixelLoss.h"

namespace gigapixel
{

/** Milletari et al., V-Net (3DV 2016), without the squares: (2 hits + 1) / (probabilities + truths + 1). The 1, one
 * pixel, keeps a class that an image lacks from dividing by 0. */
Overlap
GetDiceOverlap(double hits, double probabilities, double truths)
{
  return { 2 * hits + 1, probabilities + truths + 1, 2, 0, 0, 1 };
}

Overlap
GetDiceAndCrossEntropyOverlap(double hits, double probabilities, double truths)
{
  return GetDiceOverlap(hits, probabilities, truths);
}

} // namespace gigapixel

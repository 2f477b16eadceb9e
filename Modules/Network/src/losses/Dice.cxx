/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLossEntry.h"

namespace gigapixel
{
namespace
{

/** Milletari et al., V-Net (3DV 2016), without the squares: (2 hits + 1) / (probabilities + truths + 1). The 1, one
 * pixel, keeps a class that an image lacks from dividing by 0. */
Overlap
GetOverlap(double hits, double probabilities, double truths)
{
  return { 2 * hits + 1, probabilities + truths + 1, 2, 0, 0, 1 };
}

} // namespace

LossFormula
GetDiceLoss()
{
  return { nullptr, &GetOverlap };
}

} // namespace gigapixel

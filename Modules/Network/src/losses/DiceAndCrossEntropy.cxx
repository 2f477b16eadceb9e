/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLossEntry.h"

namespace gigapixel
{

/** nnU-Net's sum: Isensee et al., Nature Methods 18, 2021. */
LossFormula
GetDiceAndCrossEntropyLoss()
{
  return { GetSoftmaxCrossEntropyLoss().pixel, GetDiceLoss().overlap };
}

} // namespace gigapixel

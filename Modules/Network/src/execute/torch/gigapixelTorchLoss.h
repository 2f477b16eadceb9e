/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchLoss_h
#define gigapixelTorchLoss_h

#include "kernels/gigapixelLossTerms.h"

#include <ATen/core/Tensor.h>

namespace gigapixel::torchmodule
{

/** What LogitMap::TakeLoss() does on the CPU, where the logits lie on another device.
 * \param logits of a tile's core, float or double
 * \param classes bytes, one for each of its pixels, on the same device
 * \return the gradient for each logit; none: not all logits are finite */
at::Tensor TakeLoss(const at::Tensor & logits, const at::Tensor & classes, const LossTerms & terms, LossSum & sum);

} // namespace gigapixel::torchmodule

#endif

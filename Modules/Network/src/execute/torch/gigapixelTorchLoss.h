/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchLoss_h
#define gigapixelTorchLoss_h

#include "kernels/gigapixelLossTerms.h"

#include <ATen/core/Tensor.h>

namespace gigapixel::torchmodule
{

/** What LogitMap::TakeLoss() does on the CPU, where the logits lie on another device. Beside logits and gradient it
 * takes some 40 bytes for each of a million logits. \param logits of a tile's core \param classes bytes, one for each
 * of its pixels, on the same device \param type of the gradient \return the gradient for each logit; none: not all
 * logits are finite */
at::Tensor TakeLoss(const at::Tensor & logits,
                    const at::Tensor & classes,
                    const LossTerms &  terms,
                    at::ScalarType     type,
                    LossSum &          sum);

} // namespace gigapixel::torchmodule

#endif

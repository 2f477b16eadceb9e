/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelValueRange_h
#define gigapixelValueRange_h

#include "gigapixelModel.h"

namespace gigapixel
{

/** Whether all that the network computes fits into a float, whatever the pixels are. Where it does not, logits are
 * infinite or no numbers at all, and a mask of them would be full or empty without a word.
 *
 * The bound holds for every image, so that no tile has to be looked at: a network's input lies in 0..1, and interval
 * arithmetic takes this range through its layers. Of a layer, the bound is the sum of the sizes of all terms, the bias
 * among them: whatever order the kernels add them in, no partial sum is larger. It is compared with 1e38, a third of
 * the greatest float: so much is left for the rounding of sums and of weights (bf16), and for the difference of two
 * logits, which softmax takes.
 * \throw std::invalid_argument names the layer that can go beyond */
void CheckValueRange(const Model & model);

/** The same for weights that are no model yet.
 * \param parameters in the order of NetworkDescription::GetParameters(), one behind the other */
void CheckValueRange(const NetworkDescription & network, const std::vector<float> & parameters);

/** Whether fp16, which ends at 65504, can hold the weights. \throw std::invalid_argument names those that it cannot */
void CheckWeightsOfFloat16(const Model & model);

} // namespace gigapixel

#endif

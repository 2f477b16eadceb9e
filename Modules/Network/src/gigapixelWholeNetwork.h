/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWholeNetwork_h
#define gigapixelWholeNetwork_h

#include "gigapixelTileNetwork.h"

namespace gigapixel
{

/** Loss and gradient of a whole image by LibTorch's automatic differentiation of one graph, with LibTorch's own loss:
 * the paper's way, and the reference for everything else here. Sums over the pixels that take part.
 * \param device its precision is Float or Double; a GPU's tensors lie in managed memory, which may be more than it has
 * \param threads that LibTorch may use; the result's last bits may depend on them */
GigapixelNetwork_EXPORT LossGradient ComputeWholeGradient(const NetworkDescription &  network,
                                                          const std::vector<double> & parameters,
                                                          PixelSource &               pixels,
                                                          LabelSource &               labels,
                                                          const Device &              device,
                                                          int                         threads);

} // namespace gigapixel

#endif

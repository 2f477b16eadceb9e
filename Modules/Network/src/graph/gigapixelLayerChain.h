/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLayerChain_h
#define gigapixelLayerChain_h

#include "gigapixelNetworkDescription.h"

namespace gigapixel
{

/** A chain of layers as the graph of operations that it stands for: the image is padded with white, right and below, to
 * a multiple of the stride, and the logits are cropped to it. The arrays have the same names and order.
 * \param network of layers, validated \return validated */
GigapixelNetwork_EXPORT NetworkGraph MakeChainGraph(const NetworkDescription & network);

/** The layers that a graph of operations is a chain of, or none. Our own kernels compute these.
 * \param network of operations, validated \return what MakeChainGraph() makes this graph of, whatever its operations
 * other than convolutions are named */
GigapixelNetwork_EXPORT std::vector<Layer> FindChain(const NetworkDescription & network);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLayerChain_h
#define gigapixelLayerChain_h

#include "gigapixelNetworkDescription.h"

namespace gigapixel
{

/** What our own kernels compute. \throw std::invalid_argument the layers are no such chain, or the network asks for
 * something else that these kernels do not have */
void CheckLayers(const NetworkDescription & network);

/** A chain of layers as the graph of operations that it stands for: the image is padded with white, right and below, to
 * a multiple of the stride, and the logits are cropped to it. The arrays have the same names and order.
 * \param network with layers that CheckLayers() takes \return validated */
GigapixelNetwork_EXPORT NetworkGraph MakeChainGraph(const NetworkDescription & network);

/** Gives a network the graph that its layers stand for. \throw as CheckLayers() */
GigapixelNetwork_EXPORT void ExpandLayers(NetworkDescription & network);

/** Whether the graph is that of the network's layers, whatever its operations other than convolutions are named. */
bool IsChainOf(const NetworkGraph & graph, const NetworkDescription & network);

/** Gives a network whose graph is a chain its layers, and the graph the names that ExpandLayers() has for operations;
 * leaves every other network as it is. \param network without layers, validated */
void FindChain(NetworkDescription & network);

} // namespace gigapixel

#endif

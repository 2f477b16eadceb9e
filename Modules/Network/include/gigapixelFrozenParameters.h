/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFrozenParameters_h
#define gigapixelFrozenParameters_h

#include "gigapixelNetworkDescription.h"

namespace gigapixel
{

/** Names of the network's arrays that training leaves as they are.
 * \param names each the name of an array or of a module, whose arrays begin with it and a dot: "layer1" is
 * layer1.weight and layer1.0.bias, but not layer10.weight \throw std::invalid_argument names one that the network does
 * not have, with those that are near, or says that nothing is left to train */
GigapixelNetwork_EXPORT std::set<std::string> FindFrozen(const NetworkDescription &       network,
                                                         const std::vector<std::string> & names);

} // namespace gigapixel

#endif

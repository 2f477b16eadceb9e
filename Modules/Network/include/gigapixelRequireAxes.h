/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRequireAxes_h
#define gigapixelRequireAxes_h

#include "gigapixelNetworkDescription.h"

namespace gigapixel
{

/** \param axes 2 of slides and other images, 3 of volumes \param file that it is about; empty: about none
 * \throw std::invalid_argument the network takes the others */
GigapixelNetwork_EXPORT void RequireAxes(const NetworkDescription & network, int axes, const std::string & file = {});

} // namespace gigapixel

#endif

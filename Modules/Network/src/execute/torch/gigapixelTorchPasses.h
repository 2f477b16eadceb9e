/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchPasses_h
#define gigapixelTorchPasses_h

#include "execute/gigapixelGraphPasses.h"

namespace gigapixel::torchmodule
{

/** MakeTorchGraphPasses() of this module. */
GraphPasses * MakeGraphPasses(const NetworkDescription & network, const Device & device, GraphOperators operators);

} // namespace gigapixel::torchmodule

#endif

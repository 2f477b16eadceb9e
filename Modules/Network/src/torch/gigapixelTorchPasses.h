/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchPasses_h
#define gigapixelTorchPasses_h

#include "execute/gigapixelGraphPasses.h"
#include "gigapixelTilePasses.h"

namespace gigapixel::torchmodule
{

/** MakeStockPasses() of this module. */
TilePasses * MakeStockPasses(const NetworkDescription & network, Precision precision);

/** ComputeWholeGradient() of this module. */
LossGradient ComputeWholeGradient(const NetworkDescription &  network,
                                  const std::vector<double> & parameters,
                                  PixelSource &               pixels,
                                  LabelSource &               labels,
                                  const Device &              device,
                                  int                         threads);

/** MakeTorchGraphPasses() of this module. */
GraphPasses * MakeGraphPasses(const NetworkDescription & network, const Device & device);

} // namespace gigapixel::torchmodule

#endif

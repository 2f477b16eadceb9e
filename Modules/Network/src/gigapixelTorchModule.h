/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchModule_h
#define gigapixelTorchModule_h

#include "execute/gigapixelGraphPasses.h"
#include "gigapixelTilePasses.h"

namespace gigapixel
{

/** What LibTorch computes: functions of the module GigapixelTorchPasses (src/torch), which is loaded when they are
 * first asked for, so that the streaming path neither needs nor loads LibTorch. */
struct TorchModule
{
  const char * version;
  TilePasses * (*makeStockPasses)(const NetworkDescription &, Precision);
  LossGradient (*computeWholeGradient)(const NetworkDescription &,
                                       const std::vector<double> &,
                                       PixelSource &,
                                       LabelSource &,
                                       const Device &,
                                       int);
  GraphPasses * (*makeGraphPasses)(const NetworkDescription &, const Device &);

  /** \throw std::runtime_error when it does not load: what to install */
  static const TorchModule & Get();
};

} // namespace gigapixel

#endif

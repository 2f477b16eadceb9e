/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchModule_h
#define gigapixelTorchModule_h

#include "gigapixelGraphPasses.h"

namespace gigapixel
{

/** What LibTorch computes, networks that are graphs: functions of the module GigapixelTorchPasses (src/execute/torch),
 * which is loaded when they are first asked for, so that chains of layers neither need nor load LibTorch. */
struct TorchModule
{
  const char * version;
  GraphPasses * (*makeGraphPasses)(const NetworkDescription &, const Device &);

  /** \throw std::runtime_error when it does not load: what to install */
  static const TorchModule & Get();
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchModule_h
#define gigapixelTorchModule_h

#include "gigapixelGraphPasses.h"

namespace gigapixel
{

/** What LibTorch computes, networks that are graphs: functions of the module GigapixelTorchPasses (src/execute/torch),
 * which is loaded when they are first asked for, so that chains of layers neither need nor load LibTorch. */
struct GigapixelNetwork_EXPORT TorchModule
{
  const char * version; ///< of the LibTorch that the module was built with
  GraphPasses * (*makeGraphPasses)(const NetworkDescription &, const Device &, GraphOperators);
  /** GPUs that LibTorch can use. \param problem why there is none */
  int (*countGpus)(std::string & problem);
  /** Why LibTorch cannot compute on this GPU; empty: it can. */
  std::string (*getGpuProblem)(int number);
  /** Of its memory, what LibTorch may still take; none: this LibTorch does not say. */
  std::optional<std::int64_t> (*getFreeGpuBytes)(int number);
  /** Most bytes of its memory that this process' tensors have taken; none: this LibTorch does not say. */
  std::optional<std::int64_t> (*getPeakGpuBytes)(int number);

  /** \throw std::runtime_error when it does not load: what to install */
  static const TorchModule & Get();
};

/** \return the minor version of LibTorch, such as "2.15", whose module is to be loaded. Other versions' functions have
 * the same names, and take other arguments. \throw std::runtime_error LibTorch of a version is loaded that the engine
 * was not built with: names it and those that it was built with */
std::string ChooseTorchVersion();

} // namespace gigapixel

#endif

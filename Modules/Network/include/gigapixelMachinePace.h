/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMachinePace_h
#define gigapixelMachinePace_h

#include "gigapixelMemoryPlan.h"

namespace gigapixel
{

/** \class MachinePace
 * \brief How many seconds a core of this machine takes for each second of MemoryPlan::coreSeconds, which are those of
 * another machine. Plans do not depend on it, and so no result. */
struct GigapixelNetwork_EXPORT MachinePace
{
  double training{ 1 };  ///< of a step; 1: as fast as the reference machine
  double inference{ 1 }; ///< of inference, likewise

  /** With this network, whose weights are drawn, on pictures of noise in one tile. It takes a second or two.
   * \param budget bytes that the process may take meanwhile, which makes pictures smaller; 0: any
   * \throw std::runtime_error not even a small picture fits, or the network cannot be computed here, for instance
   * because LibTorch is missing; std::invalid_argument what MemoryPlan::Make() throws: networks that take no square
   * picture of a multiple of their stride, and what CheckDevice() throws */
  static MachinePace Measure(const NetworkDescription & network, Precision precision, std::int64_t budget);
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDeviceModule_h
#define gigapixelDeviceModule_h

#include "gigapixelChainPasses.h"

namespace gigapixel
{

/** What the module GigapixelCuda has (src/device). */
struct GigapixelNetwork_EXPORT DeviceModule
{
  /** \param problem why there is none, if there is a reason */
  int (*countDevices)(std::string & problem);
  std::string (*describeDevice)(int number);
  ChainPasses * (*makePasses)(const NetworkDescription & network, Device device);
  bool (*canShare)(int number);
  void * (*allocateShared)(int number, std::size_t bytes);
  void (*freeShared)(void * memory);
  void (*finishWriting)(int number, void * memory, std::size_t bytes);
  /** Brings shared memory that is only read to the device, beside what it computes. */
  void (*prefetch)(int number, const void * memory, std::size_t bytes);

  /** \throw std::runtime_error it does not load */
  static const DeviceModule & Get();
};

} // namespace gigapixel

#endif

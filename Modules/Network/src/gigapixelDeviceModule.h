/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDeviceModule_h
#define gigapixelDeviceModule_h

#include "gigapixelTilePasses.h"

namespace gigapixel
{

/** What the module GigapixelCuda has (src/device). */
struct DeviceModule
{
  /** \param problem why there is none, if there is a reason */
  int (*countDevices)(std::string & problem);
  std::string (*describeDevice)(int number);
  TilePasses * (*makePasses)(const NetworkDescription & network, Device device);
};

} // namespace gigapixel

#endif

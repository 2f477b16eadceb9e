/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BFloat16_h
#define BFloat16_h

#include "gigapixelDevice.h"

#include <fstream>
#include <iterator>

namespace gigapixel
{
namespace test
{

/** Of this machine's CPU, as the system says. */
inline bool
HasInstructions(const std::string & name)
{
  std::ifstream     file("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return text.find(name) != std::string::npos;
}

/** Precisions that this machine computes graphs in: others refuse bf16. */
inline std::vector<Precision>
GetGraphPrecisions()
{
  std::vector<Precision> precisions{ Precision::Float };
  if (HasInstructions("avx512bw"))
  {
    precisions.push_back(Precision::BFloat16);
  }
  return precisions;
}

} // namespace test
} // namespace gigapixel

#endif

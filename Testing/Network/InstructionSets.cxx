/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// For tests that compare bits, which depend on the instruction set. Preloaded into the program
// (LD_PRELOAD), this library leaves Highway only the instruction set that GIGAPIXEL_INSTRUCTION_SET names; loaded into
// the test, it tells which sets there are. It works because the program finds the same shared library of Highway.
#include "gigapixelKernelTargets.h"

#include <hwy/highway.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

namespace
{

/** Calls f(target) for each instruction set that the kernels were built for and that this machine has, the best one
 * first: Highway gives the better ones the lower bits. */
template <typename F>
void
ForEachTarget(const F & f)
{
  for (std::uint64_t left = static_cast<std::uint64_t>(hwy::SupportedTargets() & HWY_TARGETS); left != 0;
       left &= left - 1)
  {
    f(static_cast<std::int64_t>(left & (~left + 1)));
  }
}

__attribute__((constructor)) void
LimitInstructions()
{
  const char * const wanted = std::getenv("GIGAPIXEL_INSTRUCTION_SET");
  if (wanted == nullptr)
  {
    return;
  }
  std::int64_t found = 0;
  ForEachTarget([&](std::int64_t target) { found = hwy::TargetName(target) == std::string(wanted) ? target : found; });
  if (found == 0)
  {
    std::cerr << "this machine or build has no " << wanted << '\n';
    std::_Exit(1);
  }
  hwy::SetSupportedTargetsForTest(found);
}

} // namespace

/** Names of the instruction sets, the best one first, separated by spaces. */
extern "C" __attribute__((visibility("default"))) const char *
GetInstructionSets()
{
  static const std::string names = [] {
    std::string all;
    ForEachTarget([&](std::int64_t target) { all += (all.empty() ? "" : " ") + std::string(hwy::TargetName(target)); });
    return all;
  }();
  return names.c_str();
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelProcessMemory.h"

#include <fstream>

#include <unistd.h>

namespace gigapixel
{

std::int64_t
GetResidentBytes()
{
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::int64_t
GetMachineBytes()
{
  return std::int64_t{ sysconf(_SC_PHYS_PAGES) } * sysconf(_SC_PAGESIZE);
}

} // namespace gigapixel

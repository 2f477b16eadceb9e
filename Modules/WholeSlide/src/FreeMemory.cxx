/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "FreeMemory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <unistd.h>

namespace gigapixel
{
namespace
{

std::uint64_t
ReadNumber(const char * path)
{
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0; // "max" is no number: no limit
}

} // namespace

std::uint64_t
GetFreeMemory()
{
  std::uint64_t free = 0;
  std::ifstream file("/proc/meminfo");
  std::string   name;
  std::uint64_t value = 0;
  std::string   rest;
  while (file >> name >> value && std::getline(file, rest))
  {
    if (name == "MemAvailable:")
    {
      free = value * 1024;
      break;
    }
  }
#ifdef _SC_AVPHYS_PAGES
  if (free == 0)
  {
    free =
      static_cast<std::uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
#endif
  const std::uint64_t limit = ReadNumber("/sys/fs/cgroup/memory.max");
  const std::uint64_t used = ReadNumber("/sys/fs/cgroup/memory.current");
  return limit > 0 ? std::min(free, limit > used ? limit - used : 0) : free;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelProcessMemory.h"

#include <cstring>
#include <fstream>

#if __has_include(<link.h>)
#  include <link.h>
#endif
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

bool
IsLibraryLoaded(const std::string & name)
{
#if __has_include(<link.h>)
  std::string file = '/' + name + '.';
  const auto  isIt = [](dl_phdr_info * library, std::size_t, void * wanted) {
    return static_cast<int>(std::strstr(library->dlpi_name, static_cast<std::string *>(wanted)->c_str()) != nullptr);
  };
  return dl_iterate_phdr(isIt, &file) != 0;
#else
  return false;
#endif
}

std::int64_t
GetMachineBytes()
{
  return std::int64_t{ sysconf(_SC_PHYS_PAGES) } * sysconf(_SC_PAGESIZE);
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelProcessMemory.h"
#include "gigapixelFreeMemory.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#if __has_include(<link.h>)
#  include <link.h>
#endif
#include <dlfcn.h>
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

namespace
{

/** \return empty: there is none */
std::string
FindLoadedFile(const std::string & name)
{
#if __has_include(<link.h>)
  std::string wanted = '/' + name + '.';
  const auto  isIt = [](dl_phdr_info * library, std::size_t, void * text) {
    auto &     file = *static_cast<std::string *>(text);
    const bool found = std::strstr(library->dlpi_name, file.c_str()) != nullptr;
    file = found ? library->dlpi_name : file;
    return static_cast<int>(found);
  };
  return dl_iterate_phdr(isIt, &wanted) != 0 ? wanted : std::string();
#else
  return {};
#endif
}

} // namespace

bool
IsLibraryLoaded(const std::string & name)
{
  return !FindLoadedFile(name).empty();
}

void *
FindLoadedLibrary(const std::string & name)
{
  const std::string file = FindLoadedFile(name);
  return file.empty() ? nullptr : dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

std::int64_t
GetMachineBytes()
{
  const std::int64_t all = std::int64_t{ sysconf(_SC_PHYS_PAGES) } * sysconf(_SC_PAGESIZE);
  return static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(all), GetMemoryLimit()));
}

} // namespace gigapixel

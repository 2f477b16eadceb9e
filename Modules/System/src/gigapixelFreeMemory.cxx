/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFreeMemory.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include <unistd.h>

namespace gigapixel
{
namespace
{

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t
ReadNumber(const std::string & path)
{
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0; // "max" is no number: no limit
}

/** The number that follows a word at the beginning of a line; 0 where there is none. */
std::uint64_t
ReadNumberOf(const std::string & path, const std::string & key)
{
  std::ifstream file(path);
  std::string   name;
  std::string   rest;
  std::uint64_t value = 0;
  while (file >> name >> value && std::getline(file, rest))
  {
    if (name == key)
    {
      return value;
    }
  }
  return 0;
}

/** "/a/b" of the line "0::/a/b": the process's group, as the mounted hierarchy names it. */
std::string
GetControlGroup(const std::string & root)
{
  std::ifstream file(root + "proc/self/cgroup");
  std::string   line;
  while (std::getline(file, line))
  {
    if (line.rfind("0::", 0) == 0)
    {
      return line.substr(3);
    }
  }
  return "/";
}

/** What a group leaves of its limit. */
std::uint64_t
GetFreeOfGroup(const std::string & folder)
{
  const std::uint64_t limit = ReadNumber(folder + "/memory.max");
  if (limit == 0)
  {
    return unlimited;
  }
  const std::uint64_t fileBytes =
    ReadNumberOf(folder + "/memory.stat", "inactive_file") + ReadNumberOf(folder + "/memory.stat", "active_file");
  const std::uint64_t current = ReadNumber(folder + "/memory.current");
  const std::uint64_t used = current - std::min(current, fileBytes);
  // 0 would mean unknown.
  return std::max<std::uint64_t>(limit - std::min(limit, used), 1);
}

} // namespace

std::uint64_t
GetFreeMemory(const std::string & root)
{
  std::uint64_t free = ReadNumberOf(root + "proc/meminfo", "MemAvailable:") * 1024;
#ifdef _SC_AVPHYS_PAGES
  if (free == 0)
  {
    free =
      static_cast<std::uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
#endif
  // A group's limit binds those below it, too.
  std::string group = GetControlGroup(root);
  while (true)
  {
    free = std::min(free, GetFreeOfGroup(root + "sys/fs/cgroup" + group));
    const std::size_t slash = group.find_last_not_of('/') == std::string::npos ? std::string::npos : group.rfind('/');
    if (slash == std::string::npos)
    {
      return free;
    }
    group.erase(slash);
  }
}

} // namespace gigapixel

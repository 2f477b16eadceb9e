/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFreeMemory.h"
#include "gigapixelControlGroups.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include <unistd.h>

namespace gigapixel
{
namespace
{

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/** \return 0: there is none: "max", or no such file */
std::uint64_t
ReadNumber(const std::string & path)
{
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;
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

/** A group's limit, and what it has used of it. */
struct Use
{
  std::uint64_t limit{ unlimited };
  std::uint64_t used{ 0 };
};

Use
ReadUse(const std::string & limit, const std::string & used, const std::string & statistics)
{
  const std::uint64_t most = ReadNumber(limit);
  if (most == 0)
  {
    return {};
  }
  // What is used counts groups below; of files, version 1 has their sum under names of its own.
  const auto count = [&](const std::string & of) {
    return ReadNumberOf(statistics, of + "inactive_file") + ReadNumberOf(statistics, of + "active_file");
  };
  const std::uint64_t fileBytes = std::max(count(""), count("total_"));
  const std::uint64_t all = ReadNumber(used);
  return { most, all - std::min(all, fileBytes) };
}

std::vector<Use>
FindUses(const std::string & root)
{
  const ControlGroups groups = ControlGroups::Find("memory", root);
  std::vector<Use>    uses;
  uses.reserve(groups.unified.size() + groups.former.size());
  for (const std::string & folder : groups.unified)
  {
    uses.push_back(ReadUse(folder + "/memory.max", folder + "/memory.current", folder + "/memory.stat"));
  }
  for (const std::string & folder : groups.former)
  {
    const std::string statistics = folder + "/memory.stat";
    Use               use = ReadUse(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes", statistics);
    // The least of the groups above, which may not be visible.
    const std::uint64_t above = ReadNumberOf(statistics, "hierarchical_memory_limit");
    use.limit = std::min(use.limit, above > 0 ? above : unlimited);
    uses.push_back(use);
  }
  return uses;
}

/** The soft limit of "Max address space    1073741824    1073741824    bytes". */
std::uint64_t
ReadProcessLimit(const std::string & root, const std::string & name)
{
  std::ifstream file(root + "proc/self/limits");
  for (std::string line; std::getline(file, line);)
  {
    if (line.rfind(name, 0) == 0)
    {
      const std::size_t digit = line.find_first_not_of(' ', name.size());
      return digit != std::string::npos && line[digit] >= '0' && line[digit] <= '9' ? std::stoull(line.substr(digit))
                                                                                    : unlimited;
    }
  }
  return unlimited;
}

/** \return 0: it is not known */
std::uint64_t
GetFreeMemoryOfMachine(const std::string & root)
{
  const std::uint64_t available = ReadNumberOf(root + "proc/meminfo", "MemAvailable:") * 1024;
#ifdef _SC_AVPHYS_PAGES
  if (available == 0 && root == "/") // this machine's pages say nothing of another root
  {
    const long pages = ::sysconf(_SC_AVPHYS_PAGES);
    return pages > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
  }
#endif
  return available;
}

/** What `ulimit -v` leaves, which counts addresses, whether there is memory behind them or not. */
std::uint64_t
GetFreeAddresses(const std::string & root)
{
  const std::uint64_t limit = ReadProcessLimit(root, "Max address space");
  const std::uint64_t used = ReadNumber(root + "proc/self/statm") * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return limit == unlimited ? unlimited : limit - std::min(limit, used);
}

} // namespace

std::uint64_t
GetFreeMemory(const std::string & root)
{
  const std::uint64_t free = GetFreeMemoryOfMachine(root);
  std::uint64_t       left = GetFreeAddresses(root);
  for (const Use & use : FindUses(root))
  {
    left = std::min(left, use.limit == unlimited ? unlimited : use.limit - std::min(use.limit, use.used));
  }
  if (free == 0 && left == unlimited)
  {
    return 0;
  }
  return std::max<std::uint64_t>(free == 0 ? left : std::min(free, left), 1); // 0 would mean unknown
}

std::uint64_t
GetMemoryLimit(const std::string & root)
{
  std::uint64_t limit = ReadProcessLimit(root, "Max address space");
  for (const Use & use : FindUses(root))
  {
    limit = std::min(limit, use.limit);
  }
  return limit;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelControlGroups.h"

#include <fstream>
#include <sstream>

namespace gigapixel
{
namespace
{

/** "/a/b", "/a" and "" of "/a/b", behind the mounted hierarchy. */
void
AddPath(std::string group, const std::string & hierarchy, std::vector<std::string> & folders)
{
  while (group.find_last_not_of('/') != std::string::npos)
  {
    folders.push_back(hierarchy + group);
    group.erase(group.rfind('/'));
  }
  folders.push_back(hierarchy);
}

bool
HasController(const std::string & controllers, const std::string & wanted)
{
  std::istringstream list(controllers);
  for (std::string each; std::getline(list, each, ',');)
  {
    if (each == wanted)
    {
      return true;
    }
  }
  return false;
}

} // namespace

ControlGroups
ControlGroups::Find(const std::string & controller, const std::string & root)
{
  const std::string mounted = root + "sys/fs/cgroup";
  ControlGroups     groups;
  std::ifstream     file(root + "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) // "0::/a/b" of version 2, "4:cpu,cpuacct:/a/b" of version 1
  {
    const std::size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos)
    {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty() && groups.unified.empty())
    {
      AddPath(group, mounted, groups.unified);
      // Version 2 without a controller, beside those of version 1.
      AddPath(group, mounted + "/unified", groups.unified);
    }
    else if (HasController(controllers, controller))
    {
      AddPath(group, mounted + '/' + controllers, groups.former);
      if (controllers != controller)
      {
        AddPath(group, mounted + '/' + controller, groups.former);
      }
    }
  }
  if (groups.unified.empty())
  {
    groups.unified.push_back(mounted);
  }
  return groups;
}

} // namespace gigapixel

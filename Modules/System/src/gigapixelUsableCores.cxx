/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelUsableCores.h"
#include "gigapixelControlGroups.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include <sched.h>

namespace gigapixel
{
namespace
{

int
CountAllowedCores()
{
#ifdef __linux__
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
  {
    return CPU_COUNT(&cores);
  }
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/** \param quota microseconds of CPU time in each period; none is "max", -1 or no file */
int
LimitCores(int cores, std::istream & quota, std::istream & period)
{
  double allowed = 0, each = 0;
  if (!(quota >> allowed) || !(period >> each) || allowed <= 0 || each <= 0 || allowed >= cores * each)
  {
    return cores;
  }
  return std::max(1, static_cast<int>((allowed + each - 1) / each));
}

} // namespace

int
CountUsableCores(const std::string & root)
{
  int                 cores = CountAllowedCores();
  const ControlGroups groups = ControlGroups::Find("cpu", root);
  for (const std::string & folder : groups.unified)
  {
    std::ifstream both(folder + "/cpu.max");
    cores = LimitCores(cores, both, both);
  }
  for (const std::string & folder : groups.former)
  {
    std::ifstream quota(folder + "/cpu.cfs_quota_us"), period(folder + "/cpu.cfs_period_us");
    cores = LimitCores(cores, quota, period);
  }
  return cores;
}

int
CountThreads(unsigned workUnits, unsigned most)
{
  const auto set = static_cast<int>(std::min(workUnits, most));
  const bool isDefault = set == static_cast<int>(std::thread::hardware_concurrency());
  return isDefault ? std::min(set, CountUsableCores()) : set;
}

} // namespace gigapixel

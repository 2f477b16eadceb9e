/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFreeMemory.h"
#include "gigapixelUsableCores.h"
#include "gigapixelWorkers.h"

#include "TemporaryFolder.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include <unistd.h>

using namespace gigapixel;
using gigapixel::test::TemporaryFolder;

namespace
{

constexpr std::uint64_t MiB = 1 << 20;
constexpr std::uint64_t Available = std::uint64_t{ 22289764 } * 1024;

/** What a process sees in a container: proc/ and sys/ below a folder. */
class Machine
{
public:
  Machine()
    : m_Folder("machine")
  {
    this->Put("proc/meminfo", "MemTotal: 25000000 kB\nMemAvailable:   22289764 kB\n");
  }

  void
  Put(const std::string & name, const std::string & text) const
  {
    const std::filesystem::path path = this->GetRoot() + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  std::string
  GetRoot() const
  {
    return m_Folder.path + '/';
  }

  std::uint64_t
  GetFree() const
  {
    return GetFreeMemory(this->GetRoot());
  }

  int
  CountCores() const
  {
    return CountUsableCores(this->GetRoot());
  }

private:
  TemporaryFolder m_Folder;
};

void
PutFormerGroup(const Machine & machine, const std::string & folder, std::uint64_t limit, std::uint64_t used)
{
  machine.Put(folder + "/memory.limit_in_bytes", std::to_string(limit) + '\n');
  machine.Put(folder + "/memory.usage_in_bytes", std::to_string(used) + '\n');
}

} // namespace

TEST(Limits, OfMemoryOfControlGroupsOfVersion1)
{
  const Machine machine;
  machine.Put("proc/self/cgroup", "12:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n1:name=systemd:/docker/abc\n");
  EXPECT_EQ(machine.GetFree(), Available);
  // In a container the group's own folder is where the hierarchy is mounted.
  PutFormerGroup(machine, "sys/fs/cgroup/memory", 512 * MiB, 100 * MiB);
  EXPECT_EQ(machine.GetFree(), 412 * MiB);
  EXPECT_EQ(GetMemoryLimit(machine.GetRoot()), 512 * MiB);
  machine.Put("sys/fs/cgroup/memory/memory.stat", "cache 9\ninactive_file 20971520\nactive_file 10485760\n");
  EXPECT_EQ(machine.GetFree(), 442 * MiB);
  machine.Put("sys/fs/cgroup/memory/memory.stat",
              "inactive_file 0\nactive_file 0\nhierarchical_memory_limit 419430400\ntotal_inactive_file 10485760\n"
              "total_active_file 0\n");
  EXPECT_EQ(machine.GetFree(), 310 * MiB);
  // On a host its groups are below that, and each on the path binds.
  PutFormerGroup(machine, "sys/fs/cgroup/memory/docker/abc", 150 * MiB, 50 * MiB);
  EXPECT_EQ(machine.GetFree(), 100 * MiB);
  PutFormerGroup(machine, "sys/fs/cgroup/memory/docker", 200 * MiB, 190 * MiB);
  EXPECT_EQ(machine.GetFree(), 10 * MiB);
  // Without a limit there is the greatest number of pages.
  const Machine free;
  free.Put("proc/self/cgroup", "4:memory:/\n");
  PutFormerGroup(free, "sys/fs/cgroup/memory", 9223372036854771712u, 100 * MiB);
  EXPECT_EQ(free.GetFree(), Available);
}

TEST(Limits, OfMemoryOfBothVersions)
{
  const Machine machine;
  machine.Put("proc/self/cgroup", "4:memory:/a\n0::/b/c\n");
  PutFormerGroup(machine, "sys/fs/cgroup/memory/a", 700 * MiB, 0);
  EXPECT_EQ(machine.GetFree(), 700 * MiB);
  machine.Put("sys/fs/cgroup/b/memory.max", std::to_string(600 * MiB) + '\n');
  machine.Put("sys/fs/cgroup/b/memory.current", std::to_string(MiB) + '\n');
  EXPECT_EQ(machine.GetFree(), 599 * MiB);
  machine.Put("sys/fs/cgroup/b/c/memory.max", "max\n");
  EXPECT_EQ(machine.GetFree(), 599 * MiB);
}

TEST(Limits, OfAddresses)
{
  const Machine machine;
  EXPECT_EQ(GetMemoryLimit(machine.GetRoot()), std::numeric_limits<std::uint64_t>::max());
  machine.Put("proc/self/limits",
              "Limit                     Soft Limit           Hard Limit           Units     \n"
              "Max cpu time              unlimited            unlimited            seconds   \n"
              "Max address space         1073741824           unlimited            bytes     \n");
  machine.Put("proc/self/statm", "1000 900 1 1 0 1 0\n");
  EXPECT_EQ(machine.GetFree(), 1024 * MiB - 1000 * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(GetMemoryLimit(machine.GetRoot()), 1024 * MiB);
  machine.Put("proc/self/limits", "Max address space         unlimited            unlimited            bytes     \n");
  EXPECT_EQ(machine.GetFree(), Available);
}

TEST(Limits, OfMemoryThatTheKernelDoesNotTell)
{
  const Machine machine;
  machine.Put("proc/meminfo", "MemTotal: 25000000 kB\n");
  EXPECT_EQ(machine.GetFree(), 0u); // not known
  machine.Put("proc/self/cgroup", "0::/a\n");
  machine.Put("sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_EQ(machine.GetFree(), 0u);
  machine.Put("sys/fs/cgroup/a/memory.max", std::to_string(300 * MiB) + '\n');
  machine.Put("sys/fs/cgroup/a/memory.current", std::to_string(100 * MiB) + '\n');
  EXPECT_EQ(machine.GetFree(), 200 * MiB);
  machine.Put("sys/fs/cgroup/a/memory.current", std::to_string(300 * MiB) + '\n');
  EXPECT_EQ(machine.GetFree(), 1u); // known, and none
}

TEST(Limits, OfCores)
{
  const int all = CountUsableCores();
  EXPECT_GE(all, 1);
  EXPECT_EQ(GetNumberOfThreads(0), all);
  EXPECT_EQ(GetNumberOfThreads(7), 7);
  const Machine unified;
  unified.Put("proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(unified.CountCores(), all);
  unified.Put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(unified.CountCores(), all);
  unified.Put("sys/fs/cgroup/a/cpu.max", "50000 100000\n"); // half a core
  EXPECT_EQ(unified.CountCores(), 1);
  unified.Put("sys/fs/cgroup/a/cpu.max", std::to_string(100 * all) + "000000 100000\n");
  EXPECT_EQ(unified.CountCores(), all);
  const Machine former;
  former.Put("proc/self/cgroup", "3:cpuset:/\n12:cpu,cpuacct:/docker/abc\n");
  former.Put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  former.Put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(former.CountCores(), all);
  former.Put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "20000\n");
  former.Put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "20000\n");
  EXPECT_EQ(former.CountCores(), 1);
}

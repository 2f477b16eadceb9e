/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TemporaryFolder.h"
#include "gigapixelAtomicFile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** Files and folders that were synchronised, in their order. */
std::vector<ino_t> synchronised;

/** What another process does before the file gets its name. */
std::function<void()> beforeNaming = [] {};

ino_t
GetNumber(const std::string & path)
{
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

} // namespace

/** In the place of the C library's. */
extern "C" __attribute__((visibility("default"))) int
fsync(int descriptor)
{
  struct stat status = {};
  ::fstat(descriptor, &status);
  synchronised.push_back(status.st_ino);
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

extern "C" __attribute__((visibility("default"))) int
rename(const char * from, const char * to) noexcept
{
  beforeNaming();
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

extern "C" __attribute__((visibility("default"))) int
renameat2(int fromFolder, const char * from, int toFolder, const char * to, unsigned flags) noexcept
{
  beforeNaming();
  return static_cast<int>(::syscall(SYS_renameat2, fromFolder, from, toFolder, to, flags));
}

TEST(AtomicFile, BytesAndThenTheNameReachTheDisk)
{
  const TemporaryFolder folder("atomic-file");
  const std::string     target = folder.File("file");
  for (const bool replaces : { false, true })
  {
    AtomicFile file(target, replaces);
    file.Append("bytes");
    synchronised.clear();
    file.Commit();
    EXPECT_EQ(synchronised, (std::vector<ino_t>{ GetNumber(target), GetNumber(folder.path) })) << replaces;
  }
}

TEST(AtomicFile, IsNotSweptBeforeItHasItsName)
{
  const TemporaryFolder folder("atomic-file-sweep");
  const std::string     target = folder.File("file");
  for (const bool replaces : { false, true })
  {
    AtomicFile file(target, replaces);
    file.Append("bytes");
    int sweeps = 0;
    beforeNaming = [&] {
      AtomicFile::RemoveUnfinished(target);
      ++sweeps;
    };
    EXPECT_NO_THROW(file.Commit());
    beforeNaming = [] {};
    EXPECT_EQ(sweeps, 1);
    EXPECT_EQ(std::filesystem::file_size(target), 5U);
  }
}

TEST(AtomicFile, HasANameAsLongAsAnyFile)
{
  const TemporaryFolder folder("atomic-file-long");
  const std::string     target = folder.File(std::string(255, 'n'));
  for (const bool replaces : { false, true })
  {
    AtomicFile file(target, replaces);
    file.Append("bytes");
    AtomicFile::RemoveUnfinished(target); // which is not
    file.Commit();
    EXPECT_EQ(std::filesystem::file_size(target), 5U);
  }
}

TEST(AtomicFile, IsWrittenWhereALinkLeads)
{
  const TemporaryFolder folder("atomic-file-link");
  const std::string     disk = folder.File("disk");
  std::filesystem::create_directory(disk);
  std::filesystem::create_symlink("disk/one", folder.File("two"));
  std::filesystem::create_symlink(folder.File("two"), folder.File("three"));
  for (const bool replaces : { false, true })
  {
    AtomicFile file(folder.File("three"), replaces);
    file.Append("bytes");
    file.Commit();
    EXPECT_TRUE(std::filesystem::is_symlink(folder.File("three")));
    EXPECT_EQ(std::filesystem::file_size(disk + "/one"), 5U);
  }
}

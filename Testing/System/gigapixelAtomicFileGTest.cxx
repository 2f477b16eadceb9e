/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TemporaryFolder.h"
#include "gigapixelAtomicFile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

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

TEST(AtomicFile, TakesThePlaceOfALink)
{
  const TemporaryFolder folder("atomic-file-link");
  const std::string     file = folder.File("file");
  std::ofstream(file) << "as it was";
  for (const std::string & place : { file, folder.File("nowhere") })
  {
    const std::string link = folder.File("link");
    for (const bool replaces : { false, true })
    {
      std::filesystem::remove(link);
      std::filesystem::create_symlink(place, link);
      AtomicFile written(link, replaces);
      written.Append("bytes");
      if (replaces)
      {
        written.Commit();
      }
      else
      {
        EXPECT_THROW(written.Commit(), std::runtime_error);
      }
      EXPECT_EQ(std::filesystem::is_symlink(link), !replaces);
    }
    EXPECT_EQ(std::filesystem::file_size(link), 5U);
  }
  EXPECT_EQ(std::filesystem::file_size(file), 9U);
  EXPECT_FALSE(std::filesystem::exists(folder.File("nowhere")));
}

TEST(AtomicFile, IsWrittenIntoTheFolderThatALinkLeadsTo)
{
  const TemporaryFolder folder("atomic-file-folder");
  std::filesystem::create_directories(folder.File("disk/part"));
  std::filesystem::create_symlink("disk/part", folder.File("link"));
  AtomicFile file(folder.File("link/../one"));
  file.Append("bytes");
  file.Commit();
  EXPECT_EQ(std::filesystem::file_size(folder.File("disk/one")), 5U);
}

TEST(AtomicFile, RemovesWhatAKilledProcessLeft)
{
  const TemporaryFolder folder("atomic-file-killed");
  for (const char * const left : { ".a.12-0.part", ".a.b.12-0.part", ".b.12-0.part", ".a.x.part" })
  {
    std::ofstream(folder.File(left)) << "bytes";
  }
  for (const char * const target : { "a", "b", "c" })
  {
    AtomicFile(folder.File(target)).Commit();
  }
  EXPECT_FALSE(std::filesystem::exists(folder.File(".a.12-0.part")));
  EXPECT_FALSE(std::filesystem::exists(folder.File(".b.12-0.part")));
  EXPECT_TRUE(std::filesystem::exists(folder.File(".a.b.12-0.part")));
  EXPECT_TRUE(std::filesystem::exists(folder.File(".a.x.part")));
}

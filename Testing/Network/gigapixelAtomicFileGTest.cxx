/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TemporaryFolder.h"
#include "gigapixelAtomicFile.h"

#include <gtest/gtest.h>

#include <fstream>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** Files and folders that were synchronised, in their order. */
std::vector<ino_t> synchronised;

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

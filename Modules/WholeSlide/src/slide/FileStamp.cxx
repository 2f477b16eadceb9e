/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "FileStamp.h"

#include "Slide.h"
#include "formats/SlideFormat.h"

#include "gigapixelFileRefusal.h"

#include <algorithm>
#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace gigapixel
{
namespace
{

FileStamp::value_type
Describe(const std::string & path, const struct stat & status)
{
  return { path,
           static_cast<std::uint64_t>(status.st_dev),
           static_cast<std::uint64_t>(status.st_ino),
           static_cast<std::uint64_t>(status.st_size),
           static_cast<std::int64_t>(status.st_mtim.tv_sec),
           static_cast<std::int64_t>(status.st_mtim.tv_nsec) };
}

} // namespace

FileStamp
GetFileStamp(const std::string & path)
{
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0)
  {
    const std::error_code error(errno, std::generic_category());
    if (error == std::errc::no_such_file_or_directory)
    {
      throw SlideError(DescribeMissingFile(path));
    }
    throw SlideError(
      "E-FILE-ACCESS", path, "it cannot be opened: " + error.message(), GetFileRemedy(error, "check its name"));
  }
  if (!S_ISREG(status.st_mode))
  {
    throw SlideError("E-FILE-ACCESS", path, "it is not a file", "name a slide's file");
  }
  if (::access(path.c_str(), R_OK) != 0) // else each format in turn would not know the file
  {
    const std::error_code error(errno, std::generic_category());
    throw SlideError(
      "E-FILE-ACCESS", path, "it cannot be opened: " + error.message(), GetFileRemedy(error, "check its name"));
  }
  FileStamp stamp{ Describe(path, status) };
  for (const std::string & companion : FindCompanionFiles(path))
  {
    if (::stat(companion.c_str(), &status) == 0 && S_ISREG(status.st_mode))
    {
      stamp.push_back(Describe(companion, status));
    }
  }
  std::sort(stamp.begin() + 1, stamp.end());
  return stamp;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "FileStamp.h"

#include "Slide.h"

#include <cerrno>
#include <cstring>

#include <sys/stat.h>

namespace gigapixel
{

FileStamp
GetFileStamp(const std::string & path)
{
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0)
  {
    throw SlideError(
      path, std::string("it cannot be opened: ") + std::strerror(errno), "check the name and its rights");
  }
  if (!S_ISREG(status.st_mode))
  {
    throw SlideError(path, "it is not a file", "name a slide's file");
  }
  return { path,
           static_cast<std::uint64_t>(status.st_ino),
           static_cast<std::uint64_t>(status.st_size),
           static_cast<std::int64_t>(status.st_mtim.tv_sec),
           static_cast<std::int64_t>(status.st_mtim.tv_nsec) };
}

} // namespace gigapixel

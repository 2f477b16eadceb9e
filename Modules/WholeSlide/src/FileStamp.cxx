/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "FileStamp.h"

#include "KeyFile.h"
#include "Slide.h"

#include "gigapixelFileRefusal.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <sys/stat.h>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

/** Of MIRAX all files in the folder of the same name, of Hamamatsu's several files those that the first one names; all
 * other slides are of one file. */
std::vector<fs::path>
FindCompanions(const fs::path & slide)
{
  std::vector<fs::path> companions;
  const fs::path        ending = slide.extension();
  if (ending == ".mrxs")
  {
    std::error_code error;
    for (fs::directory_iterator entry(fs::path(slide).replace_extension(), error), end; !error && entry != end;
         entry.increment(error))
    {
      companions.push_back(entry->path());
    }
    std::sort(companions.begin(), companions.end());
  }
  else if (ending == ".vms" || ending == ".vmu")
  {
    for (const auto & value : ReadKeyFile(slide))
    {
      companions.push_back(slide.parent_path() / value.second);
    }
  }
  return companions;
}

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
    throw SlideError(path, "it cannot be opened: " + error.message(), GetFileRemedy(error, "check its name"));
  }
  if (!S_ISREG(status.st_mode))
  {
    throw SlideError(path, "it is not a file", "name a slide's file");
  }
  FileStamp stamp{ Describe(path, status) };
  for (const fs::path & companion : FindCompanions(path))
  {
    if (::stat(companion.c_str(), &status) == 0 && S_ISREG(status.st_mode))
    {
      stamp.push_back(Describe(companion.string(), status));
    }
  }
  return stamp;
}

} // namespace gigapixel

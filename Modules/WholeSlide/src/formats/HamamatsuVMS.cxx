/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Hamamatsu's VMS and VMU, through OpenSlide: a text that names the files of pixels beside it.
#include "files/KeyFile.h"
#include "SlideFormat.h"

#include "gigapixelJoinNames.h"

#include <algorithm>
#include <filesystem>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

constexpr const char * endings[] = { ".vms", ".vmu" };

/** Files of pixels that are named, and are not there. */
std::vector<std::string>
FindMissingFiles(const std::string & path)
{
  std::vector<std::string> missing;
  std::error_code          error;
  for (const auto & [key, name] : ReadKeyFile(path))
  {
    const std::string word = key.substr(key.rfind('/') + 1);
    const bool        isPixels = word.rfind("ImageFile", 0) == 0 || word == "MapFile";
    if (isPixels && !name.empty() && !fs::exists(fs::path(path).parent_path() / name, error) && !error)
    {
      missing.push_back(name);
    }
  }
  return missing;
}

bool
Detect(const SlideFile & file)
{
  const fs::path ending = fs::path(file.GetPath()).extension();
  return (ending == endings[0] || ending == endings[1]) &&
         (!FindMissingFiles(file.GetPath()).empty() || IsOpenSlides(file));
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  std::vector<std::string> missing = FindMissingFiles(file.GetPath());
  if (!missing.empty())
  {
    constexpr std::size_t most = 5;
    const std::string     number = std::to_string(missing.size());
    missing.resize(std::min(missing.size(), most));
    throw SlideError("E-SLIDE-PARTS",
                     file.GetPath(),
                     number + (number == "1" ? " file is" : " files are") + " missing beside it: " + JoinNames(missing),
                     "put all files of the slide into one folder");
  }
  return OpenThroughOpenSlide(file);
}

/** Other values are taken for names of files that are not there. */
std::vector<std::string>
FindCompanions(const std::string & path)
{
  std::vector<std::string> companions;
  for (const auto & value : ReadKeyFile(path))
  {
    companions.push_back((fs::path(path).parent_path() / value.second).string());
  }
  return companions;
}

void
CheckStatedSizes(const std::string & path)
{
  const std::string group = "Virtual Microscope Specimen/";
  CheckStatedProduct(ReadKeyFile(path), group + "NoJpegColumns", group + "NoJpegRows", StatedFileLimit, "files");
}

} // namespace

extern const SlideFormat hamamatsuVMSFormat;
const SlideFormat        hamamatsuVMSFormat{
  "hamamatsu-vms", { endings[0], endings[1] }, Detect, Open, nullptr, FindCompanions, nullptr, CheckStatedSizes
};

} // namespace gigapixel

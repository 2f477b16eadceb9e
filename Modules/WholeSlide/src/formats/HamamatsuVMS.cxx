/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Hamamatsu's VMS and VMU, through OpenSlide: a text that names the files of pixels beside it.
#include "KeyFile.h"
#include "SlideFormat.h"

#include <filesystem>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

constexpr const char * endings[] = { ".vms", ".vmu" };

bool
Detect(const SlideFile & file)
{
  const fs::path ending = fs::path(file.GetPath()).extension();
  return (ending == endings[0] || ending == endings[1]) && IsOpenSlides(file);
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
const SlideFormat        hamamatsuVMSFormat{ "hamamatsu-vms", { endings[0], endings[1] },
                                      Detect,          OpenThroughOpenSlide,
                                      nullptr,         FindCompanions,
                                      nullptr,         CheckStatedSizes };

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// 3DHISTECH's MIRAX, through OpenSlide: a folder with a description and files of data, and beside it a file of the same
// name, of which only the name counts: it holds a picture, or nothing.
#include "files/KeyFile.h"
#include "SlideFormat.h"

#include <filesystem>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

constexpr const char * ending = ".mrxs";

bool
Detect(const SlideFile & file)
{
  return fs::path(file.GetPath()).extension() == ending && IsOpenSlides(file);
}

std::vector<std::string>
FindCompanions(const std::string & path)
{
  std::vector<std::string> companions;
  std::error_code          error;
  for (fs::directory_iterator entry(fs::path(path).replace_extension(), error), end; !error && entry != end;
       entry.increment(error))
  {
    companions.push_back(entry->path().string());
  }
  return companions;
}

std::string
FindDescription(const std::string & path)
{
  return (fs::path(path).replace_extension() / "Slidedat.ini").string();
}

void
CheckStatedSizes(const std::string & path)
{
  constexpr double  imageLimit = 1 << 25; // a slide of 100,000 pixels a side has 150,000
  const KeyFile     values = ReadKeyFile(FindDescription(path));
  const std::string width = "/DIGITIZER_WIDTH";
  CheckStatedProduct(values, "GENERAL/IMAGENUMBER_X", "GENERAL/IMAGENUMBER_Y", imageLimit, "images");
  CheckStatedNumber(values, "DATAFILE/FILE_COUNT", StatedFileLimit, "files");
  CheckStatedNumber(values, "HIERARCHICAL/HIER_0_COUNT", StatedFileLimit, "levels");
  for (const auto & value : values)
  {
    const std::size_t group = value.first.rfind(width);
    if (group != std::string::npos)
    {
      const std::string height = value.first.substr(0, group) + "/DIGITIZER_HEIGHT";
      CheckStatedProduct(values, value.first, height, StatedPixelLimit, "pixels of an image");
    }
  }
}

} // namespace

extern const SlideFormat miraxFormat;
const SlideFormat        miraxFormat{ "mirax", { ending },     Detect,          OpenThroughOpenSlide,
                               nullptr, FindCompanions, FindDescription, CheckStatedSizes };

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMaskName.h"

#include "gigapixelDiagnostic.h"

#include <filesystem>
#include <stdexcept>

namespace gigapixel
{
namespace fs = std::filesystem;

namespace
{
const std::string PyramidEnding = ".pyramid.tif";
}

std::string
GetSlideName(const std::string & slide)
{
  const std::string name = fs::path(slide).filename().string();
  const bool        isPyramid = name.size() >= PyramidEnding.size() &&
                         name.compare(name.size() - PyramidEnding.size(), PyramidEnding.size(), PyramidEnding) == 0;
  return isPyramid ? name.substr(0, name.size() - PyramidEnding.size()) : fs::path(name).stem().string();
}

std::string
GetMaskInFolder(const std::string & folder, const std::string & slide)
{
  return (fs::path(folder) / (GetSlideName(slide) + PyramidEnding)).string();
}

std::string
FindMask(const std::string & maskOrFolder, const std::string & slide)
{
  std::error_code error;
  if (!fs::exists(fs::symlink_status(maskOrFolder, error)))
  {
    throw Refusal(
      Diagnostic("E-FILE-MISSING", "there is neither a mask nor a folder of masks of this name", "check the name")
        .OfFile(maskOrFolder));
  }
  if (!fs::is_directory(maskOrFolder, error))
  {
    return maskOrFolder;
  }
  std::string mask = GetMaskInFolder(maskOrFolder, slide);
  if (!fs::is_regular_file(mask, error))
  {
    throw Refusal(Diagnostic("E-FILE-MISSING",
                             "the folder " + maskOrFolder + " has no " + fs::path(mask).filename().string() +
                               ", the mask of " + slide,
                             "make it, or name the mask itself")
                    .OfFile(maskOrFolder));
  }
  return mask;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideLibrary.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace gigapixel
{
namespace
{

/** Names for the loader, best first. All versions since 3.4 have the same functions. */
std::vector<std::string>
GetLibraryNames()
{
  // Environment variable GIGAPIXEL_OPENSLIDE: The library of OpenSlide to load. Without it `libopenslide.so.1`
  // or `.so.0` is loaded.
  const char * const named = std::getenv("GIGAPIXEL_OPENSLIDE");
  if (named != nullptr && *named != '\0')
  {
    return { named };
  }
  std::vector<std::string> names;
#ifdef GIGAPIXEL_PACKAGED_OPENSLIDE
  // In site-packages, seen from this program's folder, site-packages/itk/ITKGigapixel.
  std::error_code ignored;
  const auto      folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  names.push_back(folder.parent_path() / GIGAPIXEL_PACKAGED_OPENSLIDE);
#endif
  names.emplace_back("libopenslide.so.1");
  names.emplace_back("libopenslide.so.0");
  return names;
}

} // namespace

OpenSlideLibrary::OpenSlideLibrary()
{
  void * handle = nullptr;
  for (const std::string & name : GetLibraryNames())
  {
    handle = handle != nullptr ? handle : dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    const char * const reason = handle == nullptr ? dlerror() : nullptr;
    problem = reason != nullptr ? reason : problem;
  }
  if (handle == nullptr)
  {
    return;
  }
  Find(handle, "openslide_get_icc_profile_size", getICCProfileSize);
  Find(handle, "openslide_read_icc_profile", readICCProfile);
  problem.clear(); // those may be missing
  Find(handle, "openslide_detect_vendor", detectVendor);
  Find(handle, "openslide_open", open);
  Find(handle, "openslide_close", close);
  Find(handle, "openslide_get_error", getError);
  Find(handle, "openslide_get_version", getVersion);
  Find(handle, "openslide_get_level_count", getLevelCount);
  Find(handle, "openslide_get_level_dimensions", getLevelDimensions);
  Find(handle, "openslide_get_level_downsample", getLevelDownsample);
  Find(handle, "openslide_get_property_names", getPropertyNames);
  Find(handle, "openslide_get_property_value", getPropertyValue);
  Find(handle, "openslide_get_associated_image_names", getAssociatedImageNames);
  Find(handle, "openslide_get_associated_image_dimensions", getAssociatedImageDimensions);
  Find(handle, "openslide_read_associated_image", readAssociatedImage);
  Find(handle, "openslide_read_region", readRegion);
}

} // namespace gigapixel

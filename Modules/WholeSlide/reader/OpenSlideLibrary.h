/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideLibrary_h
#define OpenSlideLibrary_h

#include <cstdint>
#include <string>

#include <dlfcn.h>
#include <openslide.h>

namespace gigapixel
{

/** OpenSlide's functions. Its library is loaded, not linked: users replace it (it is under the LGPL). */
struct OpenSlideLibrary
{
  decltype(&openslide_detect_vendor)                   detectVendor;
  decltype(&openslide_open)                            open;
  decltype(&openslide_close)                           close;
  decltype(&openslide_get_error)                       getError;
  decltype(&openslide_get_version)                     getVersion;
  decltype(&openslide_get_level_count)                 getLevelCount;
  decltype(&openslide_get_level_dimensions)            getLevelDimensions;
  decltype(&openslide_get_level_downsample)            getLevelDownsample;
  decltype(&openslide_get_property_names)              getPropertyNames;
  decltype(&openslide_get_property_value)              getPropertyValue;
  decltype(&openslide_get_associated_image_names)      getAssociatedImageNames;
  decltype(&openslide_get_associated_image_dimensions) getAssociatedImageDimensions;
  decltype(&openslide_read_associated_image)           readAssociatedImage;
  decltype(&openslide_read_region)                     readRegion;
  // Null before version 4, whose header this program may not have been built with.
  std::int64_t (*getICCProfileSize)(openslide_t *);
  void (*readICCProfile)(openslide_t *, void *);

  std::string problem; // why it does not load; empty: it does

  OpenSlideLibrary();

private:
  template <typename TFunction>
  void
  Find(void * handle, const char * name, TFunction *& function)
  {
    function = reinterpret_cast<TFunction *>(dlsym(handle, name));
    problem = function != nullptr ? problem : std::string("it has no function ") + name;
  }
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideLibrary_h
#define OpenSlideLibrary_h

#include <cstdint>
#include <string>

#include <openslide.h>

namespace gigapixel
{

/** OpenSlide's functions. Its shared library is loaded when a file is first seen that may need it: with it come some
 * forty others, which take longer to load than all the rest of a program. Where the library is not installed, all else
 * works; and users replace it (it is under the LGPL) by naming another one in GIGAPIXEL_OPENSLIDE. */
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
  // Null before version 4, whose header this library may not have been built with.
  std::int64_t (*getICCProfileSize)(openslide_t *);
  void (*readICCProfile)(openslide_t *, void *);

  /** Null where the library does not load. */
  static const OpenSlideLibrary * Find();

  /** As Find(); throws std::runtime_error with GetProblem() where the library does not load. */
  static const OpenSlideLibrary & Get();

  /** In a few words why the library does not load; empty where it does. */
  static std::string GetProblem();

  /** The file of the library that is loaded; empty where none is. */
  static std::string GetPath();

  /** What to do where it does not load. */
  static const char * GetRemedy();

  /** Nothing is to be shown of what OpenSlide's GLib and libtiff say, but for what ends the program. To be called
   * before the library is loaded. */
  static void Silence();
};

} // namespace gigapixel

#endif

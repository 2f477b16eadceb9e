/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideTesting_h
#define OpenSlideTesting_h

#include "TIFFFixture.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openslide.h>

namespace gigapixel_test
{

/** A level as OpenSlide gives it in one piece; nothing of it may be transparent. */
inline Picture
ReadWithOpenSlide(const std::string & path, int level)
{
  const std::unique_ptr<openslide_t, void (*)(openslide_t *)> slide(openslide_open(path.c_str()), openslide_close);
  std::int64_t                                                width = 0;
  std::int64_t                                                height = 0;
  openslide_get_level_dimensions(slide.get(), level, &width, &height);
  std::vector<std::uint32_t> argb(static_cast<std::size_t>(width * height));
  openslide_read_region(slide.get(), argb.data(), 0, 0, level, width, height);
  EXPECT_EQ(openslide_get_error(slide.get()), nullptr);
  Picture picture{ static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), 3, {} };
  for (const std::uint32_t pixel : argb)
  {
    EXPECT_EQ(pixel >> 24, 255u);
    picture.pixels.push_back(static_cast<unsigned char>(pixel >> 16));
    picture.pixels.push_back(static_cast<unsigned char>(pixel >> 8));
    picture.pixels.push_back(static_cast<unsigned char>(pixel));
  }
  return picture;
}

/** Trestle's, which only OpenSlide reads: tiles of 128, and 5 x 4 of the 256 that OpenSlide is asked for. The
 * resolution is in micrometers per pixel there. */
inline std::string
WriteTrestle(const std::string & name)
{
  PyramidOptions options;
  options.width = 1200;
  options.height = 800;
  options.compression = COMPRESSION_JPEG;
  options.photometric = PHOTOMETRIC_YCBCR;
  options.pixelsPerCentimeter = 0.5;
  options.software = "MedScan";
  options.description = "Objective Power=20";
  std::string path = TemporaryFile(name);
  WritePyramid(path, options);
  return path;
}

} // namespace gigapixel_test

#endif

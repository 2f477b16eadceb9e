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

} // namespace gigapixel_test

#endif

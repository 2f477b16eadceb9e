/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSceneRegion_h
#define gigapixelSceneRegion_h

#include <cstdint>

namespace gigapixel
{

/** A rectangle of pixels of the slide. */
struct SceneRegion
{
  std::int64_t x{ 0 };
  std::int64_t y{ 0 };
  std::int64_t width{ 0 };
  std::int64_t height{ 0 };

  bool
  Contains(std::int64_t column, std::int64_t row) const
  {
    return column >= x && row >= y && column < x + width && row < y + height;
  }
};

} // namespace gigapixel

#endif

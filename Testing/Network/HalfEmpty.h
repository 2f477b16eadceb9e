/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef HalfEmpty_h
#define HalfEmpty_h

#include "gigapixelSource.h"

#include <algorithm>

namespace gigapixel
{
namespace test
{

/** One value on the right half, as glass without noise, so that many tiles are of one color. */
template <typename TSource, std::uint8_t Value>
class HalfEmpty : public TSource
{
public:
  using TSource::TSource;
  void
  Read(const Region & region, std::uint8_t * values) override
  {
    TSource::Read(region, values);
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      for (std::int64_t x = std::max<std::int64_t>(0, this->GetSize().width / 2 - region.x); x < region.width; ++x)
      {
        values[y * region.width + x] = Value;
      }
    }
  }
};

} // namespace test
} // namespace gigapixel

#endif

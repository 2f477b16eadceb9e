/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelCountedPixels.h"

#include <algorithm>

namespace gigapixel
{

bool
FindCounted(const GraphGeometry &       geometry,
            int                         operation,
            const Box &                 part,
            const PixelSource &         pixels,
            std::vector<std::uint8_t> & counted)
{
  constexpr std::int64_t BandPixels = 1 << 20; // of the image, read at a time
  std::vector<Interval>  columns;
  counted.clear();
  if (part.GetNumberOfAxes() > 2) // of a volume no source knows it
  {
    return true;
  }
  for (std::int64_t x = part[1].begin; x < part[1].end; ++x)
  {
    columns.push_back(geometry.GetNearest(operation, 1, { x, x + 1 }));
  }
  const Interval     across = geometry.GetNearest(operation, 1, part[1]);
  const Interval     down = geometry.GetNearest(operation, 0, part[0]);
  const std::int64_t inBand = std::max<std::int64_t>(
    1, BandPixels * part[0].GetLength() / std::max<std::int64_t>(1, across.GetLength() * down.GetLength()));
  std::vector<std::uint8_t> tissue;
  for (std::int64_t y0 = part[0].begin; y0 < part[0].end; y0 += inBand)
  {
    const std::int64_t y1 = std::min(part[0].end, y0 + inBand);
    const Interval     band = geometry.GetNearest(operation, 0, { y0, y1 });
    tissue.resize(band.GetLength() * across.GetLength());
    if (!pixels.ReadTissue({ across.begin, band.begin, across.GetLength(), band.GetLength() }, tissue.data()))
    {
      counted.clear();
      return true;
    }
    for (std::int64_t y = y0; y < y1; ++y)
    {
      const Interval rows = geometry.GetNearest(operation, 0, { y, y + 1 });
      for (const Interval & column : columns)
      {
        bool any = false;
        for (std::int64_t row = rows.begin; row < rows.end && !any; ++row)
        {
          const auto first = tissue.begin() + (row - band.begin) * across.GetLength() + column.begin - across.begin;
          const auto end = first + column.GetLength();
          any = std::find(first, end, 1) != end;
        }
        counted.push_back(any ? 1 : 0);
      }
    }
  }
  return std::find(counted.begin(), counted.end(), 1) != counted.end();
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelColorStretch.h"

#include "gigapixelTissueRule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gigapixel
{
namespace
{
using Counts = std::array<std::uint64_t, 256>;

/** The first value that, with those below it, has so many hundredths of all pixels. */
int
FindPercentile(const Counts & counts, std::uint64_t pixels, std::uint64_t hundredths)
{
  std::uint64_t sum = 0;
  int           value = -1;
  do
  {
    sum += counts[static_cast<std::size_t>(++value)];
  } while (100 * sum < hundredths * pixels);
  return value;
}

/** All that lies outside counts as the value at that end. */
Counts
Clip(const Counts & counts, int low, int high)
{
  Counts clipped{};
  for (int value = 0; value < 256; ++value)
  {
    clipped[static_cast<std::size_t>(std::clamp(value, low, high))] += counts[static_cast<std::size_t>(value)];
  }
  return clipped;
}

std::uint8_t
Round(double value)
{
  return static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}
} // namespace

ColorCounts &
ColorCounts::operator+=(const ColorCounts & other)
{
  for (std::size_t c = 0; c < values.size(); ++c)
  {
    for (std::size_t value = 0; value < values[c].size(); ++value)
    {
      values[c][value] += other.values[c][value];
    }
  }
  return *this;
}

void
CountColors(const unsigned char * pixels, std::size_t count, unsigned channels, ColorCounts & counts)
{
  const std::size_t second = channels == 1 ? 0 : 1;
  const std::size_t third = channels == 1 ? 0 : 2;
  for (const unsigned char * const end = pixels + count * channels; pixels != end; pixels += channels)
  {
    ++counts.values[0][pixels[0]];
    ++counts.values[1][pixels[second]];
    ++counts.values[2][pixels[third]];
  }
}

ByteTable
MakeColorStretch(const Counts & counts)
{
  ByteTable  table;
  const auto pixels = std::accumulate(counts.begin(), counts.end(), std::uint64_t{ 0 });
  if (pixels == 0)
  {
    std::iota(table.begin(), table.end(), std::uint8_t{ 0 });
    return table;
  }
  const int  low = FindPercentile(counts, pixels, 1);
  const int  high = FindPercentile(counts, pixels, 99);
  const bool isNarrow = high - low < LeastStretchedRange;
  const int  middle = isNarrow ? 0 : OtsuThreshold(Clip(counts, low, high));
  for (int value = 0; value < 256; ++value)
  {
    std::uint8_t & stretched = table[static_cast<std::size_t>(value)];
    if (isNarrow)
    {
      stretched = Round(128.0 + (value - 0.5 * (low + high)) * 255.0 / LeastStretchedRange);
    }
    else if (value <= low || value >= high)
    {
      stretched = value <= low ? 0 : 255;
    }
    else
    {
      stretched = Round(value < middle ? 128.0 * (value - low) / (middle - low)
                                       : 128.0 + 127.0 * (value - middle) / (high - middle));
    }
  }
  return table;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelColorStretch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using gigapixel::MakeColorStretch;

namespace
{
using Counts = std::array<std::uint64_t, 256>;
}

TEST(ColorStretch, PercentilesAndOtsusThresholdAreItsCorners)
{
  // Two classes, 100 to 119 and 140 to 159, of which the percentiles cut off one value each: Otsu separates them.
  Counts counts{};
  std::fill_n(counts.begin() + 100, 20, 50);
  std::fill_n(counts.begin() + 140, 20, 50);
  const auto table = MakeColorStretch(counts);
  const int  middle = 120; // the first threshold of those that are as good
  EXPECT_EQ(table[0], 0);
  EXPECT_EQ(table[100], 0);
  EXPECT_EQ(table[middle], 128);
  EXPECT_EQ(table[159], 255);
  EXPECT_EQ(table[255], 255);
  for (int value = 101; value < middle; ++value)
  {
    EXPECT_NEAR(table[static_cast<std::size_t>(value)], 128.0 * (value - 100) / (middle - 100), 0.5) << value;
  }
  for (int value = middle; value < 159; ++value)
  {
    EXPECT_NEAR(table[static_cast<std::size_t>(value)], 128 + 127.0 * (value - middle) / (159 - middle), 0.5) << value;
  }
}

TEST(ColorStretch, NoiseOfGlassStaysNoise)
{
  Counts counts{};
  std::fill_n(counts.begin() + 240, 11, 7); // 240 to 250
  const auto table = MakeColorStretch(counts);
  for (int value = 236; value <= 254; ++value)
  {
    EXPECT_NEAR(table[static_cast<std::size_t>(value)], 128 + (value - 245) * 255.0 / 24, 0.5) << value;
  }
  EXPECT_EQ(table[0], 0);
  EXPECT_EQ(table[127], 0);
}

TEST(ColorStretch, SpecksDoNotCount)
{
  Counts counts{};
  counts[0] = 9; // black dust: less than a hundredth
  counts[200] = 500;
  counts[240] = 491;
  const auto table = MakeColorStretch(counts);
  EXPECT_EQ(table[0], 0);
  EXPECT_EQ(table[200], 0);
  EXPECT_EQ(table[240], 255);
}

TEST(ColorStretch, WithoutPixelsNothingChanges)
{
  gigapixel::ByteTable same;
  std::iota(same.begin(), same.end(), std::uint8_t{ 0 });
  EXPECT_EQ(MakeColorStretch(Counts{}), same);
}

TEST(ColorStretch, GrayCountsInAllChannels)
{
  const unsigned char    pixels[] = { 1, 2, 3, 3, 3, 250 };
  gigapixel::ColorCounts gray, color;
  gigapixel::CountColors(pixels, 6, 1, gray);
  gigapixel::CountColors(pixels, 2, 3, color);
  for (const auto & channel : gray.values)
  {
    EXPECT_EQ(channel[3], 3u);
    EXPECT_EQ(std::accumulate(channel.begin(), channel.end(), std::uint64_t{ 0 }), 6u);
  }
  EXPECT_EQ(color.values[0][1], 1u);
  EXPECT_EQ(color.values[1][2], 1u);
  EXPECT_EQ(color.values[2][250], 1u);
  gray += color;
  EXPECT_EQ(gray.values[0][3], 4u);
}

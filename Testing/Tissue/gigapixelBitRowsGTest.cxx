/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelBitRows.h"
#include "itkTissueLabelImageFilter.h"
#include "itkNearestUpsampleImageFilter.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

TEST(BitRows, UnpackingFromAnyBitGivesTheMaskBack)
{
  std::mt19937 random(1);
  for (std::size_t count : { 1, 7, 8, 63, 64, 65, 130, 200 })
  {
    std::vector<unsigned char> pixels(count);
    for (auto & pixel : pixels)
    {
      pixel = static_cast<unsigned char>(random() % 3);
    }
    std::vector<std::uint64_t> bits((count + 63) / 64);
    gigapixel::PackBits(pixels.data(), count, bits.data());
    for (std::size_t first = 0; first < count; ++first)
    {
      std::vector<unsigned char> mask(count - first + 1, 7);
      gigapixel::UnpackBits(bits.data(), first, count - first, mask.data());
      for (std::size_t i = first; i < count; ++i)
      {
        ASSERT_EQ(mask[i - first], pixels[i] != 0 ? 255 : 0) << count << " " << i << " " << first;
      }
      ASSERT_EQ(mask.back(), 7) << "wrote past the end";
    }
  }
}

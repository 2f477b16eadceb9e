/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SyntheticSources.h"
#include "training/gigapixelOrientedSource.h"

#include <gtest/gtest.h>

#include <set>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

std::vector<std::uint8_t>
ReadAllOf(PixelSource & source)
{
  const Size                size = source.GetSize();
  std::vector<std::uint8_t> all(size.width * size.height * source.GetNumberOfChannels());
  source.Read({ 0, 0, size.width, size.height }, all.data());
  return all;
}

} // namespace

// Two pixels by three, written down by hand: a b / c d / e f.
TEST(OrientedSource, LaysASmallPictureInEightWays)
{
  struct Letters : PixelSource
  {
    Size
    GetSize() const override
    {
      return { 2, 3 };
    }
    unsigned
    GetNumberOfChannels() const override
    {
      return 1;
    }
    void
    Read(const Region & region, std::uint8_t * samples) override
    {
      ReadTissue(region, samples);
    }
    /** The same bytes: where they lie counts here. */
    bool
    ReadTissue(const Region & region, std::uint8_t * tissue) const override
    {
      for (std::int64_t y = region.y; y < region.y + region.height; ++y)
      {
        for (std::int64_t x = region.x; x < region.x + region.width; ++x)
        {
          *tissue++ = static_cast<std::uint8_t>("abcdef"[2 * y + x]);
        }
      }
      return true;
    }
  } letters;
  const char * const    expected[] = { "abcdef", "badcfe", "efcdab", "fedcba", "acebdf", "bdface", "ecafdb", "fdbeca" };
  std::set<std::string> all;
  for (int i = 0; i < Orientation::Number; ++i)
  {
    OrientedPixelSource laid(letters, i);
    EXPECT_EQ(laid.GetSize().width, i < 4 ? 2 : 3);
    const auto samples = ReadAllOf(laid);
    EXPECT_EQ(std::string(samples.begin(), samples.end()), expected[i]) << i;
    std::string tissue(6, ' ');
    EXPECT_TRUE(laid.ReadTissue({ 0, 0, laid.GetSize().width, laid.GetSize().height },
                                reinterpret_cast<std::uint8_t *>(tissue.data())));
    EXPECT_EQ(tissue, expected[i]) << i;
    all.emplace(samples.begin(), samples.end());
  }
  EXPECT_EQ(all.size(), 8u);
}

TEST(OrientedSource, RegionsArePartsOfTheWhole)
{
  ProceduralPixels source({ 301, 177 }, 1, 3);
  for (int i = 0; i < Orientation::Number; ++i)
  {
    OrientedPixelSource       laid(source, i);
    const auto                all = ReadAllOf(laid);
    const Region              region{ 11, 70, 130, 99 };
    std::vector<std::uint8_t> part(region.width * region.height * 3);
    laid.Read(region, part.data());
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      const auto row = all.begin() + ((region.y + y) * laid.GetSize().width + region.x) * 3;
      ASSERT_TRUE(std::equal(row, row + region.width * 3, part.begin() + y * region.width * 3)) << i << " " << y;
    }
  }
}

// Sides that are no multiples of 8 or 64, one channel and three: pixel by pixel by the definition.
TEST(OrientedSource, LaysLargePicturesInEightWays)
{
  const Size size{ 301, 177 };
  for (const int channels : { 1, 3 })
  {
    ProceduralPixels source(size, 3, channels);
    const auto       all = ReadAllOf(source);
    for (int i = 0; i < Orientation::Number; ++i)
    {
      OrientedPixelSource laid(source, i);
      const auto          samples = ReadAllOf(laid);
      const Size          laidSize = laid.GetSize();
      ASSERT_EQ(samples.size(), all.size());
      for (std::int64_t y = 0; y < laidSize.height; ++y)
      {
        for (std::int64_t x = 0; x < laidSize.width; ++x)
        {
          const std::int64_t u = (i & 4) != 0 ? y : x, v = (i & 4) != 0 ? x : y;
          const std::int64_t fromX = (i & 1) != 0 ? size.width - 1 - u : u;
          const std::int64_t fromY = (i & 2) != 0 ? size.height - 1 - v : v;
          for (int c = 0; c < channels; ++c)
          {
            ASSERT_EQ(samples[(y * laidSize.width + x) * channels + c],
                      all[(fromY * size.width + fromX) * channels + c])
              << i << " " << x << " " << y;
          }
        }
      }
    }
  }
}

TEST(OrientedSource, LabelsFollowThePixels)
{
  const Size       size{ 600, 520 };
  ProceduralPixels pixels(size, 1);
  ProceduralLabels labels(size, 1);
  for (int i = 0; i < Orientation::Number; ++i)
  {
    OrientedPixelSource       laidPixels(pixels, i);
    OrientedLabelSource       laidLabels(labels, i);
    const auto                samples = ReadAllOf(laidPixels);
    std::vector<std::uint8_t> classes(samples.size());
    laidLabels.Read({ 0, 0, laidLabels.GetSize().width, laidLabels.GetSize().height }, classes.data());
    for (std::size_t k = 0; k < samples.size(); ++k)
    {
      ASSERT_EQ(classes[k], samples[k] < 200 ? 1 : 0); // tissue is darker than 180, glass brighter than 224
    }
  }
}

// Floats of two channels, in a box that lies off the middle: voxel by voxel by the definition.
TEST(OrientedSource, LaysVolumesInSixteenWays)
{
  struct Volume : PixelSource
  {
    Size
    GetSize() const override
    {
      return { 13, 9, 5 };
    }
    unsigned
    GetNumberOfChannels() const override
    {
      return 2;
    }
    SampleType
    GetSampleType() const override
    {
      return SampleType::Float;
    }
    static float
    At(std::int64_t x, std::int64_t y, std::int64_t z, int c)
    {
      return static_cast<float>(1000 * z + 100 * y + x) + 0.5F * static_cast<float>(c);
    }
    void
    Read(const Region & region, std::uint8_t * samples) override
    {
      auto * value = reinterpret_cast<float *>(samples);
      for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
      {
        for (std::int64_t y = region.y; y < region.y + region.height; ++y)
        {
          for (std::int64_t x = region.x; x < region.x + region.width; ++x)
          {
            *value++ = At(x, y, z, 0);
            *value++ = At(x, y, z, 1);
          }
        }
      }
    }
  } volume;
  const Size size = volume.GetSize();
  for (int i = 0; i < 2 * Orientation::Number; ++i)
  {
    OrientedPixelSource laid(volume, i);
    EXPECT_EQ(laid.GetSampleType(), SampleType::Float);
    EXPECT_EQ(laid.GetSize().width, (i & 4) != 0 ? size.height : size.width);
    EXPECT_EQ(laid.GetSize().depth, size.depth);
    const Region       box{ 1, 2, 7, 6, 1, 3 };
    std::vector<float> samples(box.width * box.height * box.depth * 2);
    laid.Read(box, reinterpret_cast<std::uint8_t *>(samples.data()));
    auto value = samples.begin();
    for (std::int64_t z = box.z; z < box.z + box.depth; ++z)
    {
      for (std::int64_t y = box.y; y < box.y + box.height; ++y)
      {
        for (std::int64_t x = box.x; x < box.x + box.width; ++x)
        {
          const std::int64_t u = (i & 4) != 0 ? y : x, v = (i & 4) != 0 ? x : y;
          const std::int64_t fromX = (i & 1) != 0 ? size.width - 1 - u : u;
          const std::int64_t fromY = (i & 2) != 0 ? size.height - 1 - v : v;
          const std::int64_t fromZ = (i & 8) != 0 ? size.depth - 1 - z : z;
          for (int c = 0; c < 2; ++c)
          {
            ASSERT_EQ(*value++, Volume::At(fromX, fromY, fromZ, c)) << i << " " << x << " " << y << " " << z;
          }
        }
      }
    }
  }
}

// As likely as each other, and of pixels that are no squares only those that keep x and y apart.
TEST(OrientedSource, DrawsWhatKeepsAnImageOfItsKind)
{
  const auto draw = [](Size size, bool turns) {
    std::set<int> drawn;
    for (std::uint64_t number = 0; number < 500; ++number)
    {
      Random random(1, Random::Purpose::Augmentation, number);
      drawn.insert(Orientation::Draw(random, size, turns));
    }
    return drawn;
  };
  EXPECT_EQ(draw({ 30, 20 }, true), (std::set<int>{ 0, 1, 2, 3, 4, 5, 6, 7 }));
  EXPECT_EQ(draw({ 30, 20, 10 }, true).size(), 16u);
  EXPECT_EQ(draw({ 30, 20, 10 }, false), (std::set<int>{ 0, 1, 2, 3, 8, 9, 10, 11 }));
}

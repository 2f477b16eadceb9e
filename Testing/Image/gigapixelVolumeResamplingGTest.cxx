/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Volumes at another spacing, against functions that splines and lines go through.
#include "gigapixelVolumeResampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace gigapixel;

namespace
{

/** A function of the place in mm, in two channels. */
class Field : public PixelSource
{
public:
  using Function = std::function<double(double z, double y, double x)>;

  Field(const Size & size, const std::array<double, 3> & spacing, Function function)
    : m_Size(size)
    , m_Spacing(spacing)
    , m_Function(std::move(function))
  {}

  Size
  GetSize() const override
  {
    return m_Size;
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
  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
    {
      for (std::int64_t y = region.y; y < region.y + region.height; ++y)
      {
        for (std::int64_t x = region.x; x < region.x + region.width; ++x)
        {
          const double value = m_Function(m_Spacing[0] * (static_cast<double>(z) + 0.5),
                                          m_Spacing[1] * (static_cast<double>(y) + 0.5),
                                          m_Spacing[2] * (static_cast<double>(x) + 0.5));
          for (const auto sample : { static_cast<float>(value), static_cast<float>(-2 * value) })
          {
            std::memcpy(samples, &sample, sizeof(sample));
            samples += sizeof(sample);
          }
        }
      }
    }
  }

private:
  Size                  m_Size;
  std::array<double, 3> m_Spacing;
  Function              m_Function;
};

std::vector<float>
ReadAll(PixelSource & source)
{
  const Size         size = source.GetSize();
  std::vector<float> samples(static_cast<std::size_t>(2 * size.width * size.height * size.depth));
  source.Read({ 0, 0, size.width, size.height, 0, size.depth }, reinterpret_cast<std::uint8_t *>(samples.data()));
  return samples;
}

} // namespace

TEST(VolumeResampling, SaysHowManyVoxelsThereAre)
{
  const VolumeResampling resampling({ 40, 30, 20 }, { 2.5, 0.5, 1 }, { 1, 1, 1 });
  EXPECT_EQ(resampling.to.width, 40);
  EXPECT_EQ(resampling.to.height, 15);
  EXPECT_EQ(resampling.to.depth, 50);
  EXPECT_TRUE(resampling.ChangesSize());
  EXPECT_EQ(resampling.nearestAxis, 0); // 2.5 is more than three times 0.5
  EXPECT_EQ(resampling.nearestAxisBack, 0);
  EXPECT_FALSE(VolumeResampling({ 40, 30, 20 }, { 1, 1, 1 }, { 1.001, 1, 1 }).ChangesSize());
  EXPECT_EQ(VolumeResampling({ 40, 30, 20 }, { 5, 5, 1 }, { 1, 1, 1 }).nearestAxis, -1); // two are as coarse
  const VolumeResampling both({ 40, 30, 20 }, { 1, 4, 1 }, { 1, 1, 6 });
  EXPECT_EQ(both.nearestAxis, 1);
  EXPECT_EQ(both.nearestAxisBack, 2);
}

TEST(VolumeResampling, GoesThroughCubicPolynomials)
{
  const std::array<double, 3> spacing{ 1.3, 0.8, 1 }, wanted{ 1, 1, 0.7 };
  const auto                  function = [](double z, double y, double x) {
    return 0.002 * (z - 15) * (z - 20) * (z - 10) + 0.01 * (y - 9) * (y - 9) * x + 3 * x - 0.5 * y;
  };
  Field                  field({ 30, 32, 28 }, spacing, function);
  const VolumeResampling resampling(field.GetSize(), spacing, wanted);
  const auto             resampled = Resample(field, resampling);
  const Size             to = resampling.to;
  const auto             values = ReadAll(*resampled);
  // Of axes that are not divided to the last bit, a voxel is a little wider or narrower than wanted.
  const std::array<double, 3> step{ 1.3 * 28 / static_cast<double>(to.depth),
                                    0.8 * 32 / static_cast<double>(to.height),
                                    30.0 / static_cast<double>(to.width) };
  double                      greatest = 0;
  for (std::int64_t z = 12; z < to.depth - 12; ++z)
  {
    for (std::int64_t y = 10; y < to.height - 10; ++y)
    {
      for (std::int64_t x = 15; x < to.width - 15; ++x)
      {
        const double expected = function(step[0] * (static_cast<double>(z) + 0.5),
                                         step[1] * (static_cast<double>(y) + 0.5),
                                         step[2] * (static_cast<double>(x) + 0.5));
        const auto   at = static_cast<std::size_t>(2 * ((z * to.height + y) * to.width + x));
        greatest = std::max({ greatest, std::abs(values[at] - expected), std::abs(values[at + 1] + 2 * expected) / 2 });
      }
    }
  }
  EXPECT_LT(greatest, 2e-4); // of values up to 100
  EXPECT_EQ(Resample(field, resampling, [](double) { return false; }), nullptr);
}

TEST(VolumeResampling, KeepsSlicesApartAndRanges)
{
  const auto             isHalf = [](double z, double, double x) { return z < 10 ? 0.0 : x < 8 ? 0.0 : 1.0; };
  Field                  field({ 16, 4, 4 }, { 5, 1, 1 }, isHalf);
  const VolumeResampling resampling(field.GetSize(), { 5, 1, 1 }, { 1, 1, 0.5 });
  const auto             values = ReadAll(*Resample(field, resampling));
  ASSERT_EQ(resampling.to.depth, 20);
  for (std::int64_t z = 0; z < 20; ++z)
  {
    for (std::int64_t x = 0; x < 32; ++x)
    {
      const float value = values[static_cast<std::size_t>(2 * ((z * 4 + 1) * 32 + x))];
      EXPECT_GE(value, 0);
      EXPECT_LE(value, 1);
      EXPECT_TRUE(z >= 10 || value == 0) << z << ' ' << x;
    }
  }
}

TEST(SliceResampler, InterpolatesLinearlyAsSlicesCome)
{
  const VolumeResampling resampling({ 10, 7, 12 }, { 1, 1.5, 1 }, { 1.9, 1, 1 });
  const Size             there = resampling.to;
  ASSERT_EQ(there.depth, 6);
  std::vector<std::vector<float>> given;
  SliceResampler                  back(resampling, 2, [&](std::int64_t z, const std::vector<float> & slice) {
    EXPECT_EQ(z, static_cast<std::int64_t>(given.size()));
    given.push_back(slice);
  });
  const auto of = [&](double z, double y, double x, int c) { return (c == 0 ? 1 : -3) * (z + 10 * y + 100 * x); };
  for (std::int64_t z = 0; z < there.depth; ++z)
  {
    std::vector<float> slice;
    for (std::int64_t i = 0; i < 2 * there.width * there.height; ++i)
    {
      const std::int64_t voxel = i / 2;
      slice.push_back(static_cast<float>(of(static_cast<double>(z),
                                            static_cast<double>(voxel / there.width),
                                            static_cast<double>(voxel % there.width),
                                            static_cast<int>(i % 2))));
    }
    back.Add(z, slice);
  }
  ASSERT_EQ(given.size(), 12u);
  const auto place = [](std::int64_t voxel, std::int64_t from, std::int64_t to) {
    return std::clamp((static_cast<double>(voxel) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5,
                      0.0,
                      static_cast<double>(from - 1));
  };
  for (std::int64_t z = 0; z < 12; ++z)
  {
    for (std::int64_t y = 0; y < 7; ++y)
    {
      for (std::int64_t x = 0; x < 10; ++x)
      {
        const double expected = of(place(z, there.depth, 12), place(y, there.height, 7), place(x, there.width, 10), 1);
        const float  found = given[static_cast<std::size_t>(z)][static_cast<std::size_t>(2 * (y * 10 + x) + 1)];
        EXPECT_NEAR(found, expected, 1e-3);
      }
    }
  }
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What the tests of the kernels have in common: every instruction set of this machine, random values, guarded maps.
// Tolerances are relative to the greatest magnitude in an array (of sums: to the sum of their terms' magnitudes). 2e-6
// is some 30 roundings of float; a wrong edge or a missing pixel is off by 1e-3 and more.
#ifndef gigapixelKernelsFixture_h
#define gigapixelKernelsFixture_h

#include "gigapixelKernelTargets.h"
#include "gigapixelKernelsReference.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <random>
#include <string>

namespace gigapixel
{
namespace kernels
{

constexpr double Tolerance = 2e-6;

class KernelsTest : public ::testing::TestWithParam<std::int64_t>
{
protected:
  void
  SetUp() override
  {
    hwy::SetSupportedTargetsForTest(0);
    if ((hwy::SupportedTargets() & GetParam()) == 0)
    {
      GTEST_SKIP() << "this machine has no " << hwy::TargetName(GetParam());
    }
    Choose(GetParam());
  }

  void
  TearDown() override
  {
    Choose(0);
  }

  static void
  Choose(std::int64_t targets)
  {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  int
  Draw(int least, int most)
  {
    return std::uniform_int_distribution<int>(least, most)(m_Random);
  }

  std::vector<float>
  DrawFloats(std::size_t count, float scale)
  {
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float>              values(count);
    for (float & value : values)
    {
      value = normal(m_Random);
    }
    return values;
  }

  std::vector<std::uint8_t>
  DrawBytes(std::size_t count, int most)
  {
    std::vector<std::uint8_t> values(count);
    for (std::uint8_t & value : values)
    {
      value = static_cast<std::uint8_t>(Draw(0, most));
    }
    return values;
  }

  std::mt19937 m_Random{ 7 };
};

/** A map's memory between guards that no kernel may touch, planar or interleaved, with gaps between rows. */
template <typename T = float>
struct GuardedMap
{
  static constexpr float Guard = 12345.0f;

  std::vector<float> values;
  MapView<T>         view;
  std::int64_t       channels;

  GuardedMap(std::int64_t c, std::int64_t height, std::int64_t width, bool interleaved)
    : values((height + 2) * c * (width + 3), Guard)
    , channels(c)
  {
    const std::int64_t padded = width + 3;
    view.values = values.data() + c * padded;
    view.height = height;
    view.width = width;
    view.channelStride = interleaved ? 1 : height * padded;
    view.rowStride = interleaved ? padded * c : padded;
    view.columnStride = interleaved ? c : 1;
  }

  MapView<const float>
  GetConst() const
  {
    return { view.values, view.height, view.width, view.channelStride, view.rowStride, view.columnStride };
  }

  float &
  operator()(std::int64_t c, std::int64_t y, std::int64_t x)
  {
    return view.values[c * view.channelStride + y * view.rowStride + x * view.columnStride];
  }

  std::int64_t
  CountGuards() const
  {
    return std::count(values.begin(), values.end(), Guard);
  }

  std::int64_t
  GetSizeOfGuards() const
  {
    return static_cast<std::int64_t>(values.size()) - channels * view.height * view.width;
  }
};

inline void
Fill(GuardedMap<> & map, const std::vector<float> & values)
{
  std::size_t i = 0;
  for (std::int64_t c = 0; c < map.channels; ++c)
  {
    for (std::int64_t y = 0; y < map.view.height; ++y)
    {
      for (std::int64_t x = 0; x < map.view.width; ++x)
      {
        map(c, y, x) = values[i++];
      }
    }
  }
}

inline double
GetGreatest(const std::vector<double> & values)
{
  double greatest = 1e-30;
  for (double value : values)
  {
    greatest = std::max(greatest, std::abs(value));
  }
  return greatest;
}

inline void
ExpectNear(const std::vector<double> & values,
           const std::vector<double> & truth,
           double                      magnitude,
           const std::string &         what)
{
  ASSERT_EQ(values.size(), truth.size());
  const double limit = Tolerance * magnitude;
  for (std::size_t i = 0; i < truth.size(); ++i)
  {
    ASSERT_NEAR(values[i], truth[i], limit) << what << ", element " << i;
  }
}

inline void
ExpectNear(GuardedMap<> & map, const reference::Map & truth, const std::string & what)
{
  std::vector<double> values;
  for (std::int64_t c = 0; c < map.channels; ++c)
  {
    for (std::int64_t y = 0; y < map.view.height; ++y)
    {
      for (std::int64_t x = 0; x < map.view.width; ++x)
      {
        values.push_back(map(c, y, x));
      }
    }
  }
  ExpectNear(values, truth.values, GetGreatest(truth.values), what);
}

inline std::string
GetName(const ::testing::TestParamInfo<std::int64_t> & info)
{
  return hwy::TargetName(info.param);
}

const auto Targets = ::testing::Values(
#if HWY_ARCH_X86
  HWY_AVX3,
  HWY_AVX2,
  HWY_SSE4,
#elif HWY_ARCH_ARM_A64
  HWY_NEON,
#endif
  HWY_SCALAR);

} // namespace kernels
} // namespace gigapixel

#endif

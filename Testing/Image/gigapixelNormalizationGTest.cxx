/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Normalized values against the formulas on all values at once, in long double and by sorting.
#include "RefusalCode.h"
#include "gigapixelKeptNormalization.h"
#include "gigapixelNonZeroVoxels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <vector>

using namespace gigapixel;

namespace
{
using Kind = Normalization::Kind;
using Voxels = Normalization::Voxels;

/** Two channels; of floats, or of bytes. */
class Volume : public PixelSource
{
public:
  static constexpr Size     VolumeSize{ 31, 150, 5 };
  static constexpr unsigned Channels = 2;

  explicit Volume(SampleType type)
    : m_Type(type)
  {
    std::mt19937                    engine(1);
    std::normal_distribution<float> normal(1000, 30);
    values.resize(static_cast<std::size_t>(VolumeSize.width * VolumeSize.height * VolumeSize.depth) * Channels);
    for (float & value : values)
    {
      const float drawn = normal(engine);
      value = engine() % 4 == 0           ? 0
              : type == SampleType::Float ? drawn * ((&value - values.data()) % 2 ? -1 : 1)
                                          : std::floor(std::abs(drawn - 1000));
    }
  }

  Size
  GetSize() const override
  {
    return VolumeSize;
  }
  unsigned
  GetNumberOfChannels() const override
  {
    return Channels;
  }
  SampleType
  GetSampleType() const override
  {
    return m_Type;
  }
  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
    {
      for (std::int64_t y = region.y; y < region.y + region.height; ++y)
      {
        const float * row = values.data() + ((z * VolumeSize.height + y) * VolumeSize.width + region.x) * Channels;
        for (std::int64_t i = 0; i < region.width * Channels; ++i)
        {
          if (m_Type == SampleType::Float)
          {
            std::memcpy(samples, row + i, sizeof(float));
          }
          else
          {
            *samples = static_cast<std::uint8_t>(row[i]);
          }
          samples += GetSampleBytes(m_Type);
        }
      }
    }
  }

  std::vector<float> values;

private:
  SampleType m_Type;
};

std::vector<long double>
GetCounted(const Volume & volume, unsigned channel, bool nonZero)
{
  std::vector<long double> counted;
  for (std::size_t i = channel; i < volume.values.size(); i += Volume::Channels)
  {
    if (!nonZero || volume.values[i] != 0)
    {
      counted.push_back(volume.values[i]);
    }
  }
  return counted;
}

long double
GetPercentile(std::vector<long double> values, double percentile)
{
  std::sort(values.begin(), values.end());
  const long double rank = static_cast<long double>(values.size() - 1) * percentile / 100;
  const auto        below = static_cast<std::size_t>(rank);
  const auto        above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (rank - below);
}

/** What becomes of a value. */
long double
Apply(const Normalization & how, const std::vector<long double> & counted, long double value)
{
  if ((how.voxels == Voxels::NonZero) && value == 0)
  {
    return 0;
  }
  if (how.kind == Kind::ZScore)
  {
    long double sum = 0, squares = 0;
    for (const long double one : counted)
    {
      sum += one;
    }
    const long double mean = sum / counted.size();
    for (const long double one : counted)
    {
      squares += (one - mean) * (one - mean);
    }
    return (value - mean) / std::sqrt(squares / counted.size());
  }
  const bool        isWindow = how.kind == Kind::Window;
  const long double low = isWindow ? how.low : GetPercentile(counted, how.low);
  const long double high = isWindow ? how.high : GetPercentile(counted, how.high);
  return (std::clamp(value, low, high) - low) / (high - low);
}

struct Case
{
  const char *  name;
  Normalization how;
  SampleType    type{ SampleType::Float };
};

class Normalized : public testing::TestWithParam<Case>
{
};

class Filled : public Volume
{
public:
  explicit Filled(float value)
    : Volume(SampleType::Float)
  {
    std::fill(values.begin(), values.end(), value);
  }
};

std::vector<float>
ReadAll(PixelSource & source, const Region & region)
{
  std::vector<float> samples(static_cast<std::size_t>(region.width * region.height * region.depth) * Volume::Channels);
  source.Read(region, reinterpret_cast<std::uint8_t *>(samples.data()));
  return samples;
}

const Region Whole{ 0, 0, Volume::VolumeSize.width, Volume::VolumeSize.height, 0, Volume::VolumeSize.depth };

} // namespace

// A slide has its statistics from a coarser level. Values that are not finite take no part in them.
TEST(KeptNormalization, HasTheStatisticsOfOtherPixels)
{
  const auto measured = std::make_shared<Volume>(SampleType::Float);
  const auto finite = measured->values;
  const auto applied = std::make_shared<Filled>(990.0f);
  for (const Kind kind : { Kind::ZScore, Kind::Percentiles })
  {
    measured->values = finite;
    const Normalization how{ kind, Voxels::All, 2, 98 };
    const auto          counted = GetCounted(*measured, 0, false);
    measured->values.front() = std::nanf(""); // a value fewer, which changes the statistics by far less than the bound
    measured->values[2] = HUGE_VALF;
    KeptNormalization kept({ how });
    ASSERT_TRUE(kept.Find(measured));
    const auto samples = ReadAll(*kept.Apply(applied), Whole);
    EXPECT_NEAR(samples.front(), static_cast<double>(Apply(how, counted, 990)), 1e-3);
  }
}

TEST_P(Normalized, IsTheFormulaOnAllValues)
{
  const auto & how = GetParam().how;
  const auto   volume = std::make_shared<Volume>(GetParam().type);
  const auto   normalized = Normalize(volume, { how });
  ASSERT_TRUE(normalized);
  EXPECT_EQ(normalized->GetSampleType(), SampleType::Float);
  const auto                                    samples = ReadAll(*normalized, Whole);
  const std::array<std::vector<long double>, 2> counted{ GetCounted(*volume, 0, (how.voxels == Voxels::NonZero)),
                                                         GetCounted(*volume, 1, (how.voxels == Voxels::NonZero)) };
  std::array<std::map<float, double>, 2>        known; // the reference takes long for each value
  for (std::size_t i = 0; i < samples.size(); ++i)
  {
    const float value = volume->values[i];
    auto        found = known[i % 2].find(value);
    if (found == known[i % 2].end())
    {
      if (known[i % 2].size() > 60)
      {
        continue;
      }
      found = known[i % 2].emplace(value, static_cast<double>(Apply(how, counted[i % 2], value))).first;
    }
    ASSERT_NEAR(samples[i], found->second, 4e-7 * (1 + std::abs(found->second))) << i << ' ' << value;
  }
  const Region box{ 3, 70, 20, 60, 1, 3 };
  const auto   part = ReadAll(*normalized, box);
  EXPECT_EQ(part[0], samples[((1 * 150 + 70) * 31 + 3) * 2]);
  EXPECT_EQ(part.back(), samples[((3 * 150 + 129) * 31 + 22) * 2 + 1]);
}

INSTANTIATE_TEST_SUITE_P(
  All,
  Normalized,
  testing::Values(Case{ "ZScore", { Kind::ZScore } },
                  Case{ "ZScoreOfNonZero", { Kind::ZScore, Voxels::NonZero } },
                  Case{ "ZScoreOfBytes", { Kind::ZScore }, SampleType::UInt8 },
                  Case{ "Percentiles", { Kind::Percentiles, Voxels::All, 0.5, 99.5 } },
                  Case{ "Extremes", { Kind::Percentiles, Voxels::All, 0, 100 } },
                  Case{ "PercentilesOfNonZero", { Kind::Percentiles, Voxels::NonZero, 2, 98 } },
                  Case{ "PercentilesOfBytes", { Kind::Percentiles, Voxels::NonZero, 10, 90.3 }, SampleType::UInt8 },
                  Case{ "Window", { Kind::Window, Voxels::All, -990, 1010 } }),
  [](const auto & info) { return info.param.name; });

TEST(Normalization, OfNothingIsTheSourceItself)
{
  const auto volume = std::make_shared<Volume>(SampleType::Float);
  EXPECT_EQ(Normalize(volume, {}), volume);
}

TEST(Normalization, OfOneValueIsZero)
{
  for (const float value : { 0.0f, 7.0f })
  {
    for (const Normalization & how : { Normalization{ Kind::ZScore },
                                       Normalization{ Kind::ZScore, Voxels::NonZero },
                                       Normalization{ Kind::Percentiles, Voxels::All, 1, 99 },
                                       Normalization{ Kind::Percentiles, Voxels::NonZero, 1, 99 } })
    {
      const auto samples = ReadAll(*Normalize(std::make_shared<Filled>(value), { how }), Whole);
      EXPECT_EQ(std::count(samples.begin(), samples.end(), 0.0f), static_cast<std::ptrdiff_t>(samples.size()));
    }
  }
}

// Where both percentiles are one value, what is above it becomes 1. A channel may also have no number at all.
TEST(KeptNormalization, TellsChannelsOfOneValue)
{
  const auto volume = std::make_shared<Volume>(SampleType::Float);
  for (std::size_t i = 1; i < volume->values.size(); i += Volume::Channels)
  {
    volume->values[i] = -2;
  }
  volume->values[1] = std::nextafter(-2.0f, 0.0f);
  volume->values[3] = -3;
  volume->values[5] = HUGE_VALF;
  KeptNormalization percentiles({ { Kind::Percentiles, Voxels::All, 1, 99 } });
  ASSERT_TRUE(percentiles.Find(volume));
  EXPECT_EQ(percentiles.GetFlatChannels(), std::vector<std::size_t>{ 1 });
  const auto samples = ReadAll(*percentiles.Apply(volume), Whole);
  EXPECT_EQ(std::vector<float>({ samples[1], samples[3], samples[5], samples[7] }), std::vector<float>({ 1, 0, 1, 0 }));
  const auto none = std::make_shared<Filled>(std::nanf(""));
  for (const Kind kind : { Kind::Percentiles, Kind::ZScore })
  {
    KeptNormalization kept({ { kind, Voxels::All, 1, 99 } });
    ASSERT_TRUE(kept.Find(none));
    EXPECT_EQ(kept.GetFlatChannels(), std::vector<std::size_t>({ 0, 1 }));
    const auto zeros = ReadAll(*kept.Apply(none), Whole);
    EXPECT_EQ(std::count(zeros.begin(), zeros.end(), 0.0f), static_cast<std::ptrdiff_t>(zeros.size()));
  }
}

TEST(Normalization, StopsWhenAsked)
{
  for (const Normalization & how :
       { Normalization{ Kind::ZScore }, Normalization{ Kind::Percentiles, Voxels::All, 1, 99 } })
  {
    int        calls = 0;
    const auto stopped =
      Normalize(std::make_shared<Volume>(SampleType::Float), { how }, [&calls](double) { return ++calls < 3; });
    EXPECT_EQ(stopped, nullptr);
    EXPECT_EQ(calls, 3);
  }
}

TEST(Normalization, IsChecked)
{
  for (const Normalization & wrong : { Normalization{ Kind::Window, Voxels::All, 1, 1 },
                                       Normalization{ Kind::Percentiles, Voxels::All, 50, 40 },
                                       Normalization{ Kind::Percentiles, Voxels::All, -1, 40 },
                                       Normalization{ Kind::Percentiles, Voxels::All, 1, 101 },
                                       Normalization{ Kind::Window, Voxels::All, 1, NAN },
                                       Normalization{ Kind::Window, Voxels::NonZero, 0, 1 },
                                       Normalization{ Kind::Clip, Voxels::All, 2, 1 },
                                       Normalization{ Kind::Clip, Voxels::Box, 0, 1 } })
  {
    EXPECT_REFUSAL(wrong.Validate(), "E-NETWORK-FORMAT");
  }
}

TEST(Normalization, IsFoundOnceWhereItIsKept)
{
  for (const Normalization & how : { Normalization{ Kind::ZScore },
                                     Normalization{ Kind::Percentiles, Voxels::All, 1, 99 },
                                     Normalization{ Kind::Window, Voxels::All, -990, 1010 } })
  {
    gigapixel::KeptNormalization kept({ how });
    int                          calls = 0;
    const auto                   count = [&calls](double) { return ++calls > 0; };
    const auto                   first = kept.Apply(std::make_shared<Volume>(SampleType::Float), count);
    EXPECT_EQ(calls > 0, how.kind != Kind::Window);
    calls = 0;
    const auto again = kept.Apply(std::make_shared<Volume>(SampleType::Float), count);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(ReadAll(*again, Whole), ReadAll(*first, Whole));
    EXPECT_EQ(ReadAll(*first, Whole), ReadAll(*Normalize(std::make_shared<Volume>(SampleType::Float), { how }), Whole));
  }
  EXPECT_THROW(gigapixel::KeptNormalization(Normalizations{ { Kind::Window, Voxels::All, 1, 1 } }),
               std::invalid_argument);
}

namespace
{

/** Zeros but for a hollow shell with a gap or without one, and a single voxel; the second channel has one voxel more.
 */
class Shell : public Volume
{
public:
  explicit Shell(bool hasGap)
    : Volume(SampleType::Float)
  {
    std::fill(values.begin(), values.end(), 0.0f);
    for (std::int64_t z = 1; z < 4; ++z)
    {
      for (std::int64_t y = 20; y < 25; ++y)
      {
        for (std::int64_t x = 10; x < 16; ++x)
        {
          const bool isInner = z == 2 && y > 20 && y < 24 && x > 10 && x < 15;
          Get(x, y, z, 0) = isInner ? 0 : static_cast<float>(1 + x + y * z);
        }
      }
    }
    Get(12, 22, 1, 0) = hasGap ? 0 : 5;
    Get(20, 100, 3, 1) = 7;
  }

  float &
  Get(std::int64_t x, std::int64_t y, std::int64_t z, unsigned channel)
  {
    return values[static_cast<std::size_t>(((z * VolumeSize.height + y) * VolumeSize.width + x) * Channels + channel)];
  }
};

} // namespace

TEST(NonZeroVoxels, HaveABoxAndWhatTheyEnclose)
{
  for (const bool hasGap : { false, true })
  {
    Shell      shell(hasGap);
    const auto found = NonZeroVoxels::Find(shell);
    ASSERT_TRUE(found);
    const Region & box = found->GetBox();
    EXPECT_EQ((std::array{ box.x, box.y, box.z, box.width, box.height, box.depth }),
              (std::array<std::int64_t, 6>{ 10, 20, 1, 11, 81, 3 }));
    int filled = 0, nonZero = 0;
    for (std::int64_t z = 0; z < 5; ++z)
    {
      for (std::int64_t y = 0; y < 150; ++y)
      {
        for (std::int64_t x = 0; x < 31; ++x)
        {
          filled += found->IsFilled(x, y, z) ? 1 : 0;
          nonZero += shell.Get(x, y, z, 0) != 0 || shell.Get(x, y, z, 1) != 0 ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(filled - nonZero, hasGap ? 0 : 12);
    EXPECT_EQ(found->IsFilled(12, 22, 2), !hasGap);
  }
  Filled empty(0);
  EXPECT_EQ(NonZeroVoxels::Find(empty)->GetBox().height, 150);
  EXPECT_FALSE(NonZeroVoxels::Find(empty, [](double) { return false; }));
}

TEST(Normalization, IsOfEachChannelByItself)
{
  const auto shell = std::make_shared<Shell>(false);
  const auto boxed =
    ReadAll(*Normalize(shell, { { Kind::ZScore, Voxels::Box }, { Kind::Clip, Voxels::All, 1, 3 } }), Whole);
  const auto  filled = ReadAll(*Normalize(shell, { { Kind::None }, { Kind::ZScore, Voxels::Filled } }), Whole);
  long double sum = 0, squares = 0;
  for (std::int64_t z = 1; z < 4; ++z)
  {
    for (std::int64_t y = 20; y < 101; ++y)
    {
      for (std::int64_t x = 10; x < 21; ++x)
      {
        sum += shell->Get(x, y, z, 0);
        squares += static_cast<long double>(shell->Get(x, y, z, 0)) * shell->Get(x, y, z, 0);
      }
    }
  }
  const long double count = 3 * 81 * 11, mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
  constexpr int     OfFilled = 3 * 5 * 6 + 1; // in the second channel one of them is 7
  const double      ofSeven = (7 - 7.0 / OfFilled) / std::sqrt(49.0 / OfFilled - std::pow(7.0 / OfFilled, 2));
  const auto        at = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    return static_cast<std::size_t>(((z * 150 + y) * 31 + x) * 2);
  };
  EXPECT_NEAR(boxed[at(0, 0, 0)], -mean / deviation, 1e-6); // beyond the box as well
  EXPECT_NEAR(boxed[at(11, 21, 1)], (33 - mean) / deviation, 1e-5);
  EXPECT_EQ(boxed[at(20, 100, 3) + 1], 3);
  EXPECT_EQ(boxed[at(0, 0, 0) + 1], 1);
  EXPECT_EQ(filled[at(11, 21, 1)], 33);
  EXPECT_EQ(filled[at(0, 0, 0) + 1], 0);
  EXPECT_NEAR(filled[at(20, 100, 3) + 1], ofSeven, 1e-5);
  EXPECT_NEAR(filled[at(12, 22, 2) + 1], -7.0 / OfFilled * ofSeven / (7 - 7.0 / OfFilled), 1e-6); // enclosed
  EXPECT_REFUSAL(Normalize(shell, Normalizations(3, { Kind::ZScore })), "E-MODEL-INPUT");
  EXPECT_EQ(Describe({ { Kind::ZScore }, { Kind::Clip, Voxels::All, 1, 3 } }),
            "channel 1: z-score; channel 2: values are clipped to 1 to 3");
}

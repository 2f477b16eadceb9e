/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SyntheticSources.h"
#include "TemporaryFolder.h"
#include "training/gigapixelJitter.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "model/gigapixelInitialWeights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

using Colors = std::vector<std::array<double, 3>>;

const Colors Before{ { { 255, 255, 255 } }, { { 240, 236, 243 } }, { { 180, 90, 160 } }, { { 90, 60, 140 } },
                     { { 220, 150, 190 } }, { { 120, 80, 40 } },   { { 30, 60, 120 } },  { { 0, 0, 0 } },
                     { { 255, 0, 10 } },    { { 200, 201, 199 } } };

/** By NumPy with skimage.color.hed_from_rgb and rgb_from_hed (0.26), where no stain is negative the same as
 * hed2rgb(rgb2hed(rgb) * stains):
 *   rgb = np.minimum(np.exp(np.log(np.maximum(colors / 255, 1e-6)) @ hed_from_rgb * stains @ rgb_from_hed), 1)
 *   255 * np.clip(contrast * (rgb - .5) + .5 + brightness, 0, 1) */
void
ExpectColors(const Jitter & jitter, const Colors & after)
{
  std::vector<std::uint8_t> samples;
  for (const auto & color : Before)
  {
    samples.insert(samples.end(), color.begin(), color.end());
  }
  jitter.Apply(samples.data(), Before.size());
  for (std::size_t i = 0; i < Before.size(); ++i)
  {
    for (std::size_t c = 0; c < 3; ++c)
    {
      EXPECT_NEAR(samples[3 * i + c], after[i][c], 0.5 + 1e-4) << i << ", " << c;
    }
  }
}

} // namespace

TEST(Jitter, OfOneLeavesColorsAsTheyAre)
{
  ExpectColors({ { { 1, 1, 1 } }, { 1, 1, 1 }, { 0, 0, 0 } }, Before);
}

TEST(Jitter, ChangesStainsAsScikitImage)
{
  ExpectColors({ { { 1.1, 0.85, 0.95 } }, { 1, 1, 1 }, { 0, 0, 0 } },
               { { { 255, 255, 255 } },
                 { { 238.8704, 235.0244, 242.7526 } },
                 { { 178.5537, 97.509, 162.697 } },
                 { { 82.0892, 56.7904, 135.6043 } },
                 { { 220.7075, 157.7813, 192.931 } },
                 { { 121.6298, 80.108, 43.2965 } },
                 { { 23.659, 41.0811, 106.1224 } },
                 { { 0.0001, 0.0001, 0.0002 } },
                 { { 255, 0.0028, 15.5531 } },
                 { { 196.6457, 195.4524, 198.74 } } });
}

TEST(Jitter, OfFloatsIsAroundZeroAndHasNoBounds)
{
  std::vector<float> samples{ -3, 0, 2, 5, 10, -7 };
  Jitter{ { { 2, 2, 2 } }, { 0.5, 1.5, 1 }, { 0.25, 0, -1 } }.Apply(samples.data(), 2);
  EXPECT_EQ(samples, (std::vector<float>{ -1.25F, 0, 1, 2.75F, 15, -8 }));
}

TEST(Jitter, ChangesContrastAndBrightnessOfEachChannel)
{
  ExpectColors({ { { 0.8, 1.2, 1.15 } }, { 0.9, 1.1, 1.2 }, { 0.05, -0.1, 0.02 } },
               { { { 255, 242.25, 255 } },
                 { { 243.4601, 223.3675, 255 } },
                 { { 189.9486, 50.3002, 163.6476 } },
                 { { 122.8501, 37.3111, 158.0934 } },
                 { { 221.842, 114.2061, 198.8274 } },
                 { { 127.1201, 41.1832, 16.8606 } },
                 { { 68.7634, 91.5705, 163.3854 } },
                 { { 25.5013, 0, 0 } },
                 { { 139.4596, 0, 0 } },
                 { { 211.0118, 191.9487, 216.7085 } } });
}

TEST(Jitter, OfOtherImagesHasNoStains)
{
  std::vector<std::uint8_t> samples{ 0, 100, 255, 0, 100, 255 };
  Jitter{ { { 2, 2, 2 } }, { 0.5, 1 }, { 0.1, -0.2 } }.Apply(samples.data(), 3);
  // 255 * (0.5 * (v / 255 - 0.5) + 0.6) and v - 51, by turns
  EXPECT_EQ(samples, (std::vector<std::uint8_t>{ 89, 49, 217, 0, 139, 204 }));
}

TEST(Jitter, IsDrawnForEachImageWithinItsRanges)
{
  std::set<double> different;
  for (std::uint64_t number = 0; number < 1000; ++number)
  {
    const Jitter jitter = Jitter::Draw(0.2, 1, number, 3), again = Jitter::Draw(0.2, 1, number, 3);
    EXPECT_EQ(jitter.stains, again.stains);
    EXPECT_EQ(jitter.contrast, again.contrast);
    EXPECT_EQ(jitter.brightness, again.brightness);
    for (std::size_t c = 0; c < 3; ++c)
    {
      EXPECT_NEAR(jitter.stains[c], 1, 0.2);
      EXPECT_NEAR(jitter.contrast[c], 1, 0.2);
      EXPECT_NEAR(jitter.brightness[c], 0, 0.1);
    }
    different.insert(jitter.stains[0]);
  }
  EXPECT_EQ(different.size(), 1000u);
  EXPECT_LT(*different.begin(), 0.81);
  EXPECT_GT(*different.rbegin(), 1.19);
}

// Any division into reads gives the same pixels, and glass of one color stays of one color.
TEST(JitteredPixelSource, IsAFunctionOfColorAlone)
{
  ProceduralPixels    source({ 90, 70 }, 3, 3);
  JitteredPixelSource jittered(source, Jitter::Draw(0.3, 5, 7, 3));
  EXPECT_EQ(jittered.GetNumberOfChannels(), 3u);
  EXPECT_FALSE(jittered.FindRows({ 0, 0, 9, 9 }).first);
  std::vector<std::uint8_t> before(90 * 70 * 3), after(before.size());
  source.Read({ 0, 0, 90, 70 }, before.data());
  jittered.Read({ 0, 0, 90, 70 }, after.data());
  std::map<std::array<std::uint8_t, 3>, std::array<std::uint8_t, 3>> colors;
  for (std::size_t i = 0; i < before.size(); i += 3)
  {
    const std::array<std::uint8_t, 3> color{ { after[i], after[i + 1], after[i + 2] } };
    const auto                        found =
      colors.emplace(std::array<std::uint8_t, 3>{ { before[i], before[i + 1], before[i + 2] } }, color);
    ASSERT_EQ(found.first->second, color);
  }
  EXPECT_GT(colors.size(), 20u);
  EXPECT_NE(before, after);
  std::vector<std::uint8_t> part(31 * 17 * 3);
  jittered.Read({ 50, 40, 31, 17 }, part.data());
  for (std::int64_t y = 0; y < 17; ++y)
  {
    ASSERT_TRUE(
      std::equal(part.begin() + y * 93, part.begin() + (y + 1) * 93, after.begin() + ((40 + y) * 90 + 50) * 3));
  }
}

namespace
{

TrainingOptions
MakeOptions()
{
  TrainingOptions options;
  options.epochs = 2;
  options.threads = 2;
  options.tileSize = 128;
  options.jitter = 0.2;
  return options;
}

std::unique_ptr<Trainer>
MakeTrainer(const TrainingOptions & options, const std::string & folder)
{
  auto trainer = std::make_unique<Trainer>(NetworkDescription::Load("remedios2023"), options, folder);
  trainer->AddTrainingSample(MakeSample("a", { 200, 150 }, 1));
  trainer->AddTrainingSample(MakeSample("b", { 150, 200 }, 2));
  return trainer;
}

} // namespace

TEST(Jitter, IsPartOfARunAndGoesOnBitForBit)
{
  const TemporaryFolder straight("jitter-straight"), stopped("jitter-stopped");
  TrainingOptions       options = MakeOptions();
  EXPECT_TRUE(MakeTrainer(options, straight.path)->Run());
  EXPECT_FALSE(MakeTrainer(options, stopped.path)->Run([](const TrainingProgress & progress) {
    return progress.epoch < 2 || progress.fractionOfStep < 1;
  }));
  options.resume = true;
  options.threads = 3;
  TrainingOptions other = options;
  other.jitter = 0;
  EXPECT_THROW(MakeTrainer(other, stopped.path)->Run(), std::runtime_error);
  EXPECT_TRUE(MakeTrainer(options, stopped.path)->Run());
  const std::string last = "/last.safetensors";
  EXPECT_TRUE(ReadAll(straight.path + last) == ReadAll(stopped.path + last));

  const TemporaryFolder without("jitter-without");
  other = MakeOptions();
  other.jitter = 0;
  EXPECT_TRUE(MakeTrainer(other, without.path)->Run());
  EXPECT_FALSE(ReadAll(straight.path + last) == ReadAll(without.path + last));
}

TEST(Jitter, RefusesStrengthsThatAreNone)
{
  for (const double strength : { -0.1, 1.0, std::nan("") })
  {
    TrainingOptions options = MakeOptions();
    options.jitter = strength;
    EXPECT_THROW(MakeTrainer(options, "")->Run(), std::invalid_argument);
  }
}

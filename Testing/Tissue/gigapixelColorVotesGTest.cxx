/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelColorVotes.h"

#include <gtest/gtest.h>

#include <cmath>

using gigapixel::ColorVotes;
using gigapixel::TissueVerdict;

namespace
{
TissueVerdict
MakeVerdict(int tissue, int foreign, const std::array<std::uint8_t, 3> & color)
{
  return {
    static_cast<std::uint8_t>(tissue), static_cast<std::uint8_t>(foreign), ColorVotes::GetColor(color.data()), 1
  };
}

const std::array<std::uint8_t, 3> Pink{ { 210, 130, 190 } };
const std::array<std::uint8_t, 3> Green{ { 40, 120, 90 } };
} // namespace

TEST(ColorVotes, CountColorsInSteps)
{
  for (int value = 0; value < 256; ++value)
  {
    const auto                        level = static_cast<std::uint8_t>(value);
    const std::array<std::uint8_t, 3> color{ { level, static_cast<std::uint8_t>(255 - value), 77 } };
    for (unsigned channel = 0; channel < 3; ++channel)
    {
      const int middle = ColorVotes::GetLevel(ColorVotes::GetColor(color.data()), channel);
      EXPECT_EQ(middle / 8, color[channel] / 8);
      EXPECT_EQ(middle % 8, 4);
    }
  }
}

// A pen that is recognized in 900 of 1000 blocks is pen in the others, and so is tissue in which some blocks look like
// pen.
TEST(ColorVotes, LetTheManyDecideForTheFewOfTheirColor)
{
  ColorVotes votes;
  for (int i = 0; i < 1000; ++i)
  {
    votes.Add(i < 900 ? MakeVerdict(10, 240, Green) : MakeVerdict(200, 40, Green));
    for (int j = 0; j < 10; ++j)
    {
      votes.Add(i < 900 ? MakeVerdict(240, 5, Pink) : MakeVerdict(60, 190, Pink));
    }
  }
  votes.Count();
  TissueVerdict pen = MakeVerdict(200, 40, Green);
  votes.Apply(pen);
  EXPECT_LT(pen.tissue, 64);
  EXPECT_GT(pen.foreign, 128);
  TissueVerdict tissue = MakeVerdict(60, 190, Pink);
  votes.Apply(tissue);
  EXPECT_GT(tissue.tissue, 128);
  EXPECT_LE(tissue.tissue + tissue.foreign, 255);
}

// One color lies far from all others, so that 6/16 of its votes count on each axis.
TEST(ColorVotes, AddToTheLogOddsWhatTheirFormulaSays)
{
  ColorVotes votes;
  for (int i = 0; i < 400; ++i)
  {
    votes.Add(MakeVerdict(102, 51, Green)); // 0.4, 0.2 and 0.4
  }
  votes.Count();
  TissueVerdict verdict = MakeVerdict(102, 51, Green);
  votes.Apply(verdict);
  const double share = std::pow(6.0 / 16.0, 3);
  const double foreign = 1.5 * (std::log((160 * share + 1) / (80 * share + 1)) - 0.75 * std::log(2.0));
  const double glass = 0.25 * (std::log(1.0) - 0.0);
  const double first = 153 / (1 + std::exp(-(std::log(2.0) + foreign)));
  const double second = (first + 102) / (1 + std::exp(-(std::log(first / 102) + glass)));
  EXPECT_EQ(verdict.tissue, std::lround(second));
  EXPECT_EQ(verdict.foreign, std::lround(153 - first));
}

TEST(ColorVotes, ChangeNoGlassAndNeedNoVotes)
{
  ColorVotes votes;
  votes.Count();
  TissueVerdict glass = MakeVerdict(0, 0, Pink);
  votes.Apply(glass);
  EXPECT_EQ(glass.GetGlass(), 255);
  TissueVerdict verdict = MakeVerdict(100, 50, Pink);
  votes.Apply(verdict);
  EXPECT_EQ(verdict.tissue, 100);
  EXPECT_EQ(verdict.foreign, 50);
}

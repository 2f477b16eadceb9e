/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissueCorrection.h"
#include "gigapixelTissueNetwork.h"

#include <gtest/gtest.h>

#include <cmath>

using gigapixel::TissueCorrection;
using gigapixel::TissueNetwork;

namespace
{
TissueCorrection::Block
MakeBlockAt(double x)
{
  TissueCorrection::Block block{};
  block[0] = x;
  return block;
}

/** What a stroke asks for where the network says 1/2: the thresholds' log odds and the margin. */
const double WantedOfTissue = std::log(TissueNetwork::Likely / (1 - TissueNetwork::Likely)) + TissueCorrection::Margin;
const double WantedOfGlass =
  std::log(TissueNetwork::Possible / (1 - TissueNetwork::Possible)) - TissueCorrection::Margin;
} // namespace

TEST(TissueCorrection, IsNothingWithoutStrokes)
{
  TissueCorrection correction;
  correction.Solve();
  EXPECT_EQ(correction.Get(MakeBlockAt(0)), 0.0);
}

TEST(TissueCorrection, OfOneStrokeFallsAsTheKernelDoes)
{
  TissueCorrection correction;
  correction.Add(MakeBlockAt(0), true, 0.0);
  correction.Solve();
  const double atStroke = WantedOfTissue / (1 + TissueCorrection::Ridge);
  for (const double x : { 0.0, 0.5, 1.0, 3.0 })
  {
    EXPECT_NEAR(correction.Get(MakeBlockAt(x)), atStroke * std::exp(-0.5 * x * x), 1e-12);
  }
  EXPECT_LT(std::abs(correction.Get(MakeBlockAt(20))), 1e-12);
}

TEST(TissueCorrection, OfTwoStrokesSolvesTheirTwoEquations)
{
  TissueCorrection correction;
  correction.Add(MakeBlockAt(0), true, 0.0);
  correction.Add(MakeBlockAt(1), false, 0.0);
  correction.Solve();
  // Cramer's rule: (1 + ridge) a + k b = tissue, k a + (1 + ridge) b = glass.
  const double k = std::exp(-0.5);
  const double d = 1 + TissueCorrection::Ridge;
  const double a = (d * WantedOfTissue - k * WantedOfGlass) / (d * d - k * k);
  const double b = (d * WantedOfGlass - k * WantedOfTissue) / (d * d - k * k);
  EXPECT_NEAR(correction.Get(MakeBlockAt(0)), a + k * b, 1e-12);
  EXPECT_NEAR(correction.Get(MakeBlockAt(1)), k * a + b, 1e-12);
}

TEST(TissueCorrection, AsksForNothingWhereTheNetworkSaysSo)
{
  TissueCorrection correction;
  correction.Add(MakeBlockAt(0), true, 5.0);
  correction.Add(MakeBlockAt(9), false, -5.0);
  correction.Solve();
  EXPECT_EQ(correction.Get(MakeBlockAt(0)), 0.0);
  EXPECT_EQ(correction.Get(MakeBlockAt(9)), 0.0);
}

TEST(TissueCorrection, TakesSomeOfManyBlocksEvenly)
{
  TissueCorrection correction;
  constexpr int    many = 100000;
  for (int i = 0; i < many; ++i)
  {
    correction.Add(MakeBlockAt(20.0 * i / many), false, 0.0);
  }
  correction.Solve();
  // Strokes that stand close over a long way outweigh the ridge: between its ends the wish is all but granted.
  for (const double x : { 3.0, 10.0, 17.0 })
  {
    EXPECT_NEAR(correction.Get(MakeBlockAt(x)), WantedOfGlass, 0.05 * std::abs(WantedOfGlass));
  }
}

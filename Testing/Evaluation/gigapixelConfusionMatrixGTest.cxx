/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelConfusionMatrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

using gigapixel::ConfusionMatrix;

namespace
{

ConfusionMatrix
Fill(const std::vector<std::vector<int>> & counts)
{
  ConfusionMatrix matrix(static_cast<int>(counts.size()));
  for (std::size_t truth = 0; truth < counts.size(); ++truth)
  {
    for (std::size_t predicted = 0; predicted < counts.size(); ++predicted)
    {
      for (int i = 0; i < counts[truth][predicted]; ++i)
      {
        matrix.Add(static_cast<int>(truth), static_cast<int>(predicted));
      }
    }
  }
  return matrix;
}

TEST(ConfusionMatrix, HasTheFiguresOfTwoClasses)
{
  const ConfusionMatrix matrix = Fill({ { 50, 10 }, { 5, 35 } });
  EXPECT_EQ(matrix.GetTotal(), 100);
  EXPECT_EQ(matrix.GetCount(0, 1), 10);
  EXPECT_EQ(matrix.GetActual(1), 40);
  EXPECT_EQ(matrix.GetPredicted(1), 45);
  EXPECT_DOUBLE_EQ(matrix.GetAccuracy(), 0.85);
  EXPECT_DOUBLE_EQ(matrix.GetSensitivity(1), 35.0 / 40);
  EXPECT_DOUBLE_EQ(matrix.GetSpecificity(1), 50.0 / 60);
  EXPECT_DOUBLE_EQ(matrix.GetPrecision(1), 35.0 / 45);
  EXPECT_DOUBLE_EQ(matrix.GetF1(1), 70.0 / 85);
  EXPECT_DOUBLE_EQ(matrix.GetBalancedAccuracy(), 0.5 * (50.0 / 60 + 35.0 / 40));
  EXPECT_DOUBLE_EQ(matrix.GetSensitivity(0), matrix.GetSpecificity(1));
}

TEST(ConfusionMatrix, SetsOneClassAgainstTheRest)
{
  const ConfusionMatrix matrix = Fill({ { 5, 1, 0 }, { 2, 6, 2 }, { 0, 1, 3 } });
  EXPECT_DOUBLE_EQ(matrix.GetSensitivity(1), 0.6);
  EXPECT_DOUBLE_EQ(matrix.GetSpecificity(1), 0.8);
  EXPECT_DOUBLE_EQ(matrix.GetPrecision(1), 0.75);
  EXPECT_DOUBLE_EQ(matrix.GetF1(1), 2 * 0.75 * 0.6 / (0.75 + 0.6));
  EXPECT_DOUBLE_EQ(matrix.GetBalancedAccuracy(), (5.0 / 6 + 0.6 + 0.75) / 3);
}

/** 1 - (1 + 2 + 2 + 1) / (squared distances of all pairs of a truth and a taken class, over 20); 0 by chance. */
TEST(ConfusionMatrix, WeighsRanksByTheirSquaredDistance)
{
  // Truths 6, 10 and 4 times, taken 7, 8 and 5 times: (6 * (8 + 4 * 5) + 10 * (7 + 5) + 4 * (4 * 7 + 8)) / 20.
  const ConfusionMatrix matrix = Fill({ { 5, 1, 0 }, { 2, 6, 2 }, { 0, 1, 3 } });
  EXPECT_DOUBLE_EQ(matrix.GetQuadraticKappa(), 1 - 6 / ((6 * 28 + 10 * 12 + 4 * 36) / 20.0));
  EXPECT_DOUBLE_EQ(Fill({ { 1, 2 }, { 2, 4 } }).GetQuadraticKappa(), 0) << "independent of the truth";
  EXPECT_DOUBLE_EQ(Fill({ { 3, 0 }, { 0, 2 } }).GetQuadraticKappa(), 1);
  EXPECT_TRUE(std::isnan(Fill({ { 3, 0 }, { 0, 0 } }).GetQuadraticKappa()));
}

TEST(ConfusionMatrix, LeavesOutWhatHasNothingToJudge)
{
  const ConfusionMatrix matrix = Fill({ { 3, 0, 1 }, { 0, 0, 0 }, { 1, 0, 1 } });
  EXPECT_TRUE(std::isnan(matrix.GetSensitivity(1)));
  EXPECT_TRUE(std::isnan(matrix.GetPrecision(1)));
  EXPECT_TRUE(std::isnan(matrix.GetF1(1)));
  EXPECT_DOUBLE_EQ(matrix.GetSpecificity(1), 1);
  EXPECT_DOUBLE_EQ(matrix.GetBalancedAccuracy(), 0.5 * (0.75 + 0.5)) << "of the classes that occur";
  EXPECT_TRUE(std::isnan(ConfusionMatrix(2).GetAccuracy()));
  EXPECT_TRUE(std::isnan(ConfusionMatrix(2).GetBalancedAccuracy()));
  EXPECT_THROW(ConfusionMatrix(2).Add(2, 1), std::out_of_range);
}

} // namespace

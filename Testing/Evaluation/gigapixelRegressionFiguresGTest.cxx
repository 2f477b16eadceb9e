/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "gigapixelRegressionFigures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

using gigapixel::RegressionFigures;

TEST(RegressionFigures, HaveTheirClosedForms)
{
  const auto figures = RegressionFigures::Make({ 1, 2, 3, 6 }, { 2, 2, 2, 4 });
  EXPECT_DOUBLE_EQ(figures.rootMeanSquaredError, std::sqrt((1 + 0 + 1 + 4) / 4.0));
  EXPECT_DOUBLE_EQ(figures.meanAbsoluteError, 1);
  EXPECT_DOUBLE_EQ(figures.determination, 1 - 6.0 / 14);
  // Differences to the means -2, -1, 0, 3 and -0.5, -0.5, -0.5, 1.5.
  EXPECT_DOUBLE_EQ(figures.pearson, 6 / std::sqrt(14 * 3.0));
  // Ranks 0, 1, 2, 3 and 1, 1, 1, 3: differences -1.5, -0.5, 0.5, 1.5 and -0.5, -0.5, -0.5, 1.5.
  EXPECT_DOUBLE_EQ(figures.spearman, 3 / std::sqrt(5 * 3.0));
}

/** Of any line correlations are 1, of a falling one -1; ranks do not see what is monotonic. */
TEST(RegressionFigures, CorrelationsAreThoseOfLines)
{
  const std::vector<double> x{ -3, 0.5, 2, 7, 11 };
  std::vector<double>       falling, cubed;
  for (const double value : x)
  {
    falling.push_back(4 - 0.1 * value);
    cubed.push_back(value * value * value);
  }
  EXPECT_NEAR(RegressionFigures::Make(x, falling).pearson, -1, 1e-15);
  EXPECT_NEAR(RegressionFigures::Make(x, falling).spearman, -1, 1e-15);
  EXPECT_NEAR(RegressionFigures::Make(x, cubed).spearman, 1, 1e-15);
  EXPECT_LT(RegressionFigures::Make(x, cubed).pearson, 0.95);
  EXPECT_DOUBLE_EQ(RegressionFigures::Make(x, x).determination, 1);
}

TEST(RegressionFigures, LeavesOutWhatHasNothingToJudge)
{
  const auto equal = RegressionFigures::Make({ 2, 2 }, { 1, 4 });
  EXPECT_TRUE(std::isnan(equal.determination) && std::isnan(equal.pearson) && std::isnan(equal.spearman));
  EXPECT_DOUBLE_EQ(equal.meanAbsoluteError, 1.5);
  const auto same = RegressionFigures::Make({ 1, 4 }, { 2, 2 });
  EXPECT_TRUE(std::isnan(same.pearson));
  EXPECT_LT(same.determination, 0);
  EXPECT_REFUSAL(RegressionFigures::Make({}, {}), "E-OPTION-VALUE");
  EXPECT_REFUSAL(RegressionFigures::Make({ 1 }, { 1, 2 }), "E-OPTION-VALUE");
  EXPECT_REFUSAL(RegressionFigures::Make({ 1 }, { INFINITY }), "E-OPTION-VALUE");
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "gigapixelReceiverOperating.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

using gigapixel::AreaUnderROC;
using gigapixel::GetAreaUnderROC;
using gigapixel::GetAveragePrecision;
using gigapixel::GetOperatingPoints;

namespace
{

struct Cases
{
  std::vector<double> scores;
  std::vector<bool>   isPositive;
};

/** Positive cases score somewhat higher. \param levels scores are rounded to so many: ties, where they are few */
Cases
DrawCases(unsigned seed, int number, int levels)
{
  std::mt19937                           random(seed);
  std::uniform_real_distribution<double> uniform;
  Cases                                  cases;
  for (int i = 0; i < number; ++i)
  {
    const bool positive = i < 2 || (i > 3 && uniform(random) < 0.3); // two of each kind at least
    cases.isPositive.push_back(positive);
    cases.scores.push_back(std::floor(levels * 0.7 * (uniform(random) + (positive ? 0.4 : 0.0))) / levels);
  }
  return cases;
}

/** DeLong's definition, by all pairs of a positive and a negative case: the kernel is 1, 1/2 or 0 where the positive
 * one scores higher, the same or lower; its means over the cases of one kind are the components, whose variances add
 * up. */
AreaUnderROC
GetAreaByDefinition(const Cases & cases)
{
  std::vector<double> positives, negatives;
  for (std::size_t i = 0; i < cases.scores.size(); ++i)
  {
    (cases.isPositive[i] ? positives : negatives).push_back(cases.scores[i]);
  }
  const auto          m = static_cast<double>(positives.size()), n = static_cast<double>(negatives.size());
  std::vector<double> ofPositives(positives.size()), ofNegatives(negatives.size());
  double              area = 0;
  for (std::size_t i = 0; i < positives.size(); ++i)
  {
    for (std::size_t j = 0; j < negatives.size(); ++j)
    {
      const double kernel = positives[i] > negatives[j] ? 1.0 : positives[i] == negatives[j] ? 0.5 : 0.0;
      ofPositives[i] += kernel / n;
      ofNegatives[j] += kernel / m;
      area += kernel / (m * n);
    }
  }
  const auto variance = [area](const std::vector<double> & components) {
    double sum = 0;
    for (const double component : components)
    {
      sum += (component - area) * (component - area);
    }
    return sum / (static_cast<double>(components.size()) - 1);
  };
  return { area, std::sqrt(variance(ofPositives) / m + variance(ofNegatives) / n), 0, 0 };
}

// The example of scikit-learn's documentation of roc_auc_score and average_precision_score.
TEST(ReceiverOperating, KnowsTheTextbookExample)
{
  const Cases cases{ { 0.1, 0.4, 0.35, 0.8 }, { false, false, true, true } };
  EXPECT_DOUBLE_EQ(GetAreaUnderROC(cases.scores, cases.isPositive).area, 0.75);
  EXPECT_DOUBLE_EQ(GetAveragePrecision(cases.scores, cases.isPositive), 5.0 / 6);
  const auto points = GetOperatingPoints(cases.scores, cases.isPositive);
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points[0].threshold, std::numeric_limits<double>::infinity());
  const double expected[4][4] = {
    { 0.8, 0, 0.5, 1 }, { 0.4, 0.5, 0.5, 0.5 }, { 0.35, 0.5, 1, 2.0 / 3 }, { 0.1, 1, 1, 0.5 }
  };
  for (int i = 0; i < 4; ++i)
  {
    EXPECT_EQ(points[i + 1].threshold, expected[i][0]);
    EXPECT_EQ(points[i + 1].falsePositiveRate, expected[i][1]);
    EXPECT_EQ(points[i + 1].truePositiveRate, expected[i][2]);
    EXPECT_DOUBLE_EQ(points[i + 1].precision, expected[i][3]);
  }
}

TEST(ReceiverOperating, IsDeLongsDefinition)
{
  for (unsigned seed = 1; seed <= 40; ++seed)
  {
    const Cases cases = DrawCases(seed, 4 + static_cast<int>(seed) * 3, seed % 2 == 0 ? 1 << 20 : 7);
    const auto  fast = GetAreaUnderROC(cases.scores, cases.isPositive);
    const auto  plain = GetAreaByDefinition(cases);
    EXPECT_NEAR(fast.area, plain.area, 1e-13);
    EXPECT_NEAR(fast.standardError, plain.standardError, 1e-13);
    EXPECT_DOUBLE_EQ(fast.lower, std::max(0.0, fast.area - 1.959963984540054 * fast.standardError));
    EXPECT_DOUBLE_EQ(fast.upper, std::min(1.0, fast.area + 1.959963984540054 * fast.standardError));
  }
}

// The area between the points and the axis, by the trapezoidal rule, is the probability of the right order.
TEST(ReceiverOperating, AreaLiesBelowThePoints)
{
  for (unsigned seed = 1; seed <= 10; ++seed)
  {
    const Cases cases = DrawCases(seed, 60, 9);
    const auto  points = GetOperatingPoints(cases.scores, cases.isPositive);
    EXPECT_EQ(points.back().falsePositiveRate, 1);
    EXPECT_EQ(points.back().truePositiveRate, 1);
    double area = 0;
    for (std::size_t i = 1; i < points.size(); ++i)
    {
      EXPECT_LT(points[i].threshold, points[i - 1].threshold) << "one point for each score";
      area += 0.5 * (points[i].falsePositiveRate - points[i - 1].falsePositiveRate) *
              (points[i].truePositiveRate + points[i - 1].truePositiveRate);
    }
    EXPECT_NEAR(area, GetAreaUnderROC(cases.scores, cases.isPositive).area, 1e-13);
  }
}

// Ties share a threshold: their order in the list must not count.
TEST(ReceiverOperating, DoesNotDependOnTheOrderOfCases)
{
  Cases        cases = DrawCases(3, 80, 5);
  const double precision = GetAveragePrecision(cases.scores, cases.isPositive);
  const auto   area = GetAreaUnderROC(cases.scores, cases.isPositive);
  std::reverse(cases.scores.begin(), cases.scores.end());
  std::reverse(cases.isPositive.begin(), cases.isPositive.end());
  EXPECT_DOUBLE_EQ(GetAveragePrecision(cases.scores, cases.isPositive), precision);
  EXPECT_DOUBLE_EQ(GetAreaUnderROC(cases.scores, cases.isPositive).area, area.area);
  EXPECT_DOUBLE_EQ(GetAreaUnderROC(cases.scores, cases.isPositive).standardError, area.standardError);
}

TEST(ReceiverOperating, AScoreThatTellsNothingHasHalfTheArea)
{
  const Cases cases{ { 0.3, 0.3, 0.3, 0.3, 0.3 }, { true, false, true, false, false } };
  const auto  area = GetAreaUnderROC(cases.scores, cases.isPositive);
  EXPECT_DOUBLE_EQ(area.area, 0.5);
  EXPECT_DOUBLE_EQ(area.standardError, 0);
  EXPECT_DOUBLE_EQ(GetAveragePrecision(cases.scores, cases.isPositive), 0.4) << "the share of positive cases";
}

TEST(ReceiverOperating, KnowsTheBestTheWorstAndTheMirrorImage)
{
  const Cases best{ { 0.9, 0.8, 0.2, 0.1 }, { true, true, false, false } };
  const auto  area = GetAreaUnderROC(best.scores, best.isPositive);
  EXPECT_DOUBLE_EQ(area.area, 1);
  EXPECT_DOUBLE_EQ(area.lower, 1);
  EXPECT_DOUBLE_EQ(area.upper, 1);
  EXPECT_DOUBLE_EQ(GetAveragePrecision(best.scores, best.isPositive), 1);
  Cases cases = DrawCases(5, 50, 6);
  auto  before = GetAreaUnderROC(cases.scores, cases.isPositive);
  cases.isPositive.flip();
  auto after = GetAreaUnderROC(cases.scores, cases.isPositive);
  EXPECT_NEAR(after.area, 1 - before.area, 1e-14);
  EXPECT_NEAR(after.standardError, before.standardError, 1e-14);
}

TEST(ReceiverOperating, OfOneCaseOfAKindNoVarianceIsKnown)
{
  const auto area = GetAreaUnderROC({ 0.9, 0.4, 0.95 }, { true, false, false });
  EXPECT_DOUBLE_EQ(area.area, 0.5);
  EXPECT_TRUE(std::isnan(area.standardError));
  EXPECT_TRUE(std::isnan(area.lower));
  EXPECT_TRUE(std::isnan(area.upper));
}

TEST(ReceiverOperating, RefusesWhatHasNoOrder)
{
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_REFUSAL(GetAreaUnderROC({ 0.1, 0.2 }, { true, true }), "E-COHORT-LABELS");
  EXPECT_REFUSAL(GetAreaUnderROC({ 0.1, 0.2 }, { false, false }), "E-COHORT-LABELS");
  EXPECT_REFUSAL(GetAreaUnderROC({}, {}), "E-COHORT-LABELS");
  EXPECT_REFUSAL(GetAreaUnderROC({ 0.1 }, { true, false }), "E-OPTION-VALUE");
  EXPECT_REFUSAL(GetAveragePrecision({ 0.1, nan }, { true, false }), "E-NOT-FINITE");
  EXPECT_REFUSAL(GetOperatingPoints({ 0.1, 0.2 }, { true, true }), "E-COHORT-LABELS");
}

} // namespace

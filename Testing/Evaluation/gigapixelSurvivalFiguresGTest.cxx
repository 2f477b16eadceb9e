/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Survival against a data set of textbooks, and against closed forms.
#include "gigapixelSurvivalFigures.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gigapixel;

namespace
{

/** Weeks of remission in E. J. Freireich et al., Blood 21:699, 1963; below 0: not seen longer. */
std::vector<SurvivalCase>
MakeGroup(const std::vector<double> & weeks)
{
  std::vector<SurvivalCase> cases;
  for (const double time : weeks)
  {
    cases.push_back({ std::abs(time), time > 0, 0 });
  }
  return cases;
}

const std::vector<SurvivalCase> Treated =
  MakeGroup({ 6, 6, 6, -6, 7, -9, 10, -10, -11, 13, 16, -17, -19, -20, 22, 23, -25, -32, -32, -34, -35 });
const std::vector<SurvivalCase> Placebo =
  MakeGroup({ 1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23 });

} // namespace

TEST(SurvivalFigures, TheLogRankTestIsThatOfTheTextbooks)
{
  EXPECT_NEAR(GetLogRank(Treated, Placebo), 16.79, 0.005);
  EXPECT_DOUBLE_EQ(GetLogRank(Treated, Placebo), GetLogRank(Placebo, Treated));
  EXPECT_TRUE(std::isnan(GetLogRank({ { 1, false, 0 } }, { { 2, false, 0 } })));
}

TEST(SurvivalFigures, StepsAreThoseOfTheTextbooks)
{
  const auto steps = GetKaplanMeier(Treated);
  ASSERT_EQ(steps.size(), 17u); // 0, and sixteen different times
  EXPECT_DOUBLE_EQ(steps[0].survival, 1);
  EXPECT_EQ(steps[1].time, 6);
  EXPECT_DOUBLE_EQ(steps[1].survival, 18. / 21);
  EXPECT_NEAR(steps[2].survival, 0.8067, 5e-5);     // 7 weeks
  EXPECT_NEAR(steps.back().survival, 0.4482, 5e-5); // from 23 weeks on
}

TEST(SurvivalFigures, MediansAreThoseOfTheTextbooks)
{
  EXPECT_EQ(GetMedianTime(Treated), 23);
  EXPECT_EQ(GetMedianTime(Placebo), 8);
  EXPECT_TRUE(std::isnan(GetMedianTime({ { 1, true, 0 }, { 2, false, 0 }, { 2, false, 0 } })));
}

TEST(SurvivalFigures, GroupsAreBelowTheMedianRiskAndNot)
{
  const auto groups = SplitAtMedianRisk({ { 1, true, 5 }, { 2, true, -1 }, { 3, true, 2 }, { 4, true, 2 } });
  ASSERT_EQ(groups[0].size(), 1u); // of the four risks -1, 2, 2, 5 the third one is the median
  EXPECT_EQ(groups[0][0].time, 2);
  EXPECT_EQ(groups[1].size(), 3u);
}

TEST(SurvivalFigures, ConcordanceIsOfPairsWhoseOrderIsKnown)
{
  // Known are 1 before 2 and 1 before 3, and 2 before 3, which is not seen longer.
  const auto make = [](double a, double b, double c) {
    return Concordance::Make({ { 1, true, a }, { 2, true, b }, { 2, false, c } });
  };
  EXPECT_DOUBLE_EQ(make(3, 2, 1).pairs, 3);
  EXPECT_DOUBLE_EQ(make(3, 2, 1).index, 1);
  EXPECT_DOUBLE_EQ(make(3, 2, 1).standardError, 0);
  EXPECT_DOUBLE_EQ(make(3, 1, 1).index, 2.5 / 3);
  // Left out one by one: 0.5, 1 and 1.
  EXPECT_DOUBLE_EQ(make(3, 1, 1).standardError, std::sqrt((1. / 9 + 1. / 36 + 1. / 36) * 2 / 3));
  const Concordance one = Concordance::Make({ { 1, true, 2 }, { 2, false, 1 } });
  EXPECT_TRUE(one.index == 1 && std::isnan(one.standardError));
  EXPECT_TRUE(std::isnan(Concordance::Make({ { 1, false, 2 }, { 2, false, 1 } }).index));
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "gigapixelCalibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

using gigapixel::GetExpectedCalibrationError;
using gigapixel::GetReliability;

namespace
{

TEST(Calibration, SortsCasesIntoBins)
{
  const auto bins = GetReliability({ 0.0, 0.5, 0.51, 1.0, 0.25 }, { false, true, false, true, false }, 2);
  ASSERT_EQ(bins.size(), 2u);
  EXPECT_EQ(bins[0].cases, 3) << "0 and the upper end belong to the first bin";
  EXPECT_DOUBLE_EQ(bins[0].meanProbability, 0.25);
  EXPECT_DOUBLE_EQ(bins[0].share, 1.0 / 3);
  EXPECT_EQ(bins[1].cases, 2);
  EXPECT_DOUBLE_EQ(bins[1].meanProbability, 0.755);
  EXPECT_DOUBLE_EQ(bins[1].share, 0.5);
  EXPECT_DOUBLE_EQ(bins[1].lower, 0.5);
  EXPECT_DOUBLE_EQ(bins[1].upper, 1);
  EXPECT_DOUBLE_EQ(GetExpectedCalibrationError(bins), (3 * (1.0 / 3 - 0.25) + 2 * 0.255) / 5);
}

TEST(Calibration, OfHonestProbabilitiesTheErrorIsZero)
{
  const auto bins =
    GetReliability({ 0.25, 0.25, 0.25, 0.25, 1, 1, 0 }, { false, true, false, false, true, true, false }, 10);
  EXPECT_DOUBLE_EQ(GetExpectedCalibrationError(bins), 0);
  EXPECT_EQ(bins[2].cases, 4);
  EXPECT_TRUE(std::isnan(bins[5].share)) << "no case";
  EXPECT_TRUE(std::isnan(bins[5].meanProbability));
}

TEST(Calibration, OfBlindCertaintyTheErrorIsTheShareOfErrors)
{
  EXPECT_DOUBLE_EQ(GetExpectedCalibrationError(GetReliability({ 1, 1, 1, 1 }, { true, false, false, true }, 10)), 0.5);
}

TEST(Calibration, RefusesWhatIsNoProbability)
{
  EXPECT_REFUSAL(GetReliability({ 1.1 }, { true }, 10), "E-OPTION-VALUE");
  EXPECT_REFUSAL(GetReliability({ std::nan("") }, { true }, 10), "E-OPTION-VALUE");
  EXPECT_REFUSAL(GetReliability({ 0.5 }, {}, 10), "E-OPTION-VALUE");
  EXPECT_REFUSAL(GetReliability({ 0.5 }, { true }, 0), "E-OPTION-VALUE");
  EXPECT_EQ(GetExpectedCalibrationError(GetReliability({}, {}, 10)), 0);
}

} // namespace

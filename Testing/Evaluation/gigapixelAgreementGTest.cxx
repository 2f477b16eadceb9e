/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelAgreement.h"

#include <gtest/gtest.h>

using gigapixel::Agreement;

// The image has 100 pixels: 40 are predicted, 50 are true, and 30 are both. So the figures are fractions of whole
// numbers.
TEST(Agreement, IsThatOfItsCounts)
{
  const Agreement agreement{ 30, 10, 20, 40 };
  EXPECT_DOUBLE_EQ(agreement.GetDice(), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(agreement.GetIoU(), 0.5);
  EXPECT_DOUBLE_EQ(agreement.GetSensitivity(), 0.6);
  EXPECT_DOUBLE_EQ(agreement.GetSpecificity(), 0.8);
  EXPECT_DOUBLE_EQ(agreement.GetPrecision(), 0.75);
  EXPECT_DOUBLE_EQ(agreement.GetDiceOfAllForeground(), 2.0 / 3.0);
  EXPECT_EQ(agreement.GetPixels(), 100);
}

TEST(Agreement, IsPerfectWhereThereIsNothingToJudge)
{
  const Agreement empty{ 0, 0, 0, 7 };
  EXPECT_EQ(empty.GetDice(), 1.0);
  EXPECT_EQ(empty.GetIoU(), 1.0);
  EXPECT_EQ(empty.GetSensitivity(), 1.0);
  EXPECT_EQ(empty.GetPrecision(), 1.0);
  EXPECT_EQ((Agreement{ 7, 0, 0, 0 }.GetSpecificity()), 1.0);
}

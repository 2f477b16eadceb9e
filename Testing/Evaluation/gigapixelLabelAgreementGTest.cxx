/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLabelAgreement.h"

#include <gtest/gtest.h>

using namespace gigapixel;

namespace
{

LabelVolume
MakeRow(const std::vector<std::uint8_t> & labels)
{
  return { { static_cast<std::int64_t>(labels.size()), 1, 1 }, {}, labels };
}

TEST(LabelAgreement, CountsEachLabelOfEither)
{
  const auto all = CountLabels(MakeRow({ 0, 7, 7, 7, 3, 0, 255 }), MakeRow({ 7, 7, 7, 0, 5, 0, 255 }));
  ASSERT_EQ(all.size(), 4u); // 3, 5, 7 and 255; 0 is none
  EXPECT_EQ(all[0].label, 3);
  EXPECT_EQ(all[0].predicted, 1);
  EXPECT_EQ(all[0].isTrue, 0);
  EXPECT_EQ(all[0].GetDice(), 0);
  EXPECT_EQ(all[1].label, 5);
  EXPECT_EQ(all[1].isTrue, 1);
  EXPECT_EQ(all[2].label, 7);
  EXPECT_EQ(all[2].both, 2);
  EXPECT_DOUBLE_EQ(all[2].GetDice(), 2. * 2 / (3 + 3));
  EXPECT_EQ(all[3].label, 255);
  EXPECT_EQ(all[3].GetDice(), 1);
}

TEST(LabelAgreement, OfNothingIsNone)
{
  EXPECT_TRUE(CountLabels(MakeRow({ 0, 0 }), MakeRow({ 0, 0 })).empty());
}

} // namespace

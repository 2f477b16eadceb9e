/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "channels/ChannelWindow.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

using gigapixel::ChannelHistogram;
using gigapixel::ChannelWindow;

namespace
{

/** Counts all samples in each pass. */
template <typename TSamples>
gigapixel::ChannelRange
FindRange(const TSamples & samples, bool isFloat)
{
  ChannelHistogram histogram(isFloat);
  for (unsigned pass = 0; pass < histogram.GetNumberOfPasses(); ++pass)
  {
    if (pass > 0)
    {
      histogram.BeginSecondPass();
    }
    for (const auto sample : samples)
    {
      histogram.Add(sample);
    }
  }
  return histogram.GetRange();
}

} // namespace

TEST(ChannelWindow, ScalesRoundsAndCuts)
{
  const ChannelWindow window{ 100.0, 355.0 };
  for (int sample = 0; sample <= 65535; ++sample)
  {
    ASSERT_EQ(window.Apply(sample), std::min(255, std::max(0, sample - 100)));
  }
  EXPECT_EQ((ChannelWindow{ 0.0, 1.0 }).Apply(0.5), 128);
  EXPECT_EQ(window.Apply(std::numeric_limits<double>::infinity()), 255);
  EXPECT_EQ(window.Apply(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(window.Apply(std::nan("")), 0);
}

TEST(ChannelWindow, IsAThresholdWhereBothValuesAreTheSame)
{
  const ChannelWindow window{ 7.0, 7.0 };
  EXPECT_EQ(window.Apply(6.0), 0);
  EXPECT_EQ(window.Apply(7.0), 0);
  EXPECT_EQ(window.Apply(8.0), 255);
}

TEST(ChannelWindow, IsTwoNumbers)
{
  EXPECT_EQ(ChannelWindow::Parse("-1.5,1e3").low, -1.5);
  EXPECT_EQ(ChannelWindow::Parse("-1.5,1e3").high, 1000.0);
  for (const char * const text : { "", ",", "1", "1,", ",1", "2,1", "1,1", "1,2,3", "1;2", "nan,1", "0,inf", "a,b" })
  {
    EXPECT_THROW(ChannelWindow::Parse(text), gigapixel::Refusal) << text;
  }
}

TEST(ChannelHistogram, InterpolatesBetweenSamples)
{
  std::vector<std::uint32_t> samples;
  for (std::uint32_t i = 0; i <= 2000; ++i) // the samples are their own ranks
  {
    samples.push_back(i * 7919 % 2001);
  }
  const auto range = FindRange(samples, false);
  EXPECT_NEAR(range.window.low, 2.0, 1e-9);
  EXPECT_NEAR(range.window.high, 1998.0, 1e-9);
  EXPECT_TRUE(range.hasSignal);
  const auto two = FindRange(std::vector<std::uint32_t>{ 0, 65535 }, false);
  EXPECT_NEAR(two.window.low, 65.535, 1e-9);
  EXPECT_NEAR(two.window.high, 65469.465, 1e-9);
}

TEST(ChannelHistogram, OrdersFloatsOfBothSigns)
{
  std::vector<float> samples;
  for (int i = 0; i <= 2000; ++i)
  {
    samples.push_back(static_cast<float>(i * 7919 % 2001 - 1000) / 1024.0f); // exact
  }
  samples.push_back(std::nanf(""));
  samples.push_back(std::numeric_limits<float>::infinity());
  const auto range = FindRange(samples, true);
  EXPECT_NEAR(range.window.low, -998.0 / 1024.0, 1e-9);
  EXPECT_NEAR(range.window.high, 998.0 / 1024.0, 1e-9);
  const auto close = FindRange(std::vector<float>{ 1.0f, std::nextafter(1.0f, 2.0f) }, true); // in one bin of pass one
  EXPECT_GT(close.window.high, close.window.low);
}

TEST(ChannelHistogram, HasNoSignalWhereSamplesAreTheSame)
{
  EXPECT_FALSE(FindRange(std::vector<std::uint32_t>(9, 12), false).hasSignal);
  EXPECT_EQ(FindRange(std::vector<std::uint32_t>(9, 12), false).window.low, 12.0);
  EXPECT_FALSE(FindRange(std::vector<float>(9, -0.5f), true).hasSignal);
  EXPECT_EQ(FindRange(std::vector<float>(9, -0.5f), true).window.high, -0.5);
  EXPECT_FALSE(FindRange(std::vector<float>(3, std::nanf("")), true).hasSignal);
}

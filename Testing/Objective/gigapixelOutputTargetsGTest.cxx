/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// How the losses of images are weighted. The losses themselves are compared with LibTorch's autograd, see
// Testing/Network/gigapixelObjectiveGTest.cxx.
#include "gigapixelOutputTargets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using gigapixel::OutputTargets;

namespace
{

constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

/** One image for each list of targets. */
std::vector<OutputTargets>
MakeImages(const std::vector<std::vector<double>> & targets, bool balance)
{
  std::vector<OutputTargets> images;
  for (const auto & ofImage : targets)
  {
    images.push_back({ ofImage, {}, true });
  }
  WeighTargets(images, balance);
  return images;
}

/** The mean over the images, all of whose outputs are this. */
double
GetMeanLoss(const std::vector<OutputTargets> & images, double output)
{
  double sum = 0;
  for (const OutputTargets & image : images)
  {
    std::vector<double> outputs(image.targets.size(), output);
    sum += image.TakeLoss(outputs);
  }
  return sum / static_cast<double>(images.size());
}

} // namespace

/** Where nothing is told apart, each known target costs log 2. */
TEST(OutputTargets, MeanLossIsThatOfAllKnownTargets)
{
  for (const bool balance : { false, true })
  {
    EXPECT_NEAR(GetMeanLoss(MakeImages({ { 1, 0, 1 }, { 0, 0, 1 }, { 0, 1, 0 } }, balance), 0), std::log(2), 1e-15);
    EXPECT_NEAR(
      GetMeanLoss(MakeImages({ { 1, NaN, 0 }, { NaN, NaN, 1 }, { 0, 0, NaN } }, balance), 0), std::log(2), 1e-15);
  }
}

/** scikit-learn's class_weight="balanced" of each output: n / (2 m). */
TEST(OutputTargets, BalanceMakesBothAnswersCountTheSame)
{
  const auto   images = MakeImages({ { 1, 0 }, { 0, 0 }, { 0, NaN }, { 0, 1 } }, true);
  const double perTarget = 4.0 / 7; // images / known targets
  EXPECT_DOUBLE_EQ(images[0].weights[0], perTarget * 4 / (2 * 1));
  EXPECT_DOUBLE_EQ(images[1].weights[0], perTarget * 4 / (2 * 3));
  EXPECT_DOUBLE_EQ(images[1].weights[1], perTarget * 3 / (2 * 2));
  EXPECT_DOUBLE_EQ(images[3].weights[1], perTarget * 3 / (2 * 1));
}

TEST(OutputTargets, OneAnswerAloneHasNothingToBalance)
{
  const auto images = MakeImages({ { 1, 1 }, { 1, 0 } }, true);
  EXPECT_DOUBLE_EQ(images[0].weights[0], 0.5);
  EXPECT_DOUBLE_EQ(images[1].weights[1], 0.5);
}

/** Its gradient is 0, whatever the output is. */
TEST(OutputTargets, WhatIsNotKnownTakesNoPart)
{
  OutputTargets       image{ { NaN, 1 }, { 1, 1 }, true };
  std::vector<double> one{ 3, 0.5 }, other{ -700, 0.5 };
  EXPECT_EQ(image.TakeLoss(one), image.TakeLoss(other));
  EXPECT_EQ(one, other);
  EXPECT_EQ(one[0], 0);
}

/** log(1 + exp(z)) - t z is |z| for a wrong answer, next to 0 for a right one, and never infinite. */
TEST(OutputTargets, GreatOutputsStayNumbers)
{
  for (const double z : { -1e4, 1e4 })
  {
    for (const double target : { 0.0, 1.0 })
    {
      OutputTargets       image{ { target }, { 1 }, true };
      std::vector<double> output{ z };
      const bool          isRight = (z > 0) == (target == 1);
      EXPECT_EQ(image.TakeLoss(output), isRight ? 0 : 1e4);
      EXPECT_EQ(output[0], isRight ? 0 : z > 0 ? 1 : -1);
    }
  }
}

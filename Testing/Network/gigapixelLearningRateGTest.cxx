/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The rates of PyTorch's schedulers (2.15), with SGD and a rate of 0.01, as Python prints them. Where PyTorch
// multiplies rate by rate and ours has a closed form they differ by roundings.
#include "RefusalCode.h"
#include "training/gigapixelLearningRate.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

using namespace gigapixel;

namespace
{

std::vector<double>
GetRates(const TrainingOptions & options, int stepsPerEpoch, std::int64_t steps)
{
  const LearningRate  rate(options, stepsPerEpoch);
  std::vector<double> rates;
  for (std::int64_t step = 0; step < steps; ++step)
  {
    rates.push_back(rate.Get(0.01, step));
  }
  return rates;
}

void
ExpectNear(const std::vector<double> & ours, const std::vector<double> & theirs)
{
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i)
  {
    EXPECT_NEAR(ours[i], theirs[i], 1e-17) << i;
  }
}

gigapixel::Diagnostic
GetRefusal(const TrainingOptions & options)
{
  return gigapixel_test::FindRefusal([&] { LearningRate(options, 4); });
}

} // namespace

// LinearLR(optimizer, 1 / 4, total_iters=3)
TEST(LearningRate, RisesAsLinearLR)
{
  TrainingOptions options;
  options.warmup = 4;
  ExpectNear(GetRates(options, 2, 6), { 0.0025, 0.005, 0.0075, 0.01, 0.01, 0.01 });
}

// CosineAnnealingLR(optimizer, 12)
TEST(LearningRate, FallsAsCosineAnnealingLR)
{
  TrainingOptions options;
  options.learningRateSchedule = "cosine";
  options.epochs = 3;
  ExpectNear(GetRates(options, 4, 12),
             { 0.01,
               0.009829629131445342,
               0.009330127018922194,
               0.008535533905932736,
               0.0075,
               0.006294095225512604,
               0.005,
               0.003705904774487397,
               0.0025000000000000014,
               0.0014644660940672629,
               0.0006698729810778065,
               0.00017037086855465903 });
}

// CosineAnnealingLR(optimizer, 12, eta_min=0.001)
TEST(LearningRate, FallsToTheMinimum)
{
  TrainingOptions options;
  options.learningRateSchedule = "cosine";
  options.minimumLearningRate = 0.001;
  options.epochs = 3;
  ExpectNear(GetRates(options, 4, 12),
             { 0.01,
               0.009846666218300808,
               0.009397114317029977,
               0.008681980515339464,
               0.007750000000000001,
               0.006664685702961345,
               0.0055000000000000005,
               0.004335314297038657,
               0.003250000000000001,
               0.0023180194846605367,
               0.001602885682970026,
               0.001153333781699193 });
}

// SequentialLR(optimizer, [LinearLR(optimizer, 1 / 3, total_iters=2), CosineAnnealingLR(optimizer, 9)], [3])
TEST(LearningRate, RisesAndFallsAsSequentialLR)
{
  TrainingOptions options;
  options.learningRateSchedule = "cosine";
  options.epochs = 3;
  options.warmup = 3;
  ExpectNear(GetRates(options, 4, 12),
             { 0.003333333333333333,
               0.006666666666666666,
               0.009999999999999998,
               0.01,
               0.009698463103929543,
               0.00883022221559489,
               0.007500000000000001,
               0.0058682408883346535,
               0.004131759111665349,
               0.002500000000000002,
               0.0011697777844051108,
               0.00030153689607045854 });
}

// ReduceLROnPlateau(optimizer, factor=0.3, patience=patience, threshold=0, eps=0)
TEST(LearningRate, FallsAsReduceLROnPlateau)
{
  const double              losses[]{ 1, 0.9, 0.95, 0.9, 0.91, 0.8, 0.81, 0.82, 0.83, 0.84, 0.85, 0.7 };
  const std::vector<double> theirs[]{
    { 0.01, 0.01, 0.003, 0.0009, 0.00027, 0.00027, 8.1e-05, 2.43e-05, 7.29e-06, 2.187e-06, 6.561e-07, 6.561e-07 },
    { 0.01, 0.01, 0.01, 0.003, 0.003, 0.003, 0.003, 0.0009, 0.0009, 0.00027, 0.00027, 0.00027 },
    { 0.01, 0.01, 0.01, 0.01, 0.003, 0.003, 0.003, 0.003, 0.0009, 0.0009, 0.0009, 0.0009 }
  };
  for (int patience = 0; patience < 3; ++patience)
  {
    TrainingOptions options;
    options.learningRateSchedule = "plateau";
    options.learningRateDecay = 0.3;
    options.plateauPatience = patience;
    const LearningRate  schedule(options, 4);
    std::vector<double> rates;
    double              rate = 0.01, best = std::numeric_limits<double>::infinity();
    int                 withoutBetter = 0;
    for (const double loss : losses)
    {
      withoutBetter = loss < best ? 0 : withoutBetter + 1;
      best = std::min(best, loss);
      rate = schedule.Lower(rate, withoutBetter);
      rates.push_back(schedule.Get(rate, 100));
    }
    ExpectNear(rates, theirs[patience]);
  }
}

TEST(LearningRate, RefusesWhatCannotBe)
{
  TrainingOptions options;
  options.learningRateSchedule = "plateau";
  EXPECT_EQ(GetRefusal(options).code, "E-OPTION-VALUE");
  options.learningRateDecay = 0.5;
  EXPECT_EQ(GetRefusal(options).code, "");
  options.learningRateSchedule = "constant";
  EXPECT_EQ(GetRefusal(options).code, "E-OPTION-VALUE");
  options.learningRateDecay = 1;
  options.learningRateSchedule = "cosine";
  options.epochs = 2;
  options.warmup = 7;
  EXPECT_EQ(GetRefusal(options).code, "");
  options.warmup = 8;
  EXPECT_EQ(GetRefusal(options).code, "E-OPTION-VALUE");
}

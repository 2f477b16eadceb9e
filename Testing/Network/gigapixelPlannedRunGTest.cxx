/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A plan is a function of the run that it is made for: what it says of a budget holds for every greater one, and it is
// what the run does.
#include "BFloat16.h"
#include "Sanitized.h"
#include "SyntheticSources.h"
#include "gigapixelFrozenParameters.h"
#include "gigapixelMachinePace.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelTrainer.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;

PlannedRun
MakeRun(const char * network, Purpose purpose, bool scratch)
{
  PlannedRun run(NetworkDescription::Load(network), { 1024, 1024 }, purpose, {});
  run.processBytes = 50 * MiB; // of another process, which does not grow from plan to plan
  run.threads = 2;
  run.segmentation.inFiles = scratch;
  return run;
}

struct Outcome
{
  MemoryPlan   plan;
  std::int64_t least{ 0 }; ///< of a refusal; 0: there was none
  std::string  sentence;
};

Outcome
Make(const PlannedRun & run)
{
  try
  {
    return { MemoryPlan::Make(run), 0, "" };
  }
  catch (const MemoryLimitError & refusal)
  {
    return { {}, refusal.least, refusal.GetDiagnostic().why };
  }
}

class Sweep : public testing::TestWithParam<std::tuple<const char *, Purpose, bool>>
{
};

TEST_P(Sweep, WhatFitsFitsWithMoreMemory)
{
  const auto & [network, purpose, scratch] = GetParam();
  PlannedRun run = MakeRun(network, purpose, scratch);
  bool       fits = false;
  double     seconds = std::numeric_limits<double>::infinity();
  // Refused is less than graphs begin with, and what is below that takes long to find out.
  for (run.budget = run.network.layers.empty() ? 240 * MiB : 51 * MiB; run.budget < 2600 * MiB;
       run.budget += run.budget / 30)
  {
    const Outcome outcome = Make(run);
    EXPECT_TRUE(outcome.least == 0 || !fits) << run.budget / MiB << " MiB: " << outcome.sentence;
    fits = outcome.least == 0;
    if (fits)
    {
      EXPECT_LE(outcome.plan.peakBytes, run.budget);
      EXPECT_LE(outcome.plan.coreSeconds, 1.25 * seconds) << run.budget / MiB << " MiB";
      seconds = outcome.plan.coreSeconds;
    }
  }
  EXPECT_TRUE(fits);
}

TEST_P(Sweep, RefusalsNameTheLeastThatWorks)
{
  const auto & [network, purpose, scratch] = GetParam();
  PlannedRun run = MakeRun(network, purpose, scratch);
  for (const std::int64_t tileSize : { std::int64_t{ 0 }, std::int64_t{ 512 }, WholeImage })
  {
    run.tileSize = tileSize;
    run.budget = MiB;
    const Outcome refused = Make(run);
    ASSERT_GT(refused.least, run.budget);
    run.budget = refused.least;
    EXPECT_EQ(Make(run).least, 0) << tileSize;
    run.budget = refused.least - 1;
    const Outcome almost = Make(run);
    EXPECT_EQ(almost.least, refused.least) << tileSize;
    // In words, too: what is said is enough, and more than what is said not to be.
    const std::string key = "at least ";
    const auto        said = std::stoll(almost.sentence.substr(almost.sentence.find(key) + key.size()));
    EXPECT_GE(said * MiB, refused.least);
    EXPECT_LT((said - 1) * MiB, refused.least);
    EXPECT_EQ(almost.sentence.find("memory limit of " + std::to_string(said) + " MiB"), std::string::npos)
      << almost.sentence;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks,
                         Sweep,
                         testing::Combine(testing::Values("remedios2023", "unet:base=8", "resnet18-unet"),
                                          testing::Values(Purpose::Training, Purpose::Inference),
                                          testing::Bool()),
                         [](const auto & info) { return "case" + std::to_string(info.index); });

} // namespace

TEST(PlannedRun, TheLeastLimitHasRoomForWhatGrowsWithIt)
{
  PlannedRun        run = MakeRun("remedios2023", Purpose::Training, false);
  const BesideBytes beside = [](std::int64_t limit) { return MiB + limit / 16; };
  run.SetLimit(MiB, beside);
  const Outcome      refused = Make(run);
  const std::int64_t least = FindLeastLimit(refused.least, beside);
  EXPECT_NE(refused.sentence.find(' ' + std::to_string(least / MiB) + " MiB"), std::string::npos);
  run.SetLimit(least, beside);
  EXPECT_EQ(Make(run).least, 0);
  run.SetLimit(least - MiB, beside);
  EXPECT_EQ(Make(run).least, refused.least);
}

TEST(PlannedRun, OfPatchesIsRefusedWithTheLeastThatWorks)
{
  for (const char * network : { "remedios2023", "unet:base=8" })
  {
    PlannedRun run = MakeRun(network, Purpose::Inference, false);
    run.image = { 20000, 3000 };
    run.patches.emplace();
    run.budget = MiB;
    run.budget = Make(run).least;
    EXPECT_EQ(Make(run).least, 0) << network;
    --run.budget;
    EXPECT_EQ(Make(run).least, run.budget + 1) << network;
  }
}

TEST(PlannedRun, CountsWeightsThatTheProcessHoldsOnce)
{
  const NetworkDescription network = NetworkDescription::Load("resnet18-unet");
  std::vector<char>        held(512 * MiB, 1); // so that the process holds more than a program at its start
  PlannedRun               without(network, { 1024, 1024 }, Purpose::Inference, {}), with = without;
  with.LeaveOutWeights();
  EXPECT_NEAR(without.processBytes - with.processBytes, 4 * network.GetNumberOfParameters(), 8 * MiB);
  EXPECT_EQ(held.back(), 1);
}

// Whatever a process holds so early, plans are made for one that has begun.
TEST(PlannedRun, DoesNotDependOnTheFirstMegabytes)
{
  const PlannedRun run(NetworkDescription::Load("remedios2023"), { 1024, 1024 }, Purpose::Inference, {});
  EXPECT_GE(run.processBytes, GetResidentBytes() - 8 * MiB);
  EXPECT_GE(run.processBytes, 16 * MiB);
}

TEST(PlannedRun, IsThatOfTheTrainer)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  const NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=3,channels=1");
  for (const Precision precision : GetGraphPrecisions())
  {
    for (const std::int64_t tileSize : { std::int64_t{ 0 }, std::int64_t{ 128 }, WholeImage })
    {
      for (const std::int64_t budget : { std::int64_t{ 0 }, GetResidentBytes() + 600 * MiB })
      {
        TrainingOptions options;
        options.threads = 2;
        options.memory = budget;
        options.tileSize = tileSize;
        options.device.precision = precision;
        options.freeze = { "enc.0" };
        Trainer trainer(network, options, "");
        trainer.AddTrainingSample(MakeSample("a", { 600, 500 }, 1));
        MemoryPlan ofTrainer;
        trainer.SetPlanObserver([&](const MemoryPlan & plan) {
          ofTrainer = plan;
          throw std::out_of_range("it is enough to know the plan");
        });
        PlannedRun run(network, { 600, 500 }, Purpose::Training, options.device);
        run.network.graph.frozen = FindFrozen(network, options.freeze);
        run.budget = budget;
        run.threads = 2;
        run.tileSize = tileSize;
        const MemoryPlan plan = MemoryPlan::Make(run);
        EXPECT_THROW(trainer.Run(), std::out_of_range);
        EXPECT_EQ(ofTrainer.tileSize, plan.tileSize);
        EXPECT_EQ(ofTrainer.segments, plan.segments);
        EXPECT_EQ(ofTrainer.numberOfTiles, plan.numberOfTiles);
        EXPECT_EQ(ofTrainer.tilesInFlight, plan.tilesInFlight);
        EXPECT_EQ(ofTrainer.tileBytes, plan.tileBytes);
        EXPECT_EQ(ofTrainer.keptBytes, plan.keptBytes);
        EXPECT_EQ(ofTrainer.coreSeconds, plan.coreSeconds);
        EXPECT_NEAR(ofTrainer.peakBytes, plan.peakBytes, 8 * MiB);
      }
    }
  }
}

TEST(PlannedRun, IsRefusedWhereTheEngineRefuses)
{
  for (const Precision precision : { Precision::TensorFloat32, Precision::Float16 })
  {
    const Device device{ -1, precision };
    EXPECT_THROW(MemoryPlan::Make({ NetworkDescription::Load("unet"), { 512, 512 }, Purpose::Training, device }),
                 std::invalid_argument);
    EXPECT_THROW(
      MemoryPlan::Make({ NetworkDescription::Load("remedios2023"), { 512, 512 }, Purpose::Training, device }),
      std::invalid_argument);
  }
}

TEST(MachinePace, IsRefusedWhereNoPictureFits)
{
  EXPECT_THROW(MachinePace::Measure(NetworkDescription::Load("resnet18-unet"), Precision::Float, 64 * MiB),
               std::runtime_error);
}

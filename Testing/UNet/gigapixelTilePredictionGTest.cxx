/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTilePrediction.h"

#include "Sanitized.h"
#include "UNetTestImages.h"

using namespace gigapixel;

// What is planned before for the same image is what tiles are computed by.
TEST(TilePrediction, IsComputedByThePlanOfItsRun)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  constexpr Size         Image{ 3000, 2000 };
  constexpr std::int64_t MiB = 1 << 20;
  const Model            model = gigapixel_test::NoiseModel(256);
  Patches                patches;
  patches.side = 256;
  for (const std::int64_t budget : { 200 * MiB, 1000 * MiB })
  {
    for (const std::int64_t tileSize : { 0, 512 })
    {
      for (const bool inPatches : { false, true })
      {
        const Device         device{ -1, Precision::BFloat16 };
        const auto           which = inPatches ? std::optional<Patches>(patches) : std::nullopt;
        const TilePrediction prediction(model, {}, Image, 1, { 8, budget, device, {}, which, tileSize });
        PlannedRun           run(model.network, Image, Purpose::Inference, device);
        run.budget = budget;
        run.threads = 8;
        run.tileSize = tileSize == 0 ? model.tileSize : tileSize;
        run.inPlace = true;
        run.patches = which;
        const MemoryPlan plan = MemoryPlan::Make(run);
        ASSERT_TRUE(prediction.GetMemoryPlan());
        EXPECT_EQ(prediction.GetMemoryPlan()->tileSize, plan.tileSize);
        EXPECT_EQ(prediction.GetMemoryPlan()->numberOfTiles, plan.numberOfTiles);
        EXPECT_EQ(prediction.GetMemoryPlan()->tilesInFlight, plan.tilesInFlight);
        EXPECT_EQ(prediction.GetMemoryPlan()->tileBytes, plan.tileBytes);
        EXPECT_EQ(prediction.GetMemoryPlan()->deviceBytes, plan.deviceBytes);
        EXPECT_NEAR(prediction.GetMemoryPlan()->peakBytes, plan.peakBytes, 4 * MiB);
      }
    }
  }
  EXPECT_FALSE(TilePrediction(model, {}, Image, 1, { 2, 0 }).GetMemoryPlan());
}

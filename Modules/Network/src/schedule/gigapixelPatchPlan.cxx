/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPatchGrid.h"
#include "gigapixelFormatCount.h"
#include "gigapixelPlanSentences.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelWorkers.h"
#include "graph/gigapixelExecutors.h"

#include <algorithm>

namespace gigapixel
{
namespace
{

/** As an image by itself, whatever it takes. */
MemoryPlan
MakePlanOfOne(const PlannedRun & run)
{
  PlannedRun one = run;
  one.image = { run.patches->side, run.patches->side };
  one.budget = std::int64_t{ 1 } << 60;
  one.threads = 1;
  one.tileSize = run.patches->side;
  one.inPlace = false;
  one.device.shared = false;
  one.patches.reset();
  return MemoryPlan::Make(one);
}

} // namespace

int
FusedExecutor::CountOnDevice(int tilesInFlight) const
{
  return tilesInFlight;
}

/** See MakeGraphPlan(). */
int
TorchExecutor::CountOnDevice(int) const
{
  return 1;
}

MemoryPlan
MakePatchPlan(const PlannedRun & run)
{
  constexpr std::int64_t WaitingResults = 8; // for each thread, see Workers
  const Patches &        patches = *run.patches;
  patches.Validate(run.network);
  const std::int64_t limit = run.budget > 0 ? run.budget : GetMachineBytes();
  const std::int64_t channels = run.network.GetNumberOfOutputChannels();
  const std::int64_t weights = patches.side * patches.side * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t logits = weights * channels;
  const std::int64_t sums = patches.side * run.image.width * (channels + 1) * static_cast<std::int64_t>(sizeof(float));
  const PatchGrid    grid(patches, run.image);
  MemoryPlan         plan = MakePlanOfOne(run);
  const std::int64_t together = plan.peakBytes - plan.tileBytes + sums + weights + logits; // those of one color
  plan.tileBytes += (WaitingResults + (patches.mirror ? 1 : 0)) * logits;
  plan.numberOfTiles = grid.columns.GetNumber() * grid.rows.GetNumber();
  const std::int64_t fitting = std::max<std::int64_t>(1, (limit - together) / plan.tileBytes);
  plan.tilesInFlight =
    static_cast<int>(std::min({ std::int64_t{ GetNumberOfThreads(run.threads) }, plan.numberOfTiles, fitting }));
  plan.peakBytes = together + plan.tilesInFlight * plan.tileBytes;
  plan.deviceBytes *= Executor::Of(run.network).CountOnDevice(plan.tilesInFlight);
  plan.coreSeconds *= static_cast<double>(plan.numberOfTiles * (patches.mirror ? 4 : 1));
  if (plan.peakBytes > limit)
  {
    throw MakeMemoryLimitError(run, plan.peakBytes, " for patches of " + FormatCount(patches.side, "pixel"));
  }
  return plan;
}

} // namespace gigapixel

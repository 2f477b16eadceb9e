/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMemoryPlan.h"
#include "gigapixelPatchGrid.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelWorkers.h"

#include <algorithm>

namespace gigapixel
{

MemoryPlan
MemoryPlan::MakeOfPatches(const NetworkDescription & network,
                          Size                       image,
                          const Patches &            patches,
                          std::int64_t               budget,
                          int                        threads,
                          Precision                  precision)
{
  constexpr std::int64_t WaitingResults = 8; // for each thread, see Workers
  patches.Validate(network);
  const Size         one{ patches.side, patches.side };
  const std::int64_t limit = budget > 0 ? budget : GetMachineBytes();
  const std::int64_t channels = network.GetNumberOfOutputChannels();
  const std::int64_t weights = patches.side * patches.side * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t logits = patches.side * patches.side * channels * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t sums = patches.side * image.width * (channels + 1) * static_cast<std::int64_t>(sizeof(float));
  MemoryPlan         plan = Make(network, one, Purpose::Inference, limit, 1, patches.side, precision);
  const PatchGrid    grid(patches, image);
  const std::int64_t together = plan.peakBytes - plan.tileBytes + sums + weights + logits; // those of one color
  plan.tileBytes += (WaitingResults + (patches.mirror ? 1 : 0)) * logits;
  plan.numberOfTiles = grid.columns.GetNumber() * grid.rows.GetNumber();
  const std::int64_t fitting = std::max<std::int64_t>(1, (limit - together) / plan.tileBytes);
  plan.tilesInFlight =
    static_cast<int>(std::min({ std::int64_t{ GetNumberOfThreads(threads) }, plan.numberOfTiles, fitting }));
  plan.peakBytes = together + plan.tilesInFlight * plan.tileBytes;
  plan.deviceBytes *= plan.tilesInFlight;
  plan.coreSeconds *= static_cast<double>(plan.numberOfTiles * (patches.mirror ? 4 : 1));
  if (plan.peakBytes > limit)
  {
    constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;
    throw MemoryLimitError("the memory limit of " + std::to_string(limit / MiB) + " MB is too small: at least " +
                             std::to_string(plan.peakBytes / MiB + 1) + " MB are needed for patches of " +
                             std::to_string(patches.side) + " pixels",
                           plan.peakBytes);
  }
  return plan;
}

} // namespace gigapixel

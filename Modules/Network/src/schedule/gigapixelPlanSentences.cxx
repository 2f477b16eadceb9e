/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPlanSentences.h"
#include "gigapixelFormatCount.h"
#include "gigapixelProcessMemory.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{

constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;

/** Up, so that the limit that a sentence names is enough when it is given. */
std::string
RoundUpToMiB(std::int64_t bytes)
{
  return std::to_string((bytes + MiB - 1) / MiB) + " MiB";
}

} // namespace

MemoryLimitError
MakeMemoryLimitError(const PlannedRun &  run,
                     std::int64_t        leastBytes,
                     const std::string & what,
                     std::int64_t        scratchBytes)
{
  // Rounded down: it is below what is needed in words, too.
  const std::string limit =
    run.budget > 0
      ? "the memory limit of " + std::to_string(std::max(run.limit, run.budget) / MiB) + " MiB is too small"
      : "the " + std::to_string(GetMachineBytes() / MiB) + " MiB of memory of this machine are too little";
  const std::int64_t least = FindLeastLimit(leastBytes, run.beside);
  const std::string  need = ": at least " + RoundUpToMiB(least) + " are needed" + what +
                           ", of which the process holds " + std::to_string(run.processBytes / MiB) + " MiB already";
  const std::string remedy = run.tileSize == WholeImage || run.device.shared || run.patches || run.volumePatches
                               ? ""
                               : "raise the limit, or take smaller tiles (--tile-size, in Python tile_size)";
  return {
    Diagnostic(run.budget > 0 ? "E-MEMORY-BUDGET" : "E-MEMORY", limit + need, remedy).OfValue(std::to_string(least)),
    leastBytes,
    scratchBytes
  };
}

MemoryLimitError
MakeGpuMemoryError(const PlannedRun & run, std::int64_t leastBytes, std::int64_t freeBytes)
{
  return { Diagnostic("E-DEVICE-MEMORY",
                      "of the memory of the GPU cuda:" + std::to_string(run.device.cuda) + " " +
                        std::to_string(freeBytes / MiB) + " MiB are free, which is too little: at least " +
                        RoundUpToMiB(leastBytes) + " are needed" + DescribeNeed(run),
                      "use --device cpu")
             .OfValue(std::to_string(leastBytes)),
           leastBytes };
}

std::string
DescribeNeed(const PlannedRun & run)
{
  return run.tileSize == WholeImage ? " for the image in one piece, whereas tiles need less"
         : run.device.shared        ? " for the whole image in memory, whereas tiles without shared memory need less"
         : run.tileSize > 0         ? " for tiles of " + FormatCount(run.tileSize, "pixel")
                                    : "";
}

std::string
DescribeSmallerTiles(std::int64_t wanted, std::int64_t taken)
{
  return wanted == taken ? std::string()
                         : "in the memory that it may take there is no room for tiles of " + std::to_string(wanted) +
                             " pixels: they are made of " + std::to_string(taken) +
                             ", which changes the last bits of the result; a tile size that is given is the same "
                             "with any memory";
}

std::string
DescribeOtherSegments(Purpose purpose)
{
  return std::string("in the memory that it may take the network is not divided into the segments that it would have "
                     "with more, which changes the last bits of the result") +
         (purpose == Purpose::Training ? "; a run that goes on keeps those that it began with" : "");
}

std::string
DescribeScratchFolder(double part, std::int64_t bytes)
{
  const auto percent = static_cast<int>(std::lround(100 * part));
  return "with a scratch folder that has " + RoundUpToMiB(bytes) + " of room it would take about " +
         std::to_string(percent) + " % of the time";
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumePatchGrid.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelLabeling.h"
#include "gigapixelRequireAxes.h"
#include "gigapixelPlanSentences.h"
#include "gigapixelPrintable.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelWorkers.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gigapixel
{
namespace
{

std::string
FormatSize(const Size & size)
{
  return std::to_string(size.depth) + " x " + std::to_string(size.height) + " x " + std::to_string(size.width);
}

/** As nnU-Net rounds them, halves to even numbers. */
std::vector<std::int64_t>
FindBegins(std::int64_t side, std::int64_t length, double overlap)
{
  if (length <= side)
  {
    return { -((side - length) / 2) };
  }
  const auto                room = static_cast<double>(length - side);
  const double              greatestStep = static_cast<double>(side) * (1 - overlap);
  const auto                steps = static_cast<std::int64_t>(std::ceil(room / greatestStep));
  std::vector<std::int64_t> begins;
  for (std::int64_t i = 0; i <= steps; ++i)
  {
    begins.push_back(
      static_cast<std::int64_t>(std::nearbyint(room / static_cast<double>(steps) * static_cast<double>(i))));
  }
  return begins;
}

/** Of a patch as a volume by itself, whatever it takes. */
MemoryPlan
MakePlanOfOne(const PlannedRun & run)
{
  PlannedRun one = run;
  one.image = run.volumePatches->size;
  one.budget = std::int64_t{ 1 } << 60;
  one.threads = 1;
  one.tileSize = WholeImage;
  one.inPlace = false;
  one.volumePatches.reset();
  return MemoryPlan::Make(one);
}

} // namespace

int
VolumePatches::GetNumberOfViews() const
{
  return 1 << std::count(mirror.begin(), mirror.end(), true);
}

void
VolumePatches::Validate(const NetworkDescription & network) const
{
  Labeling::OfPixels().Require(network);
  RequireAxes(network, 3);
  if (std::min({ size.width, size.height, size.depth }) < 1 ||
      std::max({ size.width, size.height, size.depth }) > GreatestSide)
  {
    throw InvalidArgument(Diagnostic("E-OPTION-VALUE",
                                     "patches of " + FormatSize(size) + " voxels have no three sides of 1 to " +
                                       std::to_string(GreatestSide))
                            .OfValue(FormatSize(size)));
  }
  if (!(overlap >= 0 && overlap <= GreatestOverlap))
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE", "neighboring patches share 0 to 0.95 of a side, not " + FormatShortest(overlap))
        .OfValue(FormatShortest(overlap)));
  }
  network.CheckImage(size);
}

std::string
VolumePatches::Describe() const
{
  std::string mirrored;
  for (std::size_t axis = 0; axis < mirror.size(); ++axis)
  {
    mirrored += !mirror[axis] ? "" : (mirrored.empty() ? ", mirrored along " : ", ") + std::string(1, "zyx"[axis]);
  }
  return "patches of " + FormatSize(size) + ", overlap " + FormatShortest(overlap) + ", " +
         (gaussian ? "gaussian" : "constant") + mirrored;
}

VolumePatchGrid::VolumePatchGrid(const VolumePatches & patches, const Size & volume)
  : z(FindBegins(patches.size.depth, volume.depth, patches.overlap))
  , y(FindBegins(patches.size.height, volume.height, patches.overlap))
  , x(FindBegins(patches.size.width, volume.width, patches.overlap))
  , size(patches.size)
{}

Region
VolumePatchGrid::GetPatch(std::int64_t index) const
{
  const auto columns = static_cast<std::int64_t>(x.size()), rows = static_cast<std::int64_t>(y.size());
  return { x[static_cast<std::size_t>(index % columns)],
           y[static_cast<std::size_t>(index / columns % rows)],
           size.width,
           size.height,
           z[static_cast<std::size_t>(index / columns / rows)],
           size.depth };
}

MemoryPlan
MakeVolumePatchPlan(const PlannedRun & run)
{
  constexpr std::int64_t WaitingResults = 8; // for each thread, see Workers
  const VolumePatches &  patches = *run.volumePatches;
  patches.Validate(run.network);
  const std::int64_t    limit = run.budget > 0 ? run.budget : GetMachineBytes();
  const std::int64_t    channels = run.network.GetNumberOfOutputChannels();
  const std::int64_t    voxels = patches.size.width * patches.size.height * patches.size.depth;
  constexpr auto        Bytes = static_cast<std::int64_t>(sizeof(float));
  const std::int64_t    logits = voxels * channels * Bytes;
  const std::int64_t    slab = run.image.width * run.image.height * std::min(run.image.depth, patches.size.depth);
  const std::int64_t    sums = (slab + run.image.width * run.image.height) * (channels + 1) * Bytes;
  const int             views = patches.GetNumberOfViews();
  const VolumePatchGrid grid(patches, run.image);
  MemoryPlan            plan = MakePlanOfOne(run);
  const std::int64_t    together = plan.peakBytes - plan.tileBytes + sums + voxels * Bytes;
  // The patch's own voxels are kept beside the mirrored ones, and their logits beside the sum.
  const std::int64_t mirrored = views > 1 ? logits + voxels * run.network.channels * Bytes : 0;
  plan.tileBytes += WaitingResults * logits + mirrored;
  plan.numberOfTiles = grid.GetNumber();
  const std::int64_t fitting = std::max<std::int64_t>(1, (limit - together) / plan.tileBytes);
  plan.tilesInFlight =
    static_cast<int>(std::min({ std::int64_t{ GetNumberOfThreads(run.threads) }, plan.numberOfTiles, fitting }));
  plan.peakBytes = together + plan.tilesInFlight * plan.tileBytes;
  plan.coreSeconds *= static_cast<double>(plan.numberOfTiles * views);
  if (plan.peakBytes > limit)
  {
    throw MakeMemoryLimitError(run, plan.peakBytes, " for patches of " + FormatSize(patches.size) + " voxels");
  }
  return plan;
}

} // namespace gigapixel

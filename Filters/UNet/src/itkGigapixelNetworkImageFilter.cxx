/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelNetworkImageFilter.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelRequireAxes.h"

#include <algorithm>

namespace itk
{

void
GigapixelCheckTakesVolume(const gigapixel::Model & model, const gigapixel::Size & size, unsigned channels)
{
  const gigapixel::NetworkDescription & network = model.network;
  gigapixel::RequireAxes(network, 3);
  if (static_cast<int>(channels) != network.channels)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-MODEL-INPUT",
                            "the volume has " + std::to_string(channels) + (channels == 1 ? " channel" : " channels") +
                              ", and the network \"" + network.name + "\" takes " + std::to_string(network.channels),
                            "give it all modalities as the components of a vector image, in the network's order")
        .OfValue(std::to_string(channels)));
  }
  network.CheckImage(size);
}

gigapixel::VolumeRun
GigapixelPlanVolume(const gigapixel::Model &      model,
                    const gigapixel::VolumeGrid & grid,
                    std::int64_t                  memory,
                    std::int64_t                  tileSize,
                    bool                          givesLabels,
                    gigapixel::VolumeRun          run)
{
  using namespace gigapixel;
  PlannedRun planned(model.network, GetShownSize(grid, model.network), Purpose::Inference, run.device);
  planned.LeaveOutWeights();
  if (memory > 0)
  {
    const std::int64_t beside =
      GetResultBytes(grid, model.network, !givesLabels) + GetResamplingBytes(grid, model.network);
    planned.SetLimit(memory, [beside](std::int64_t) { return beside; });
  }
  planned.threads = run.threads;
  planned.tileSize = tileSize;
  planned.segmentation.inFiles = !run.scratch.empty();
  const MemoryPlan plan = MemoryPlan::Make(planned);
  run.threads = plan.tilesInFlight;
  run.tileSize = plan.tileSize;
  run.segments = plan.segments;
  return run;
}

} // namespace itk

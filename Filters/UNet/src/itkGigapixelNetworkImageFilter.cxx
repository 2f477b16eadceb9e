/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelNetworkImageFilter.h"

#include "gigapixelMemoryPlan.h"

#include <stdexcept>

namespace itk
{

void
GigapixelCheckTakesVolume(const gigapixel::Model & model, const gigapixel::Size & size, unsigned channels)
{
  const gigapixel::NetworkDescription & network = model.network;
  if (!network.TakesVolumes())
  {
    throw std::runtime_error("the network \"" + network.name +
                             "\" takes images of two axes, and no volumes: use "
                             "itk::GigapixelUNetImageFilter");
  }
  if (static_cast<int>(channels) != network.channels)
  {
    throw std::runtime_error("the volume has " + std::to_string(channels) + (channels == 1 ? " channel" : " channels") +
                             ", and the network \"" + network.name + "\" takes " + std::to_string(network.channels) +
                             ": give it all modalities as the components of a vector image, in the network's order");
  }
  network.CheckImage(size);
}

gigapixel::VolumeRun
GigapixelPlanVolume(const gigapixel::Model &      model,
                    const gigapixel::Size &       size,
                    const std::array<double, 3> & spacing,
                    std::int64_t                  memory,
                    std::int64_t                  tileSize,
                    gigapixel::VolumeRun          run)
{
  using namespace gigapixel;
  PlannedRun planned(model.network, GetShownSize(size, spacing, model.network), Purpose::Inference, run.device);
  planned.LeaveOutWeights();
  planned.budget = memory;
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

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumePrediction.h"

#include "gigapixelMemoryPlan.h"
#include "gigapixelNormalization.h"
#include "gigapixelPredictor.h"

#include <stdexcept>

namespace gigapixel
{

void
CheckTakesVolume(const Model & model, Size size, unsigned channels)
{
  const NetworkDescription & network = model.network;
  if (!network.TakesVolumes())
  {
    throw std::runtime_error("the network \"" + network.name +
                             "\" takes images of two axes, and no volumes: use "
                             "itk::GigapixelUNetImageFilter");
  }
  if (network.LabelsImage())
  {
    throw std::runtime_error("the network \"" + network.name + "\" labels whole volumes, and no voxels");
  }
  if (static_cast<int>(channels) != network.channels)
  {
    throw std::runtime_error("the volume has " + std::to_string(channels) + (channels == 1 ? " channel" : " channels") +
                             ", and the network \"" + network.name + "\" takes " + std::to_string(network.channels) +
                             ": give it all modalities as the components of a vector image, in the network's order");
  }
  network.CheckImage(size);
}

bool
PredictVolume(const Model &                        model,
              const std::shared_ptr<PixelSource> & voxels,
              const VolumeRun &                    run,
              std::uint8_t *                       labels,
              float *                              probabilities,
              const std::function<bool(double)> &  progress)
{
  constexpr double NormalizingPart = 0.05; // of the progress
  const Size       size = voxels->GetSize();
  CheckTakesVolume(model, size, voxels->GetNumberOfChannels());
  PlannedRun planned(model.network, size, Purpose::Inference, run.device);
  planned.LeaveOutWeights();
  planned.budget = run.memory;
  planned.threads = run.threads;
  planned.tileSize = run.tileSize;
  planned.segmentation.inFiles = !run.scratch.empty();
  const MemoryPlan plan = MemoryPlan::Make(planned);
  const auto       source =
    Normalize(voxels, model.network.normalization, [&](double done) { return progress(NormalizingPart * done); });
  if (!source)
  {
    return false;
  }
  Predictor predictor(
    model, plan.tilesInFlight, run.device, {}, run.tileSize == WholeImage ? WholeImage : plan.tileSize, run.scratch);
  const Region all{ 0, 0, size.width, size.height, 0, size.depth };
  const auto   report = [&](double done) { return progress(NormalizingPart + (1 - NormalizingPart) * done); };
  return labels != nullptr ? predictor.PredictLabels(*source, all, run.threshold, labels, report)
                           : predictor.Predict(*source, all, probabilities, report);
}

} // namespace gigapixel

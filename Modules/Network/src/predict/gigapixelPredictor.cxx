/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPredictor.h"
#include "gigapixelLabeling.h"
#include "model/gigapixelModelFile.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelPatchNetwork.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "model/gigapixelValueRange.h"
#include "gigapixelWorkers.h"

#include <stdexcept>

namespace gigapixel
{

struct Predictor::Implementation
{
  NetworkDescription               network;
  std::int64_t                     tileSize;
  std::unique_ptr<StreamedNetwork> whole; ///< over the whole image, or else:
  std::unique_ptr<PatchNetwork>    patches;
};

Predictor::Predictor(const Model &                    model,
                     int                              threads,
                     Device                           device,
                     const std::optional<Patches> &   patches,
                     std::int64_t                     tileSize,
                     const std::string &              scratch,
                     const std::vector<SegmentPlan> & segments)
{
  model.network.Validate();
  Labeling::OfPixels().Require(model.network);
  CheckParameters(model);
  if (device.precision == Precision::Float16)
  {
    CheckWeightsOfFloat16(model);
  }
  m_Implementation.reset(
    new Implementation{ model.network, tileSize == 0 ? model.tileSize : tileSize, nullptr, nullptr });
  Implementation & self = *m_Implementation;
  const int        together = GetNumberOfThreads(threads);
  if (patches)
  {
    patches->Validate(model.network);
    self.tileSize = patches->GetTileSize();
    self.patches = std::make_unique<PatchNetwork>(self.network, *patches, together, device);
    self.patches->SetParameters(ToArray(model));
    return;
  }
  self.whole = std::make_unique<StreamedNetwork>(self.network, self.tileSize, together, device);
  self.whole->SetParameters(ToArray(model));
  self.whole->SetSegments(segments, scratch);
}

Predictor::~Predictor() = default;

const NetworkDescription &
Predictor::GetNetwork() const
{
  return m_Implementation->network;
}

int
Predictor::GetNumberOfOutputChannels() const
{
  return m_Implementation->network.GetNumberOfOutputChannels();
}

std::int64_t
Predictor::GetTileSize() const
{
  return m_Implementation->tileSize;
}

Region
Predictor::GetTiles(const Region & region, Size image) const
{
  const Implementation & self = *m_Implementation;
  return GrowToTiles(region, GetTileSide(self.tileSize, image, self.network.GetStride()), image);
}

Region
Predictor::GetInputRegion(const Region & region, Size image) const
{
  const Implementation & self = *m_Implementation;
  return self.patches ? self.patches->GetInputRegion(region, image) : self.whole->GetInputRegion(region, image);
}

bool
Predictor::Predict(PixelSource &                       image,
                   const Region &                      region,
                   float *                             probabilities,
                   const std::function<bool(double)> & progress)
{
  const Implementation & self = *m_Implementation;
  return self.patches ? self.patches->Predict(image, region, probabilities, progress)
                      : self.whole->Predict(image, region, probabilities, progress);
}

bool
Predictor::PredictLabels(PixelSource &                       image,
                         const Region &                      region,
                         double                              threshold,
                         std::uint8_t *                      labels,
                         const std::function<bool(double)> & progress)
{
  const Implementation & self = *m_Implementation;
  return self.patches ? self.patches->PredictLabels(image, region, threshold, labels, progress)
                      : self.whole->PredictLabels(image, region, threshold, labels, progress);
}

void
Predictor::Clear()
{
  m_Implementation->patches ? m_Implementation->patches->Clear() : m_Implementation->whole->Clear();
}

} // namespace gigapixel

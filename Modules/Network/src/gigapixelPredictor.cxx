/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPredictor.h"
#include "gigapixelModelFile.h"
#include "gigapixelParameterLayout.h"
#include "gigapixelStreamedNetwork.h"
#include "gigapixelValueRange.h"

namespace gigapixel
{

struct Predictor::Implementation
{
  Implementation(const NetworkDescription & network, std::int64_t tileSize, int threads, Device device)
    : network(network)
    , tileSize(tileSize)
    , streamed(network, tileSize, gigapixel::GetNumberOfThreads(threads), device)
  {}

  NetworkDescription network;
  std::int64_t       tileSize;
  StreamedNetwork    streamed;
};

Predictor::Predictor(const Model & model, int threads, Device device, std::int64_t tileSize)
{
  model.network.Validate();
  CheckParameters(model);
  if (device.precision == Precision::Float16)
  {
    CheckWeightsOfFloat16(model);
  }
  m_Implementation =
    std::make_unique<Implementation>(model.network, tileSize == 0 ? model.tileSize : tileSize, threads, device);
  m_Implementation->streamed.SetParameters(ToArray(model));
}

Predictor::~Predictor() = default;

const NetworkDescription &
Predictor::GetNetwork() const
{
  return m_Implementation->network;
}

std::int64_t
Predictor::GetTileSize() const
{
  return m_Implementation->tileSize;
}

int
Predictor::GetNumberOfOutputChannels() const
{
  return m_Implementation->network.GetNumberOfOutputChannels();
}

Region
Predictor::GetTiles(const Region & region, Size image) const
{
  return TileGrid(m_Implementation->network, image, m_Implementation->tileSize).GrowToTiles(region);
}

Region
Predictor::GetInputRegion(const Region & region, Size image) const
{
  return TileGrid(m_Implementation->network, image, m_Implementation->tileSize).GetInputRegion(region);
}

bool
Predictor::Predict(PixelSource &                       image,
                   const Region &                      region,
                   float *                             probabilities,
                   const std::function<bool(double)> & progress)
{
  return m_Implementation->streamed.Predict(image, region, probabilities, progress);
}

bool
Predictor::PredictLabels(PixelSource &                       image,
                         const Region &                      region,
                         double                              threshold,
                         std::uint8_t *                      labels,
                         const std::function<bool(double)> & progress)
{
  return m_Implementation->streamed.PredictLabels(image, region, threshold, labels, progress);
}

} // namespace gigapixel

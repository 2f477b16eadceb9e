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
  Implementation(const Model & model, int threads, Device device)
    : model(model)
    , network(model.network, model.tileSize, gigapixel::GetNumberOfThreads(threads), device)
  {}

  Model           model;
  StreamedNetwork network;
};

Predictor::Predictor(const Model & model, int threads, Device device)
{
  model.network.Validate();
  CheckParameters(model);
  if (device.precision == Precision::Float16)
  {
    CheckWeightsOfFloat16(model);
  }
  m_Implementation = std::make_unique<Implementation>(model, threads, device);
  m_Implementation->network.SetParameters(ToArray(model));
}

Predictor::~Predictor() = default;

const Model &
Predictor::GetModel() const
{
  return m_Implementation->model;
}

int
Predictor::GetNumberOfOutputChannels() const
{
  return m_Implementation->model.network.GetNumberOfOutputChannels();
}

Region
Predictor::GetTiles(const Region & region, Size image) const
{
  const Model & model = m_Implementation->model;
  return TileGrid(model.network, image, model.tileSize).GrowToTiles(region);
}

Region
Predictor::GetInputRegion(const Region & region, Size image) const
{
  const Model & model = m_Implementation->model;
  return TileGrid(model.network, image, model.tileSize).GetInputRegion(region);
}

bool
Predictor::Predict(PixelSource &                       image,
                   const Region &                      region,
                   float *                             probabilities,
                   const std::function<bool(double)> & progress)
{
  return m_Implementation->network.Predict(image, region, probabilities, progress);
}

bool
Predictor::PredictLabels(PixelSource &                       image,
                         const Region &                      region,
                         double                              threshold,
                         std::uint8_t *                      labels,
                         const std::function<bool(double)> & progress)
{
  return m_Implementation->network.PredictLabels(image, region, threshold, labels, progress);
}

} // namespace gigapixel

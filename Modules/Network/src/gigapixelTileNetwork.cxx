/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTileNetwork.h"
#include "gigapixelTilePasses.h"

namespace gigapixel
{

TileNetwork::TileNetwork(const NetworkDescription & network, Precision precision, Path path, Device device)
{
  network.Validate();
  m_Passes = precision != Precision::Float || path == Path::Stock ? MakeStockPasses(network, precision)
             : device.cuda >= 0                                   ? MakeCudaPasses(network, device.cuda)
                                                                  : MakeFusedPasses(network);
}

TileNetwork::~TileNetwork() = default;

void
TileNetwork::SetParameters(const std::vector<double> & parameters)
{
  m_Passes->SetParameters(parameters);
}

void
TileNetwork::AddGradient(TileData & data, const LossTerms & terms, LossGradient & sum) const
{
  m_Passes->AddGradient(data, terms, sum);
}

void
TileNetwork::AddScore(TileData & data, const LossTerms & terms, Score & sum) const
{
  m_Passes->AddScore(data, terms, sum);
}

void
TileNetwork::Predict(TileData & data, float * probabilities, std::ptrdiff_t pitch) const
{
  m_Passes->Predict(data, probabilities, pitch);
}

void
TileNetwork::PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const
{
  m_Passes->PredictLabels(data, threshold, labels, pitch);
}

} // namespace gigapixel

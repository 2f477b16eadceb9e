/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTileNetwork.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelTilePasses.h"
#include "gigapixelGraphPasses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** The greatest power of two with which no gradient of a logit is greater than 256 (a map's is a sum of some). */
double
GetLossScale(const LossTerms & terms)
{
  double greatest = 0;
  for (const auto * values : { &terms.weights, &terms.slopes, &terms.offsets })
  {
    for (const double value : *values)
    {
      greatest = std::max(greatest, std::abs(value));
    }
  }
  return greatest > 0 ? std::exp2(8 - std::ceil(std::log2(greatest))) : 1;
}

/** Those of `scale` times the loss. */
LossTerms
Scale(LossTerms terms, double scale)
{
  for (auto * values : { &terms.weights, &terms.slopes, &terms.offsets })
  {
    std::transform(values->begin(), values->end(), values->begin(), [scale](double value) { return value * scale; });
  }
  return terms;
}

bool
IsFinite(const std::vector<double> & values)
{
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

} // namespace

TileNetwork::TileNetwork(const NetworkDescription & network, Device device)
  : m_Precision(device.precision)
{
  network.Validate();
  if (network.layers.empty())
  {
    m_Graph = MakeTorchGraphPasses(network, device);
    return;
  }
  if (device.precision == Precision::Double)
  {
    throw InvalidArgument(
      Diagnostic("E-PRECISION", "a chain of layers has no kernels in double: its graph of operations has"));
  }
  m_Passes = device.cuda >= 0 ? MakeCudaPasses(network, device) : MakeFusedPasses(network, device.precision);
}

TileNetwork::~TileNetwork() = default;

void
TileNetwork::SetParameters(const std::vector<double> & parameters)
{
  m_Graph ? m_Graph->SetParameters(parameters) : m_Passes->SetParameters(parameters);
}

void
TileNetwork::SetMaskSeed(const std::optional<std::uint64_t> & seed)
{
  if (m_Graph)
  {
    m_Graph->SetMaskSeed(seed);
  }
}

void
TileNetwork::AddGradient(TileData & data, const LossTerms & terms, LossGradient & sum) const
{
  if (m_Precision != Precision::Float16)
  {
    return m_Passes->AddGradient(data, terms, sum);
  }
  double       scale = GetLossScale(terms);
  const double least = scale * 0x1p-40;
  LossGradient found;
  m_Passes->AddGradient(data, Scale(terms, scale), found);
  while (!IsFinite(found.gradient) && std::isfinite(found.loss) && scale > least)
  {
    scale /= 16;
    found = LossGradient{};
    m_Passes->AddGradient(data, Scale(terms, scale), found);
  }
  for (double & value : found.gradient)
  {
    value /= scale;
  }
  found.loss = IsFinite(found.gradient) ? found.loss / scale : std::numeric_limits<double>::quiet_NaN();
  found.weight /= terms.HasSums() ? 1 : scale;
  sum.Add(found);
}

void
TileNetwork::AddScore(TileData & data, const LossTerms & terms, Score & sum) const
{
  m_Graph ? m_Graph->AddScore(data, terms, sum) : m_Passes->AddScore(data, terms, sum);
}

void
TileNetwork::Predict(TileData & data, PixelValue value, float * values, std::ptrdiff_t pitch) const
{
  m_Graph ? m_Graph->Predict(data, value, values, pitch) : m_Passes->Predict(data, value, values, pitch);
}

void
TileNetwork::PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const
{
  m_Graph ? m_Graph->PredictLabels(data, threshold, labels, pitch)
          : m_Passes->PredictLabels(data, threshold, labels, pitch);
}

} // namespace gigapixel

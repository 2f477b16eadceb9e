/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelChainPasses.h"
#include "gigapixelDiagnostic.h"
#include "graph/gigapixelExecutors.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

LossGradient
DifferentiateScaled(const ChainPasses & passes, TileData & data, const LossTerms & terms)
{
  double       scale = GetLossScale(terms);
  const double least = scale * 0x1p-40;
  LossGradient found;
  passes.Differentiate(data, Scale(terms, scale), found);
  while (!IsFinite(found.gradient) && std::isfinite(found.loss) && scale > least)
  {
    scale /= 16;
    found = LossGradient{};
    passes.Differentiate(data, Scale(terms, scale), found);
  }
  for (double & value : found.gradient)
  {
    value /= scale;
  }
  found.loss = IsFinite(found.gradient) ? found.loss / scale : std::numeric_limits<double>::quiet_NaN();
  found.weight /= terms.HasSums() ? 1 : scale;
  return found;
}

} // namespace

ChainPasses::ChainPasses(const NetworkDescription & network, Precision precision)
  : m_Network(network)
  , m_Precision(precision)
  , m_Layout(GetParameterLayout(network))
  , m_Skips(GetSkips(network.layers))
  , m_Scales(GetMapScales(network.layers))
  , m_FusedLast(HasFusedLast(network))
  , m_End(network.layers.size() - (m_FusedLast ? 1 : 0))
{}

std::size_t
ChainPasses::GetNumberOfSums() const
{
  return m_Network.GetNumberOfParameters();
}

std::vector<double>
ChainPasses::GetGradient(const FixedPointSum & sums, Workers &) const
{
  std::vector<double> gradient(GetNumberOfSums());
  sums.GetValues(0, gradient.size(), gradient.data());
  return gradient;
}

void
ChainPasses::AddGradient(TileData &        data,
                         const LossTerms & terms,
                         std::int64_t      times,
                         LossSum &         loss,
                         FixedPointSum &   gradient) const
{
  LossGradient found;
  if (m_Precision == Precision::Float16)
  {
    found = DifferentiateScaled(*this, data, terms);
  }
  else
  {
    Differentiate(data, terms, found);
  }
  loss.Add(found);
  gradient.Add(0, found.gradient.data(), found.gradient.size(), times);
}

std::unique_ptr<TilePasses>
FusedExecutor::MakePasses(const NetworkDescription & network, const Device & device) const
{
  network.Validate();
  if (device.precision == Precision::Double)
  {
    throw InvalidArgument(
      Diagnostic("E-PRECISION", "a chain of layers has no kernels in double: its graph of operations has"));
  }
  return device.cuda >= 0 ? MakeCudaPasses(network, device) : MakeFusedPasses(network, device.precision);
}

} // namespace gigapixel

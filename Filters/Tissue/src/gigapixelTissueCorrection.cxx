/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissueCorrection.h"

#include "gigapixelTissueNetwork.h"

#include "vnl/algo/vnl_cholesky.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{
/** How far apart blocks are not alike any more: chosen on ten images with strokes where their masks were wrong
 * (Documentation/evidence/tissue.md). Wider ones correct more with a stroke, and spoil more of what was right. */
constexpr double ColorScale = 0.15 * 255.0;
constexpr double LogOddsScale = 1.5;
constexpr double PlaceScale = 0.2;

double
GetKernel(const TissueCorrection::Block & a, const TissueCorrection::Block & b)
{
  double squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
  {
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::exp(-0.5 * squares);
}
} // namespace

double
TissueCorrection::GetLogOdds(double probability)
{
  constexpr double least = 0.5 / 255.0;
  const double     p = std::clamp(probability, least, 1.0 - least);
  return std::log(p / (1.0 - p));
}

TissueCorrection::Block
TissueCorrection::MakeBlock(const unsigned char * stretched, const float * probabilities, double x, double y)
{
  Block block{};
  for (std::size_t i = 0; i < 3; ++i)
  {
    block[i] = stretched[i] / ColorScale;
  }
  for (std::size_t i = 0; i < ClassMap::Classes; ++i)
  {
    block[3 + i] = GetLogOdds(static_cast<double>(probabilities[i])) / LogOddsScale;
  }
  block[7] = x / PlaceScale;
  block[8] = y / PlaceScale;
  return block;
}

void
TissueCorrection::Add(const Block & block, bool isTissue, double logOdds)
{
  Kind & kind = m_Kinds[isTissue ? 1 : 0];
  if (kind.came++ % kind.every != 0)
  {
    return;
  }
  const double wanted = isTissue ? std::max(0.0, GetLogOdds(TissueNetwork::Likely) + Margin - logOdds)
                                 : std::min(0.0, GetLogOdds(TissueNetwork::Possible) - Margin - logOdds);
  kind.strokes.push_back({ block, wanted });
  if (kind.strokes.size() == 2 * MostStrokes)
  {
    for (std::size_t i = 0; i < MostStrokes; ++i)
    {
      kind.strokes[i] = kind.strokes[2 * i];
    }
    kind.strokes.resize(MostStrokes);
    kind.every *= 2;
  }
}

void
TissueCorrection::Solve()
{
  m_Strokes.clear();
  for (const Kind & kind : m_Kinds)
  {
    const std::size_t n = std::min(kind.strokes.size(), MostStrokes);
    for (std::size_t i = 0; i < n; ++i)
    {
      m_Strokes.push_back(kind.strokes[i * kind.strokes.size() / n]);
    }
  }
  const auto         n = static_cast<unsigned>(m_Strokes.size());
  vnl_matrix<double> kernel(n, n);
  vnl_vector<double> wanted(n);
  for (unsigned i = 0; i < n; ++i)
  {
    wanted[i] = m_Strokes[i].wanted;
    for (unsigned j = 0; j < n; ++j)
    {
      kernel(i, j) = GetKernel(m_Strokes[i].block, m_Strokes[j].block) + (i == j ? Ridge : 0.0);
    }
  }
  if (n > 0)
  {
    const vnl_vector<double> weights = vnl_cholesky(kernel, vnl_cholesky::quiet).solve(wanted);
    for (unsigned i = 0; i < n; ++i)
    {
      m_Strokes[i].weight = weights[i];
    }
  }
}

double
TissueCorrection::Get(const Block & block) const
{
  double sum = 0.0;
  for (const Stroke & stroke : m_Strokes)
  {
    sum += stroke.weight * GetKernel(stroke.block, block);
  }
  return sum;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelActivationPass.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelReadAhead.h"
#include "objective/gigapixelCountedPixels.h"
#include "maps/gigapixelEqualTiles.h"
#include "gigapixelGraphPasses.h"
#include "maps/gigapixelKeptMaps.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Whether an operation pools by the softmax of a second map. */
bool
IsByAttention(const GraphGeometry & geometry, int pooling)
{
  return geometry.GetInputs()[pooling].size() == 2;
}

/** Those that pool a map which nobody else reads: then the gradient of a channel, summed over its pixels, is that of
 * what it is pooled to, whichever pooling it is. */
std::vector<int>
FindPoolings(const GraphGeometry & geometry, int operation)
{
  std::vector<int> poolings;
  for (int reader = 0; reader < static_cast<int>(geometry.GetInputs().size()); ++reader)
  {
    const auto & inputs = geometry.GetInputs()[reader];
    if (std::find(inputs.begin(), inputs.end(), operation) == inputs.end())
    {
      continue;
    }
    if (!geometry.GetReduction(reader) || IsByAttention(geometry, reader))
    {
      const auto & operations = geometry.GetGraph().operations;
      throw InvalidArgument(Diagnostic("E-MODEL-OUTPUT",
                                       "there is no map of what the label comes from: the map \"" +
                                         operations[operation].name + "\", which is pooled, is also read by \"" +
                                         operations[reader].name + '"'));
    }
    if (GetNumberOfPixels(geometry.GetWhole(reader)) > 1)
    {
      throw InvalidArgument(Diagnostic("E-MODEL-OUTPUT",
                                       "there is no map of what the label comes from: \"" +
                                         geometry.GetGraph().operations[reader].name +
                                         "\" pools parts of the image, not all of it"));
    }
    poolings.push_back(reader);
  }
  return poolings;
}

} // namespace

ActivationPass::ActivationPass(std::shared_ptr<const GraphGeometry> geometry, const Segment & pooling)
  : m_Geometry(std::move(geometry))
  , m_Pooling(pooling.operation)
  , m_ByAttention(IsByAttention(*m_Geometry, m_Pooling))
  , m_Segment(pooling)
{
  m_Segment.operation = m_Geometry->GetInputs()[m_Pooling][m_ByAttention ? 1 : 0];
  m_Poolings = m_ByAttention ? std::vector<int>{} : FindPoolings(*m_Geometry, m_Segment.operation);
}

std::vector<double>
ActivationPass::GetWeights(const KeptMaps & maps) const
{
  std::vector<double> weights(m_Geometry->GetChannels(m_Segment.operation), m_ByAttention ? 1 : 0);
  for (const int pooling : m_Poolings)
  {
    if (maps.Holds(pooling)) // else the label does not depend on it
    {
      const std::vector<double> gradient = maps.ReadReducedGradient(pooling);
      std::transform(gradient.begin(), gradient.end(), weights.begin(), weights.begin(), std::plus<>());
    }
  }
  return weights;
}

ActivationMap
ActivationPass::MakeMap() const
{
  const Extent & size = m_Geometry->GetSize(m_Segment.operation);
  if (size.GetNumberOfAxes() > 2)
  {
    throw InvalidArgument(Diagnostic("E-MODEL-OUTPUT", "there is no map of what the label of a volume comes from"));
  }
  ActivationMap map;
  map.isAttention = m_ByAttention;
  map.size = { size[1], size[0] };
  for (int axis = 0; axis < size.GetNumberOfAxes(); ++axis)
  {
    const Sampling sampling = m_Geometry->GetSampling(m_Segment.operation, axis);
    map.first[1 - axis] = sampling.offset;
    map.step[1 - axis] = sampling.step;
  }
  return map;
}

bool
ActivationPass::Run(const GraphPasses &                 passes,
                    KeptMaps &                          maps,
                    PixelSource &                       pixels,
                    Workers &                           workers,
                    std::vector<TileData> &             data,
                    const std::function<bool(double)> & report,
                    ActivationMap &                     map) const
{
  map = this->MakeMap();
  map.values.resize(map.size.width * map.size.height);
  const std::vector<double>      weights = GetWeights(maps);
  const std::vector<double> &    sums = maps.GetSums(m_Pooling);
  const TileGrid                 grid(m_Geometry, m_Segment, false);
  const int                      channels = static_cast<int>(pixels.GetNumberOfChannels());
  EqualTiles<std::vector<float>> equal;
  std::atomic<std::int64_t>      counted{ 0 };

  const auto weigh = [&](TileData & of, std::vector<float> & values) {
    values.resize(of.tile.core.width * of.tile.core.height);
    passes.WeighMap(of, weights, values.data());
  };
  const auto getValue = [&](double sum) {
    return m_ByAttention ? std::exp(sum - sums.back()) / sums.end()[-2] : std::max(0.0, sum);
  };
  const auto compute = [&](int worker, std::int64_t index) {
    TileData &         of = data[worker];
    const Tile         tile = grid.GetTile(index);
    const Region &     core = tile.core;
    std::vector<float> values;
    ReadAhead(pixels, index, grid.GetNumberOfTiles(), workers.GetNumberOfThreads(), [&](std::int64_t coming) {
      return grid.GetInputOf(coming);
    });
    if (!FindCounted(*m_Geometry, m_Segment.operation, tile.program->core, pixels, of.counted))
    {
      return;
    }
    of.tile = tile;
    of.rows = {};
    of.classes.clear();
    of.kept = &maps;
    if (tile.window.width > 0)
    {
      FindPixels(pixels, tile, of);
    }
    m_Segment.kept.empty() ? equal.Compute(of, channels, values, weigh) : weigh(of, values);
    of.kept = nullptr;
    for (std::size_t i = 0; i < values.size(); ++i)
    {
      if (of.counted.empty() || of.counted[i] != 0)
      {
        const auto place = static_cast<std::int64_t>(i);
        map.values[(core.y + place / core.width) * map.size.width + core.x + place % core.width] =
          static_cast<float>(getValue(values[i]));
        ++counted;
      }
    }
  };
  const std::int64_t tiles = grid.GetNumberOfTiles();
  const bool         finished = workers.Run(tiles, compute, [&](std::int64_t index) {
    return report(static_cast<double>(index + 1) / static_cast<double>(tiles));
  });
  if (m_ByAttention) // whose sum is 1
  {
    const auto number = static_cast<float>(counted);
    std::transform(
      map.values.begin(), map.values.end(), map.values.begin(), [number](float value) { return value * number; });
  }
  return finished;
}

} // namespace gigapixel

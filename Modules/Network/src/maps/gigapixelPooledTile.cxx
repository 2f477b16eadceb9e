/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPooledTile.h"
#include "schedule/gigapixelTileProgram.h"

#include <algorithm>

namespace gigapixel
{

bool
PooledTile::KeepOne(std::size_t pixels)
{
  const auto length = static_cast<std::ptrdiff_t>(vectors.size() / pixels);
  // Each value is that of the pixel before.
  const bool same = std::equal(vectors.begin() + length, vectors.end(), vectors.begin());
  vectors.resize(same ? length : vectors.size());
  return same;
}

Features
PooledTile::GetFeatures(const GraphGeometry & geometry, int pooling, const TileData & of) const
{
  const int      map = geometry.GetInputs()[pooling].front();
  const Box &    core = of.tile.program->core;
  const Sampling down = geometry.GetSampling(map, 0), across = geometry.GetSampling(map, 1);
  const auto     length = static_cast<std::ptrdiff_t>(geometry.GetChannels(map));
  const bool     one = static_cast<std::ptrdiff_t>(vectors.size()) == length;
  Features       features;
  features.step = { across.step, down.step };
  const auto counted = of.counted.empty() ? GetNumberOfPixels(core)
                                          : static_cast<std::int64_t>(of.counted.size()) -
                                              std::count(of.counted.begin(), of.counted.end(), 0);
  features.vectors.reserve(counted * length);
  features.places.reserve(counted);
  std::ptrdiff_t pixel = 0;
  for (std::int64_t y = core[0].begin; y < core[0].end; ++y)
  {
    for (std::int64_t x = core[1].begin; x < core[1].end; ++x, ++pixel)
    {
      if (of.counted.empty() || of.counted[pixel] != 0)
      {
        const auto vector = vectors.begin() + (one ? 0 : pixel * length);
        features.vectors.insert(features.vectors.end(), vector, vector + length);
        features.places.push_back(
          { across.offset + across.step * static_cast<double>(x), down.offset + down.step * static_cast<double>(y) });
      }
    }
  }
  return features;
}

} // namespace gigapixel

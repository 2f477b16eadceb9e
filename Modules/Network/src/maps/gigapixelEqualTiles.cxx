/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelEqualTiles.h"
#include "gigapixelKeptMaps.h"
#include "schedule/gigapixelTileProgram.h"

#include <algorithm>
#include <cstring>

namespace gigapixel
{

bool
IsUniform(const RowsInMemory & rows, std::int64_t width, std::int64_t height, std::int64_t pixelBytes)
{
  constexpr std::int64_t Step = 64;
  for (std::int64_t first = 0; first < std::min(Step, height); ++first)
  {
    for (std::int64_t y = first; y < height; y += Step)
    {
      const std::uint8_t * row = rows.first + y * rows.pitch;
      if (std::memcmp(row, rows.first, pixelBytes) != 0 ||
          std::memcmp(row, row + pixelBytes, (width - 1) * pixelBytes) != 0)
      {
        return false;
      }
    }
  }
  return true;
}

std::optional<TileKey>
FindTileKey(const TileData & data, int channels)
{
  if (data.inMemory.pixels.first)
  {
    return {};
  }
  const Region &    window = data.tile.window;
  const auto        classes = static_cast<std::int64_t>(data.classes.size());
  std::vector<char> constants;
  if (window.width > 0)
  {
    const std::int64_t pixelBytes = channels * GetSampleBytes(data.sampleType);
    for (std::int64_t z = 0; z < window.depth; ++z)
    {
      const RowsInMemory slice{ data.rows.first + z * data.rows.slice, data.rows.pitch };
      if (!IsUniform(slice, window.width, window.height, pixelBytes) ||
          std::memcmp(slice.first, data.rows.first, pixelBytes) != 0)
      {
        return {};
      }
    }
    constants.assign(data.rows.first, data.rows.first + pixelBytes);
  }
  if (classes > 0)
  {
    if (!IsUniform({ data.classes.data(), 0 }, classes, 1, 1))
    {
      return {};
    }
    constants.push_back(static_cast<char>(data.classes.front()));
  }
  constants.insert(constants.end(), data.counted.begin(), data.counted.end());
  for (const TileProgram::Step & step : data.tile.program->steps)
  {
    const bool isKept = data.kept && step.sources.empty() && data.kept->Holds(step.operation);
    if (isKept && !data.kept->GetMap(step.operation).FindConstant(step.output, constants))
    {
      return {};
    }
  }
  return TileKey{ data.tile.program->signature, constants };
}

} // namespace gigapixel

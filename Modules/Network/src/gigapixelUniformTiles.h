/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelUniformTiles_h
#define gigapixelUniformTiles_h

#include "gigapixelTileData.h"
#include "schedule/gigapixelTileProgram.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace gigapixel
{

/** Every sample is that of the pixel before, or of the first one. Rows from all over the tile are looked at first, so
 * that a tile with anything on it is told at once from one that has nothing. */
inline bool
IsUniform(const RowsInMemory & rows, std::int64_t width, std::int64_t height, std::int64_t channels)
{
  constexpr std::int64_t Step = 64;
  for (std::int64_t first = 0; first < std::min(Step, height); ++first)
  {
    for (std::int64_t y = first; y < height; y += Step)
    {
      const std::uint8_t * row = rows.first + y * rows.pitch;
      if (std::memcmp(row, rows.first, channels) != 0 || std::memcmp(row, row + channels, (width - 1) * channels) != 0)
      {
        return false;
      }
    }
  }
  return true;
}

/** \class UniformTiles
 * \brief Results of tiles of one color and one class, such as what was not scanned: each is computed once.
 *
 * What a tile yields depends on its pixels and classes and on where its core lies in its window, not on its place in
 * the image. So a result that is used again has the bits that computing it again would give. For one set of weights;
 * Compute() may be called by any number of threads. */
template <typename TResult>
class UniformTiles
{
public:
  /** \param compute (data, result) as for any other tile */
  template <typename TCompute>
  void
  Compute(TileData & data, int channels, TResult & result, const TCompute & compute)
  {
    if (!IsUniform(data, channels))
    {
      compute(data, result);
      return;
    }
    const Key key = MakeKey(data, channels);
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      const auto                        found = m_Results.find(key);
      if (found != m_Results.end())
      {
        result = found->second;
        return;
      }
    }
    compute(data, result);
    const std::lock_guard<std::mutex> lock(m_Mutex);
    if (m_Results.size() < MostResults)
    {
      m_Results.emplace(key, result);
    }
  }

  /** Of one color, and of one class where classes were read. */
  static bool
  IsUniform(const TileData & data, int channels)
  {
    const Region & window = data.tile.window;
    const auto     classes = static_cast<std::int64_t>(data.classes.size());
    return gigapixel::IsUniform(data.rows, window.width, window.height, channels) &&
           (classes == 0 || gigapixel::IsUniform({ data.classes.data(), 0 }, classes, 1, 1));
  }

  /** For other weights. */
  void
  Clear()
  {
    m_Results.clear();
  }

  /** Color and class; place and size of the core in its window, size of the window, and the program's signature. */
  using Key = std::pair<std::vector<std::uint8_t>, std::vector<std::int64_t>>;

  static Key
  MakeKey(const TileData & data, int channels)
  {
    const Region &            core = data.tile.core;
    const Region &            window = data.tile.window;
    std::vector<std::uint8_t> values(data.rows.first, data.rows.first + channels);
    values.insert(values.end(), data.classes.begin(), data.classes.begin() + (data.classes.empty() ? 0 : 1));
    std::vector<std::int64_t> place{ core.x - window.x, core.y - window.y, core.width,
                                     core.height,       window.width,      window.height };
    if (data.tile.program)
    {
      const auto & signature = data.tile.program->signature;
      place.insert(place.end(), signature.begin(), signature.end());
    }
    return { values, place };
  }

private:
  /** There are few colors and few places at the image's edge; a picture in which it is otherwise takes no memory. */
  static constexpr std::size_t MostResults = 32;

  std::mutex             m_Mutex;
  std::map<Key, TResult> m_Results;
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelEqualTiles_h
#define gigapixelEqualTiles_h

#include "gigapixelTileData.h"

#include <map>
#include <mutex>
#include <optional>

namespace gigapixel
{

/** Every sample of a slice is that of the pixel before, or of the first one. Rows from all over the tile are looked at
 * first, so that a tile with anything on it is told at once from one that has nothing. */
GigapixelNetwork_EXPORT bool IsUniform(const RowsInMemory & rows,
                                       std::int64_t         width,
                                       std::int64_t         height,
                                       std::int64_t         pixelBytes);

/** What is computed, and from which constants: with one set of weights, tiles whose keys are equal are the same
 * computation, at whatever place in the image, and yield the same bits. */
using TileKey = std::pair<std::vector<std::int64_t>, std::vector<char>>;

/** \param channels of the pixels
 * \return nothing if the pixels or the classes that the tile reads, or one of the maps that are kept, are not constant,
 * or only a GPU reads them */
GigapixelNetwork_EXPORT std::optional<TileKey> FindTileKey(const TileData & data, int channels);

/** \class EqualTiles
 * \brief Tiles that are the same computation of the same constants, such as what was not scanned: each is computed once
 * and the others are counted.
 *
 * For one set of weights. Any number of threads may ask, as long as none clears it. */
template <typename TResult>
class EqualTiles
{
public:
  struct Entry
  {
    Tile         tile;
    TResult      result;
    std::int64_t repetitions{ 0 }; ///< tiles that were found equal to it
  };

  /** \param compute (data, result) as for any other tile; not called if an equal one was computed, whose result this is
   */
  template <typename TCompute>
  void
  Compute(TileData & data, int channels, TResult & result, const TCompute & compute)
  {
    const std::optional<TileKey> key = FindTileKey(data, channels);
    if (key && this->Repeat(*key, result))
    {
      return;
    }
    compute(data, result);
    if (key)
    {
      this->Remember(*key, data.tile, result);
    }
  }

  /** The result of an equal tile, of which this one is a repetition then. \return false: none is known */
  bool
  Repeat(const TileKey & key, TResult & result)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    const auto                        found = m_Entries.find(key);
    if (found == m_Entries.end())
    {
      return false;
    }
    result = found->second.result;
    ++found->second.repetitions;
    return true;
  }

  void
  Remember(const TileKey & key, const Tile & tile, const TResult & result)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    this->FindOrAdd(key, tile, result);
  }

  /** Counts a tile that is computed later, together with those that are equal to it: the first of its kind counts as a
   * repetition, too. \return false: it has to be computed now */
  bool
  Postpone(const TileData & data, int channels)
  {
    const std::optional<TileKey> key = FindTileKey(data, channels);
    if (!key)
    {
      return false;
    }
    const std::lock_guard<std::mutex> lock(m_Mutex);
    Entry * const                     entry = this->FindOrAdd(*key, data.tile, TResult{});
    if (entry)
    {
      ++entry->repetitions;
    }
    return entry != nullptr;
  }

  /** One tile of each kind that has repetitions. */
  std::vector<Entry>
  GetRepeated() const
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    std::vector<Entry>                repeated;
    for (const auto & item : m_Entries)
    {
      if (item.second.repetitions > 0)
      {
        repeated.push_back(item.second);
      }
    }
    return repeated;
  }

  /** For other weights. */
  void
  Clear()
  {
    m_Entries.clear();
  }

private:
  /** There are few colors and few places at the image's edge; a picture in which it is otherwise takes no memory. */
  static constexpr std::size_t MostEntries = 32;

  /** \return null if there are too many others */
  Entry *
  FindOrAdd(const TileKey & key, const Tile & tile, const TResult & result)
  {
    const auto found = m_Entries.find(key);
    if (found != m_Entries.end())
    {
      return &found->second;
    }
    return m_Entries.size() < MostEntries ? &m_Entries.emplace(key, Entry{ tile, result }).first->second : nullptr;
  }

  mutable std::mutex       m_Mutex;
  std::map<TileKey, Entry> m_Entries;
};

} // namespace gigapixel

#endif

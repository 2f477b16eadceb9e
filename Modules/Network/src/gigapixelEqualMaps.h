/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelEqualMaps_h
#define gigapixelEqualMaps_h

#include "gigapixelTileData.h"
#include "schedule/gigapixelTileProgram.h"

#include <map>
#include <mutex>

namespace gigapixel
{

/** \class EqualMaps
 * \brief Parts of a map that is kept which are the same computation of the same constants, such as glass: each is
 * computed once and copied elsewhere.
 *
 * What a tile yields depends on what it reads and on its program's signature, so a copy has the bits that computing it
 * again would give. For one pass over one map; Compute() may be called by any number of threads. */
class GigapixelNetwork_EXPORT EqualMaps
{
public:
  /** Calls compute(), which writes the tile's part of its map, unless an equal one is there.
   * \param channels of the pixels */
  template <typename TCompute>
  void
  Compute(const TileData & data, int channels, const TCompute & compute)
  {
    std::vector<char> constants;
    if (!FindConstants(data, channels, constants))
    {
      return compute();
    }
    const Key key{ data.tile.program->signature, std::move(constants) };
    if (!Copy(data, key))
    {
      compute();
      const std::lock_guard<std::mutex> lock(m_Mutex);
      if (m_Computed.size() < MostParts)
      {
        m_Computed.emplace(key, data.tile.program->core);
      }
    }
  }

  /** Signature of the program, and what its steps read. */
  using Key = std::pair<std::vector<std::int64_t>, std::vector<char>>;

  /** There are few colors and few places at the image's edge; a picture in which it is otherwise takes no memory. */
  static constexpr std::size_t MostParts = 32;

  /** \return whether each map that the program reads is constant over what it reads, and the pixels are */
  static bool FindConstants(const TileData & data, int channels, std::vector<char> & constants);

private:
  /** \return false: there is none that is equal */
  bool Copy(const TileData & data, const Key & key);

  std::mutex         m_Mutex;
  std::map<Key, Box> m_Computed;
};

} // namespace gigapixel

#endif

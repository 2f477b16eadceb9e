/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DamagedTiles_h
#define DamagedTiles_h

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gigapixel
{

/** The tiles of one slide whose compressed bytes are damaged, though their codec gave pixels, and what is wrong with
 * each. All functions may be called by any number of threads; as long as no tile is damaged they take no lock. */
class DamagedTiles
{
public:
  /** A plane, and the number of a tile in it. */
  using Place = std::pair<unsigned, std::uint64_t>;

  /** So many are reported one by one: a file of which all tiles are damaged is not to flood a log. */
  static constexpr std::size_t Named = 5;

  struct Damage
  {
    Place       place;
    std::string what;
    bool        isLastNamed; // no further ones are named
  };

  /** Once for each place; what is said later of the same place is neglected. */
  void Add(const Place & place, const std::string & what);

  std::uint64_t
  GetCount() const
  {
    return m_Count;
  }

  /** What is wrong with the tile; empty: nothing is known. */
  std::string Find(const Place & place) const;

  /** Those that this function has not returned yet, by plane and number, whoever came first; at most `Named` over all
   * its calls. */
  std::vector<Damage> TakeUnnamed();

private:
  std::atomic<std::uint64_t> m_Count{ 0 };
  mutable std::mutex         m_Mutex;
  std::set<std::string>      m_Texts; // each once: a file may have many tiles that are damaged in the same way
  std::map<Place, const std::string *> m_Tiles;
  std::set<Place>                      m_Named;
};

} // namespace gigapixel

#endif

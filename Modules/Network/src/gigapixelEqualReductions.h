/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelEqualReductions_h
#define gigapixelEqualReductions_h

#include "gigapixelEqualMaps.h"

namespace gigapixel
{

/** \class EqualReductions
 * \brief Tiles of an operation that reduces the image which are the same computation of the same constants, such as
 * glass: what they come to is computed once.
 *
 * For the passes over one image. Any number of threads may ask. */
class GigapixelNetwork_EXPORT EqualReductions
{
public:
  struct Counted
  {
    Tile         tile;
    std::int64_t times{ 0 };
  };

  /** The sums that compute() yields for the tile, or has yielded for an equal one.
   * \param channels of the pixels */
  template <typename TCompute>
  std::vector<double>
  Reduce(const TileData & data, int channels, const TCompute & compute)
  {
    Key                 key;
    std::vector<double> sums;
    const bool          isConstant = MakeKey(data, channels, key);
    if (isConstant && FindSums(key, sums))
    {
      return sums;
    }
    sums = compute();
    if (isConstant)
    {
      Remember(key, sums);
    }
    return sums;
  }

  /** \return whether the tile's gradient was counted, to be computed when all are: for GetCounted() */
  bool Count(const TileData & data, int channels);

  /** One of each kind, and how many there are of it. */
  std::vector<Counted> GetCounted() const;

private:
  using Key = EqualMaps::Key;

  static bool MakeKey(const TileData & data, int channels, Key & key);

  bool FindSums(const Key & key, std::vector<double> & sums);
  void Remember(const Key & key, const std::vector<double> & sums);

  mutable std::mutex                 m_Mutex;
  std::map<Key, std::vector<double>> m_Sums;
  std::map<Key, Counted>             m_Counted;
};

} // namespace gigapixel

#endif

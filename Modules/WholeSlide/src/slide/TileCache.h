/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TileCache_h
#define TileCache_h

#include "TileMemory.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace gigapixel
{

/** Pixels of one tile: rows without gaps, channels interleaved. */
struct DecodedTile
{
  DecodedTile(std::uint32_t tileWidth, std::uint32_t tileHeight, unsigned bytesOfPixel);

  std::size_t
  GetPixelBytes() const
  {
    return std::size_t{ width } * height * pixelBytes;
  }

  std::size_t
  GetBytes() const
  {
    return GetPixelBytes() + (scanned ? std::size_t{ width } * height : 0);
  }

  std::uint32_t                    width;
  std::uint32_t                    height;
  unsigned                         pixelBytes;
  TileMemory                       pixels;
  std::unique_ptr<unsigned char[]> scanned; // 255 or 0 per pixel; null where all is scanned
};

using DecodedTilePointer = std::shared_ptr<const DecodedTile>;

/** Which tile: a slide (a number of its own for each slide opened), a plane of it, the tile's number in the plane, and
 * how many channels it was decoded to. */
struct TileKey
{
  std::uint64_t slide;
  std::uint32_t plane;
  std::uint32_t channels;
  std::uint64_t tile;

  bool
  operator==(const TileKey & other) const
  {
    return slide == other.slide && plane == other.plane && channels == other.channels && tile == other.tile;
  }
};

/** Decoded tiles of all slides of the process, limited in bytes, longest unused first out. One that is larger than the
 * limit by itself stays alone until another is decoded: decoding it took that memory anyway, and strips that are read
 * one after the other would decode it again and again.
 *
 * A thread asks with Acquire(). It gets the tile, or the order to decode it: until that thread calls Publish() or
 * Release(), all others who ask for the tile wait for it. No lock is held meanwhile. */
class TileCache
{
public:
  static TileCache & GetInstance();

  /** Since the process began; bytes and tiles are those that are held now. */
  struct Statistics
  {
    std::size_t   bytes = 0;
    std::size_t   tiles = 0;
    std::uint64_t hits = 0;      // tiles that were there
    std::uint64_t waits = 0;     // tiles that another thread was just decoding
    std::uint64_t misses = 0;    // tiles that the one who asked decoded
    std::uint64_t evictions = 0; // tiles that went because of the limit
  };
  Statistics GetStatistics() const;

  void        SetLimit(std::size_t bytes);
  std::size_t GetLimit() const;

  /** The tile; or null: then the caller has to decode it, and to call Publish() or Release() in every case. */
  DecodedTilePointer Acquire(const TileKey & key);

  /** True if another thread waits for the tile that the caller decodes, so that it is worth publishing. */
  bool IsAwaited(const TileKey & key) const;

  /** Ends the caller's duty with a tile, kept as the limit allows and handed to those who wait. */
  void Publish(const TileKey & key, DecodedTilePointer tile);

  /** Ends the caller's duty without a tile: it failed, or nobody else needs it. Who waits decodes it himself. */
  void Release(const TileKey & key);

  /** Forgets the tiles of a slide that is closed. */
  void Forget(std::uint64_t slide);

private:
  struct KeyHash
  {
    std::size_t operator()(const TileKey & key) const;
  };

  struct Flight
  {
    unsigned           waiting = 0;
    bool               landed = false;
    DecodedTilePointer tile;
  };

  using Order = std::list<std::pair<TileKey, DecodedTilePointer>>; // front: used last

  /** Down to the limit, but not to less than so many tiles. */
  void Evict(std::size_t least);

  mutable std::mutex                                            m_Mutex;
  std::condition_variable                                       m_Landed;
  std::size_t                                                   m_Limit{ std::size_t{ 128 } << 20 };
  Statistics                                                    m_Statistics;
  Order                                                         m_Order;
  std::unordered_map<TileKey, Order::iterator, KeyHash>         m_Tiles;
  std::unordered_map<TileKey, std::shared_ptr<Flight>, KeyHash> m_Flights;
};

} // namespace gigapixel

#endif

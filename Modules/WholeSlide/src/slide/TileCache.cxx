/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TileCache.h"

namespace gigapixel
{

DecodedTile::DecodedTile(std::uint32_t tileWidth, std::uint32_t tileHeight, unsigned bytesOfPixel)
  : width(tileWidth)
  , height(tileHeight)
  , pixelBytes(bytesOfPixel)
  , pixels(MakeTileMemory(std::size_t{ tileWidth } * tileHeight * bytesOfPixel))
{}

std::size_t
TileCache::KeyHash::operator()(const TileKey & key) const
{
  std::uint64_t hash = key.tile * 0x9E3779B97F4A7C15u;
  hash ^= (key.slide << 20) ^ (std::uint64_t{ key.plane } << 4) ^ key.channels;
  hash *= 0xD6E8FEB86659FD93u;
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

TileCache &
TileCache::GetInstance()
{
  // Never destroyed: slides in static objects may outlive any order of destruction.
  static TileCache * const cache = new TileCache;
  return *cache;
}

void
TileCache::SetLimit(std::size_t bytes)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  m_Limit = bytes;
  Evict(0);
}

std::size_t
TileCache::GetLimit() const
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  return m_Limit;
}

TileCache::Statistics
TileCache::GetStatistics() const
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  Statistics                        statistics = m_Statistics;
  statistics.tiles = m_Tiles.size();
  return statistics;
}

DecodedTilePointer
TileCache::Acquire(const TileKey & key)
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  for (;;)
  {
    const auto found = m_Tiles.find(key);
    if (found != m_Tiles.end())
    {
      m_Order.splice(m_Order.begin(), m_Order, found->second);
      ++m_Statistics.hits;
      return found->second->second;
    }
    const auto flight = m_Flights.find(key);
    if (flight == m_Flights.end())
    {
      Evict(0); // room for the tile that is decoded now
      m_Flights.emplace(key, std::make_shared<Flight>());
      ++m_Statistics.misses;
      return nullptr;
    }
    // The flight is held here, so that the tile reaches those who wait even if the cache cannot keep it.
    const std::shared_ptr<Flight> awaited = flight->second;
    ++awaited->waiting;
    m_Landed.wait(lock, [&awaited] { return awaited->landed; });
    if (awaited->tile)
    {
      ++m_Statistics.waits;
      return awaited->tile;
    }
  }
}

bool
TileCache::IsAwaited(const TileKey & key) const
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  const auto                        flight = m_Flights.find(key);
  return flight != m_Flights.end() && flight->second->waiting > 0;
}

void
TileCache::Publish(const TileKey & key, DecodedTilePointer tile)
{
  bool awaited = false;
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    const auto                        flight = m_Flights.find(key);
    if (flight != m_Flights.end())
    {
      flight->second->tile = tile;
      flight->second->landed = true;
      awaited = flight->second->waiting > 0;
      m_Flights.erase(flight);
    }
    if (m_Limit > 0 && m_Tiles.find(key) == m_Tiles.end())
    {
      m_Statistics.bytes += tile->GetBytes();
      m_Order.emplace_front(key, std::move(tile));
      m_Tiles.emplace(key, m_Order.begin());
      Evict(1);
    }
  }
  if (awaited)
  {
    m_Landed.notify_all();
  }
}

void
TileCache::Release(const TileKey & key)
{
  bool awaited = false;
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    const auto                        flight = m_Flights.find(key);
    if (flight != m_Flights.end())
    {
      flight->second->landed = true;
      awaited = flight->second->waiting > 0;
      m_Flights.erase(flight);
    }
  }
  if (awaited)
  {
    m_Landed.notify_all();
  }
}

void
TileCache::Forget(std::uint64_t slide)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  for (auto tile = m_Order.begin(); tile != m_Order.end();)
  {
    if (tile->first.slide == slide)
    {
      m_Statistics.bytes -= tile->second->GetBytes();
      m_Tiles.erase(tile->first);
      tile = m_Order.erase(tile);
    }
    else
    {
      ++tile;
    }
  }
}

void
TileCache::Evict(std::size_t least)
{
  while (m_Statistics.bytes > m_Limit && m_Order.size() > least)
  {
    m_Statistics.bytes -= m_Order.back().second->GetBytes();
    m_Tiles.erase(m_Order.back().first);
    m_Order.pop_back();
    ++m_Statistics.evictions;
  }
}

} // namespace gigapixel

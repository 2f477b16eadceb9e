/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "slide/TileCache.h"
#include "slide/TileMemory.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

using gigapixel::DecodedTile;
using gigapixel::DecodedTilePointer;
using gigapixel::TileCache;
using gigapixel::TileKey;

namespace
{

TileKey
Key(std::uint64_t slide, std::uint64_t tile)
{
  return { slide, 0, 3, tile };
}

DecodedTilePointer
MakeTile()
{
  return std::make_shared<DecodedTile>(10, 10, 3); // 300 bytes
}

bool
Holds(TileCache & cache, const TileKey & key)
{
  const bool held = cache.Acquire(key) != nullptr;
  if (!held)
  {
    cache.Release(key);
  }
  return held;
}

TEST(TileCache, DropsTheLongestUnusedBeyondItsLimit)
{
  TileCache cache;
  cache.SetLimit(900);
  for (std::uint64_t tile = 0; tile < 3; ++tile)
  {
    ASSERT_EQ(cache.Acquire(Key(1, tile)), nullptr);
    cache.Publish(Key(1, tile), MakeTile());
  }
  ASSERT_TRUE(Holds(cache, Key(1, 0))); // used now, so 1 is the longest unused
  ASSERT_EQ(cache.Acquire(Key(1, 3)), nullptr);
  cache.Publish(Key(1, 3), MakeTile());
  EXPECT_TRUE(Holds(cache, Key(1, 0)));
  EXPECT_FALSE(Holds(cache, Key(1, 1)));
  EXPECT_TRUE(Holds(cache, Key(1, 2)));
  EXPECT_TRUE(Holds(cache, Key(1, 3)));
  cache.SetLimit(300);
  EXPECT_TRUE(Holds(cache, Key(1, 3)));
  EXPECT_FALSE(Holds(cache, Key(1, 0)));
}

TEST(TileCache, KeepsOneTileBeyondItsLimitUntilAnotherIsDecoded)
{
  TileCache cache;
  cache.SetLimit(299);
  ASSERT_EQ(cache.Acquire(Key(1, 0)), nullptr);
  cache.Publish(Key(1, 0), MakeTile());
  EXPECT_NE(cache.Acquire(Key(1, 0)), nullptr);
  EXPECT_EQ(cache.GetStatistics().bytes, 300u);
  ASSERT_EQ(cache.Acquire(Key(1, 1)), nullptr);
  EXPECT_EQ(cache.GetStatistics().bytes, 0u);
  cache.Publish(Key(1, 1), MakeTile());
  EXPECT_FALSE(Holds(cache, Key(1, 0)));
}

TEST(TileCache, ForgetsAClosedSlide)
{
  TileCache cache;
  for (const std::uint64_t slide : { 1u, 2u })
  {
    ASSERT_EQ(cache.Acquire(Key(slide, 0)), nullptr);
    cache.Publish(Key(slide, 0), MakeTile());
  }
  cache.Forget(1);
  EXPECT_FALSE(Holds(cache, Key(1, 0)));
  EXPECT_TRUE(Holds(cache, Key(2, 0)));
}

TEST(TileCache, NoTileIsDecodedTwiceAtOnce)
{
  TileCache                cache;
  std::atomic<unsigned>    decodings{ 0 };
  std::atomic<unsigned>    received{ 0 };
  const DecodedTilePointer tile = MakeTile();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
  {
    threads.emplace_back([&] {
      if (const auto found = cache.Acquire(Key(1, 7)))
      {
        received += found == tile ? 1 : 0;
        return;
      }
      ++decodings;
      while (!cache.IsAwaited(Key(1, 7)))
      {
        std::this_thread::yield();
      }
      cache.Publish(Key(1, 7), tile);
    });
  }
  for (auto & thread : threads)
  {
    thread.join();
  }
  EXPECT_EQ(decodings, 1u);
  EXPECT_EQ(received, 7u);
}

TEST(TileCache, ReachesThoseWhoWaitEvenWhenNothingIsKept)
{
  TileCache cache;
  cache.SetLimit(0);
  ASSERT_EQ(cache.Acquire(Key(1, 0)), nullptr);
  DecodedTilePointer received;
  std::thread        other([&] { received = cache.Acquire(Key(1, 0)); });
  while (!cache.IsAwaited(Key(1, 0)))
  {
    std::this_thread::yield();
  }
  const auto tile = MakeTile();
  cache.Publish(Key(1, 0), tile);
  other.join();
  EXPECT_EQ(received, tile);
  EXPECT_FALSE(Holds(cache, Key(1, 0)));
}

TEST(TileCache, AFailureIsNotHandedOn)
{
  TileCache cache;
  ASSERT_EQ(cache.Acquire(Key(1, 0)), nullptr);
  bool        told = false;
  std::thread other([&] {
    told = cache.Acquire(Key(1, 0)) == nullptr; // its own turn now
    cache.Release(Key(1, 0));
  });
  while (!cache.IsAwaited(Key(1, 0)))
  {
    std::this_thread::yield();
  }
  cache.Release(Key(1, 0));
  other.join();
  EXPECT_TRUE(told);
}

} // namespace

TEST(TileMemory, IsThatOfTheLastTileOfItsSize)
{
  constexpr std::size_t size = 256 * 256 * 3;
  auto                  first = gigapixel::MakeTileMemory(size);
  const auto * const    place = first.get();
  first[size - 1] = 1;
  first.reset();
  const auto other = gigapixel::MakeTileMemory(size / 3);
  const auto again = gigapixel::MakeTileMemory(size);
  EXPECT_EQ(again.get(), place);
  EXPECT_NE(other.get(), place);
}

TEST(TileMemory, LittleIsKeptThatNoTileHas)
{
  constexpr std::size_t              most = std::size_t{ 1 } << 20;
  std::vector<gigapixel::TileMemory> tiles;
  for (int i = 0; i < 40; ++i)
  {
    tiles.push_back(gigapixel::MakeTileMemory(i % 2 == 0 ? 256 * 256 * 3 : 256 * 256));
  }
  tiles.push_back(gigapixel::MakeTileMemory(2 * most));
  tiles.push_back(gigapixel::MakeTileMemory(300)); // of the heap
  tiles.clear();
  EXPECT_GT(gigapixel::GetIdleTileBytes(), 0u);
  EXPECT_LE(gigapixel::GetIdleTileBytes(), most);
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What a region read does with tiles, seen from a slide that counts: which are decoded, how often, what is prefetched.
#include "slide/Slide.h"

#include <map>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace
{

/** 1000 x 800 gray pixels in tiles of 100, each tile's pixels its number. */
class CountingSlide : public gigapixel::Slide
{
public:
  explicit CountingSlide(const std::string & damageOfTiles = {})
    : Slide("counting")
    , damage(damageOfTiles)
  {
    gigapixel::SlidePlane plane;
    plane.width = 1000;
    plane.height = 800;
    plane.tileWidth = plane.tileHeight = 100;
    plane.channels = 1;
    m_Planes.push_back(plane);
    m_NumberOfLevels = 1;
  }

  mutable std::map<std::uint64_t, unsigned> decoded;
  mutable std::vector<std::uint64_t>        prefetched;
  std::string                               damage; // of each tile

protected:
  bool
  HasTile(unsigned, std::uint64_t) const override
  {
    return true;
  }
  std::string
  DecodeTile(unsigned,
             std::uint64_t                tile,
             const gigapixel::PixelSpan & out,
             std::unique_ptr<unsigned char[]> *) const override
  {
    for (std::uint32_t y = 0; y < out.height; ++y)
    {
      std::fill_n(out.data + y * out.stride, out.width, static_cast<unsigned char>(tile));
    }
    const std::lock_guard<std::mutex> lock(m_Mutex);
    ++decoded[tile];
    return damage;
  }
  void
  Prefetch(unsigned, std::uint64_t first, std::uint64_t last) const override
  {
    for (std::uint64_t tile = first; tile <= last; ++tile)
    {
      prefetched.push_back(tile);
    }
  }

private:
  mutable std::mutex m_Mutex;
};

TEST(Slide, ARegionTouchesOnlyItsTilesAndEachOnce)
{
  for (const unsigned threads : { 1u, 4u })
  {
    const CountingSlide        slide;
    std::vector<unsigned char> pixels(250 * 120);
    slide.ReadRegion(0, { 150, 190, 250, 120 }, 1, pixels.data(), threads);
    const std::map<std::uint64_t, unsigned> expected{ { 11, 1 }, { 12, 1 }, { 13, 1 }, { 21, 1 }, { 22, 1 },
                                                      { 23, 1 }, { 31, 1 }, { 32, 1 }, { 33, 1 } };
    EXPECT_EQ(slide.decoded, expected);
    EXPECT_EQ(pixels[0], 11);
    EXPECT_EQ(pixels[119 * 250 + 249], 33);
  }
}

TEST(Slide, ThreadsThatReadTheSameDecodeOnce)
{
  const CountingSlide      slide;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
  {
    threads.emplace_back([&slide] {
      std::vector<unsigned char> pixels(950 * 750);
      slide.ReadRegion(0, { 25, 25, 950, 750 }, 1, pixels.data(), 1);
    });
  }
  for (auto & thread : threads)
  {
    thread.join();
  }
  // Tiles that are wanted wholly pass the cache by: only those that are decoded at this moment are shared.
  for (const std::uint64_t tile : { 0, 9, 70, 79, 40, 3 })
  {
    EXPECT_EQ(slide.decoded[tile], 1u) << tile;
  }
}

TEST(Slide, AStreamOfStripsDecodesEachTileOnceAndLooksAhead)
{
  const CountingSlide        slide;
  std::vector<unsigned char> pixels(1000 * 80);
  for (std::uint64_t top = 0; top < 800; top += 80)
  {
    slide.ReadRegion(0, { 0, top, 1000, 80 }, 1, pixels.data(), 2);
    if (top == 0)
    {
      EXPECT_TRUE(slide.prefetched.empty()); // one strip is no stream
    }
    if (top == 80)
    {
      // The next strip, of rows 160 to 239, begins inside tiles that are decoded: only row 2 of tiles is new.
      EXPECT_EQ(slide.prefetched, (std::vector<std::uint64_t>{ 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 }));
    }
  }
  for (const auto & tile : slide.decoded)
  {
    EXPECT_EQ(tile.second, 1u) << tile.first;
  }
  EXPECT_EQ(slide.decoded.size(), 80u);
  EXPECT_EQ(slide.prefetched.back(), 79u);
}

TEST(Slide, ReadingAheadAsksForTheTilesOfTheRegionAndDecodesNone)
{
  const CountingSlide slide;
  slide.ReadAhead(0, { 150, 190, 250, 120 });
  EXPECT_EQ(slide.prefetched, (std::vector<std::uint64_t>{ 11, 12, 13, 21, 22, 23, 31, 32, 33 }));
  slide.ReadAhead(0, { 900, 700, 100, 100 });
  EXPECT_EQ(slide.prefetched.back(), 79u);
  EXPECT_EQ(slide.prefetched.size(), 10u);
  slide.ReadAhead(0, { 10, 10, 0, 50 });
  EXPECT_EQ(slide.prefetched.size(), 10u);
  EXPECT_THROW(slide.ReadAhead(0, { 950, 0, 100, 100 }), gigapixel::SlideError);
  EXPECT_TRUE(slide.decoded.empty());
}

TEST(Slide, AStreamOfStripsDecodesATileThatIsLargerThanTheCacheOnce)
{
  auto &            cache = gigapixel::TileCache::GetInstance();
  const std::size_t limit = cache.GetLimit();
  cache.SetLimit(5000);
  const CountingSlide        slide;
  std::vector<unsigned char> pixels(100 * 20);
  for (std::uint64_t top = 0; top < 800; top += 20)
  {
    slide.ReadRegion(0, { 300, top, 100, 20 }, 1, pixels.data(), 1);
  }
  cache.SetLimit(limit);
  EXPECT_EQ(slide.decoded.size(), 8u);
  for (const auto & tile : slide.decoded)
  {
    EXPECT_EQ(tile.second, 1u) << tile.first;
  }
}

TEST(Slide, TheCacheCountsWhatItDoes)
{
  auto &                     cache = gigapixel::TileCache::GetInstance();
  const auto                 before = cache.GetStatistics();
  const CountingSlide        slide;
  std::vector<unsigned char> pixels(50 * 50);
  slide.ReadRegion(0, { 75, 75, 50, 50 }, 1, pixels.data(), 1);
  slide.ReadRegion(0, { 75, 75, 50, 50 }, 1, pixels.data(), 1);
  const auto after = cache.GetStatistics();
  EXPECT_EQ(after.misses - before.misses, 4u);
  EXPECT_EQ(after.hits - before.hits, 4u);
  EXPECT_EQ(after.tiles - before.tiles, 4u);
  EXPECT_EQ(after.bytes - before.bytes, 4u * 100 * 100);
  const auto limit = cache.GetLimit();
  cache.SetLimit(0);
  EXPECT_EQ(cache.GetStatistics().bytes, 0u);
  EXPECT_EQ(cache.GetStatistics().evictions - after.evictions, after.tiles);
  cache.SetLimit(limit);
}

TEST(Slide, WhatItSaysOfDamageIsPrintable)
{
  const CountingSlide        slide("\x1b[31m of \xc2\x9b a stream");
  std::vector<unsigned char> pixels(100 * 100);
  slide.ReadRegion(0, { 0, 0, 100, 100 }, 1, pixels.data(), 1);
  const auto warnings = slide.TakeDamageWarnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].code, "W-SLIDE-DAMAGED");
  EXPECT_EQ(warnings[0].file, "counting");
  EXPECT_NE(warnings[0].why.find("\\x1b[31m of \\xc2\\x9b a stream"), std::string::npos) << warnings[0].why;
}

} // namespace

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Slides that only OpenSlide knows, here Trestle's TIFF made with libtiff, against OpenSlide asked for the whole level:
// whatever region, from any number of threads. Exact.
#include "OpenSlideTesting.h"
#include "ReaderTesting.h"

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <openslide.h>

using namespace gigapixel_test;

namespace
{

std::size_t
CountDifferences(const Picture & whole, const std::vector<unsigned char> & part, const std::uint32_t (&region)[4])
{
  std::size_t different = 0;
  for (std::uint32_t y = 0; y < region[3]; ++y)
  {
    const auto * const row = whole.pixels.data() + (std::size_t{ region[1] + y } * whole.width + region[0]) * 3;
    for (std::uint32_t i = 0; i < region[2] * 3; ++i)
    {
      different += row[i] != part[std::size_t{ y } * region[2] * 3 + i] ? 1 : 0;
    }
  }
  return different;
}

} // namespace

TEST(WholeSlideImageIOOpenSlide, LevelsAreOpenSlides)
{
  const std::string path = WriteTrestle("trestle.tif");
  const auto        io = OpenSlideFile(path);
  EXPECT_EQ(io->GetVendor(), "trestle");
  EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 0.5);
  EXPECT_EQ(io->GetDecoder(), std::string("OpenSlide ") + openslide_get_version());
  ASSERT_EQ(io->GetNumberOfLevels(), 3u);
  for (unsigned level = 0; level < 3; ++level)
  {
    EXPECT_TRUE(ReadLevel(*io, level, 3) == ReadWithOpenSlide(path, static_cast<int>(level))) << "level " << level;
  }
}

TEST(WholeSlideImageIOOpenSlide, RegionsOfManyThreadsAreThoseOfTheWhole)
{
  const std::string        path = WriteTrestle("trestle-threads.tif");
  const Picture            whole = ReadWithOpenSlide(path, 0);
  const auto               io = OpenSlideFile(path);
  std::atomic<std::size_t> different{ 0 };
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < 4; ++number)
  {
    threads.emplace_back([&, number] {
      for (std::uint32_t i = 0; i < 30; ++i)
      {
        const std::uint32_t        at = number * 7919 + i * 104729;
        const std::uint32_t        region[] = { at % 800, at / 800 % 500, 1 + at % 400, 1 + at / 3 % 300 };
        std::vector<unsigned char> part(std::size_t{ region[2] } * region[3] * 3);
        io->ReadRegion(0, region[0], region[1], region[2], region[3], 3, part.data());
        different += CountDifferences(whole, part, region);
      }
    });
  }
  for (auto & thread : threads)
  {
    thread.join();
  }
  EXPECT_EQ(different, 0u);
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SyntheticSources.h"
#include "TemporaryFolder.h"
#include "gigapixelPixelCache.h"
#include "gigapixelPixelFile.h"
#include "gigapixelRandom.h"
#include "schedule/gigapixelTileGrid.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** Counts the pixels that were asked for. */
class Counted : public PixelSource
{
public:
  Counted(Size size, unsigned channels)
    : m_Pixels(size, 1, channels)
  {}

  Size
  GetSize() const override
  {
    return m_Pixels.GetSize();
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Pixels.GetNumberOfChannels();
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    count += region.width * region.height;
    m_Pixels.Read(region, samples);
  }

  std::atomic<std::int64_t> count{ 0 };

private:
  ProceduralPixels m_Pixels;
};

class Uniform : public PixelSource
{
public:
  Size
  GetSize() const override
  {
    return { 2000, 3000 };
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return 3;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    for (std::int64_t i = 0; i < region.width * region.height; ++i)
    {
      samples[3 * i] = 244;
      samples[3 * i + 1] = 240;
      samples[3 * i + 2] = 243;
    }
  }
};

class Cache : public testing::TestWithParam<unsigned>
{
protected:
  static constexpr Size Image{ 1301, 1100 }; // no multiples of a block

  std::shared_ptr<Counted>
  MakeImage() const
  {
    return std::make_shared<Counted>(Image, GetParam());
  }

  PixelCache
  Open(std::int64_t limit = 0)
  {
    return { folder.path + "/cache", limit, [this](const std::string & text) {
              const std::lock_guard<std::mutex> lock(mutex);
              warnings.push_back(text);
            } };
  }

  std::vector<std::string>
  ListFiles() const
  {
    std::vector<std::string> files;
    for (const auto & entry : std::filesystem::directory_iterator(folder.path + "/cache"))
    {
      if (entry.path().extension() == ".pixels")
      {
        files.push_back(entry.path().string());
      }
    }
    return files;
  }

  TemporaryFolder          folder{ "cache" };
  std::mutex               mutex;
  std::vector<std::string> warnings;
};

constexpr Size Cache::Image;

std::vector<std::uint8_t>
ReadPart(PixelSource & image, const Region & region)
{
  std::vector<std::uint8_t> samples(region.width * region.height * image.GetNumberOfChannels());
  image.Read(region, samples.data());
  return samples;
}

void
ExpectSamePixels(PixelSource & kept, PixelSource & image)
{
  const Size size = image.GetSize();
  Random     random(1, Random::Purpose::Order);
  for (int i = 0; i < 8; ++i)
  {
    Region region;
    region.x = static_cast<std::int64_t>(random.Below(size.width));
    region.y = static_cast<std::int64_t>(random.Below(size.height));
    region.width = 1 + static_cast<std::int64_t>(random.Below(size.width - region.x));
    region.height = 1 + static_cast<std::int64_t>(random.Below(size.height - region.y));
    ASSERT_EQ(ReadPart(kept, region), ReadPart(image, region));
  }
  const Region all{ 0, 0, size.width, size.height };
  ASSERT_EQ(ReadPart(kept, all), ReadPart(image, all));
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Channels, Cache, testing::Values(1u, 3u, 5u), testing::PrintToStringParamName());

TEST_P(Cache, DecodesOnceForAllRuns)
{
  ProceduralPixels truth(Image, 1, GetParam());
  for (const std::int64_t decoded : { Image.width * Image.height, std::int64_t{ 0 } })
  {
    const auto image = MakeImage();
    PixelCache cache = Open();
    ExpectSamePixels(*cache.Keep(image, "slide"), truth);
    EXPECT_EQ(image->count, decoded);
  }
  EXPECT_TRUE(warnings.empty());
}

TEST_P(Cache, KeepsNothingFromDamageOn)
{
  ProceduralPixels truth(Image, 1, GetParam());
  const Region     damaged{ 700, 600, 1, 1 }; // in the fifth of nine blocks
  std::int64_t     decoded = 0;
  for (int run = 0; run < 3; ++run)
  {
    const auto image = MakeImage();
    PixelCache cache = Open();
    bool       isDamaged = false;
    const auto kept = cache.Keep(image, "slide", [&] { return isDamaged; });
    for (std::int64_t block = 0; block < 9; ++block)
    {
      const Region region =
        Intersect({ block % 3 * 512, block / 3 * 512, 512, 512 }, { 0, 0, Image.width, Image.height });
      isDamaged = isDamaged || Intersect(region, damaged).width > 0;
      std::vector<std::uint8_t> found(region.width * region.height * GetParam()), expected(found.size());
      const std::int64_t        before = image->count;
      kept->Read(region, found.data());
      truth.Read(region, expected.data());
      EXPECT_EQ(found, expected);
      EXPECT_EQ(image->count > before, run == 0 || isDamaged) << run << ", block " << block;
    }
    EXPECT_EQ(warnings.size(), run + 1u);
    EXPECT_NE(warnings.back().find("has damaged tiles"), std::string::npos);
    EXPECT_TRUE(run < 2 || image->count == decoded);
    decoded = image->count;
  }
}

TEST_P(Cache, OtherPixelsHaveAnotherFile)
{
  PixelCache cache = Open();
  cache.Keep(MakeImage(), "slide");
  cache.Keep(MakeImage(), "slide");
  EXPECT_EQ(ListFiles().size(), 1);
  cache.Keep(MakeImage(), "slide at another level");
  EXPECT_EQ(ListFiles().size(), 2);
}

// What a crash or a disk leaves: any byte of table or pixels wrong, or the end missing.
TEST_P(Cache, DecodesAgainWhatIsDamaged)
{
  ProceduralPixels truth(Image, 1, GetParam());
  ExpectSamePixels(*Open().Keep(MakeImage(), "slide"), truth);
  const std::string  file = ListFiles().at(0);
  const std::int64_t bytes = PixelFile::GetBytes(Image, GetParam());
  for (const std::int64_t place : { std::int64_t{ 30 }, std::int64_t{ 4096 }, bytes / 2, bytes / 3 })
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(place);
    const int byte = stream.get();
    stream.seekp(place);
    stream.put(static_cast<char>(byte ^ 4));
    stream.close();
    const auto image = MakeImage();
    ExpectSamePixels(*Open().Keep(image, "slide"), truth);
    EXPECT_GT(image->count, 0) << place;
  }
  std::filesystem::resize_file(file, bytes / 2);
  ExpectSamePixels(*Open().Keep(MakeImage(), "slide"), truth);
  const auto image = MakeImage();
  ExpectSamePixels(*Open().Keep(image, "slide"), truth);
  EXPECT_EQ(image->count, 0);
}

TEST_P(Cache, ServesSeveralAtTheSameTime)
{
  ProceduralPixels         truth(Image, 1, GetParam());
  std::vector<std::thread> threads;
  PixelCache               shared = Open();
  const auto               kept = shared.Keep(MakeImage(), "slide");
  for (int i = 0; i < 4; ++i)
  {
    threads.emplace_back([&, i] {
      PixelCache cache = Open(); // as another process would
      ExpectSamePixels(i % 2 == 0 ? *kept : *cache.Keep(MakeImage(), "slide"), truth);
    });
  }
  for (std::thread & thread : threads)
  {
    thread.join();
  }
}

TEST_P(Cache, RemovesWhatWasUsedLongestAgo)
{
  ProceduralPixels   truth(Image, 1, GetParam());
  const std::int64_t bytes = PixelFile::GetBytes(Image, GetParam());
  PixelCache         cache = Open(2 * bytes);
  auto               first = cache.Keep(MakeImage(), "first");
  const std::string  firstFile = ListFiles().at(0);
  cache.Keep(MakeImage(), "second");
  // The first one is in use, the second one not.
  const auto third = cache.Keep(MakeImage(), "third");
  EXPECT_EQ(ListFiles().size(), 2);
  EXPECT_TRUE(std::filesystem::exists(firstFile));
  EXPECT_TRUE(warnings.empty());
  const auto image = MakeImage();
  EXPECT_EQ(cache.Keep(image, "fourth"), image);
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_NE(warnings[0].find("no room"), std::string::npos);
  first.reset();
  EXPECT_NE(cache.Keep(image, "fourth"), image);
  EXPECT_FALSE(std::filesystem::exists(firstFile));
  ExpectSamePixels(*third, truth);
}

// Anything else that is named like its files counts nothing and stays.
TEST_P(Cache, RemovesOnlyItsOwnFiles)
{
  const std::int64_t bytes = PixelFile::GetBytes(Image, GetParam());
  PixelCache         cache = Open(bytes);
  cache.Keep(MakeImage(), "first");
  const std::string              first = ListFiles().at(0);
  const std::string              start = folder.path + "/cache/";
  const std::string              digits(32, 'a');
  const std::vector<std::string> others{
    start + "copy.pixels", start + "photo.pixels", start + digits + ".pixels", start + digits + "a.pixels"
  };
  std::filesystem::copy_file(first, others[0]);
  std::filesystem::copy_file(first, others[3]);
  std::ofstream(others[1]) << "a user's";
  std::ofstream(others[2]) << "another user's";
  const auto second = cache.Keep(MakeImage(), "second");
  EXPECT_TRUE(warnings.empty());
  EXPECT_FALSE(std::filesystem::exists(first));
  for (const std::string & other : others)
  {
    EXPECT_TRUE(std::filesystem::exists(other)) << other;
  }
}

TEST_P(Cache, DecodesWhereItsFileCannotBeUsed)
{
  Open().Keep(MakeImage(), "slide");
  const std::string file = ListFiles().at(0);
  const std::string victim = folder.path + "/victim";
  const auto        expectDecoded = [&](const char * what) {
    const auto image = MakeImage();
    EXPECT_EQ(Open().Keep(image, "slide"), image) << what;
    ASSERT_EQ(warnings.size(), 1) << what;
    EXPECT_NE(warnings[0].find(file), std::string::npos) << warnings[0];
    warnings.clear();
    std::filesystem::remove(file);
  };
  std::filesystem::remove(file);
  std::ofstream(victim) << "a user's";
  std::filesystem::create_symlink(victim, file);
  expectDecoded("a link");
  std::filesystem::create_hard_link(victim, file);
  expectDecoded("another file");
  EXPECT_EQ(ReadAll(victim), "a user's");
  std::filesystem::create_directory(file);
  expectDecoded("a folder");
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  expectDecoded("a pipe");
  const int other = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  flock(other, LOCK_EX);
  expectDecoded("a file that another program has locked");
  close(other);
  if (geteuid() != 0) // who may open everything
  {
    close(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0));
    expectDecoded("a file without permissions, as another user's");
  }
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit low{ 8192, before.rlim_max };
  const auto   handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &low);
  expectDecoded("a limit of file sizes");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

TEST_P(Cache, DecodesWhatAnotherProgramHasEmptied)
{
  ProceduralPixels truth(Image, 1, GetParam());
  PixelCache       cache = Open();
  const auto       kept = cache.Keep(MakeImage(), "slide");
  ExpectSamePixels(*kept, truth);
  const std::string file = ListFiles().at(0);
  const auto        bytes = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, 0);
  std::filesystem::resize_file(file, bytes);
  ExpectSamePixels(*kept, truth);
}

// As a training holds that of its run folder.
TEST_P(Cache, WaitsForNoLockOfItsFolder)
{
  PixelCache cache = Open();
  const int  held = open((folder.path + "/cache").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  auto kept = std::async(std::launch::async, [&] { return cache.Keep(MakeImage(), "slide"); });
  EXPECT_EQ(kept.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  close(held);
  kept.wait();
}

// A limit of file sizes stands in for a full disk: writing fails in the same way.
TEST_P(Cache, DecodesWhenTheDiskIsFull)
{
  ProceduralPixels truth(Image, 1, GetParam());
  PixelCache       cache = Open();
  const auto       image = MakeImage();
  const auto       kept = cache.Keep(image, "slide");
  rlimit           before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit low{ static_cast<rlim_t>(PixelFile::GetBytes(Image, GetParam()) / 2), before.rlim_max };
  const auto   handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &low);
  ExpectSamePixels(*kept, truth);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(warnings.size(), 1);
  EXPECT_GT(image->count, Image.width * Image.height);
}

TEST_P(Cache, RefusesAFolderThatCannotBeMade)
{
  std::ofstream(folder.path + "/cache") << "a file";
  try
  {
    Open();
    FAIL() << "a file was taken for a folder";
  }
  catch (const std::runtime_error & error)
  {
    EXPECT_NE(std::string(error.what()).find("/cache"), std::string::npos);
  }
}

TEST(PixelCache, OneColorTakesNoSpace)
{
  TemporaryFolder folder("cache");
  PixelCache      cache(folder.path, 0, [](const std::string & text) { FAIL() << text; });
  for (int run = 0; run < 2; ++run)
  {
    Uniform image;
    ExpectSamePixels(*cache.Keep(std::make_shared<Uniform>(), "glass"), image);
  }
  std::filesystem::remove(folder.path + "/pixels.lock");
  const auto  file = std::filesystem::directory_iterator(folder.path)->path();
  struct stat status
  {
  };
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_GE(status.st_size, 18000000);
  EXPECT_LE(512 * status.st_blocks, 16384);
  EXPECT_EQ(status.st_mode & 077, 0); // for its owner alone
}

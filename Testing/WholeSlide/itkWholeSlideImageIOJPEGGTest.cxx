/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Each JPEG tile is decoded as if it were alone, whatever was decoded before it: a tile without tables of its own, of
// which libjpeg knows the standard ones, among tiles that bring others.
#include "JPEGFixture.h"
#include "ReaderTesting.h"

#include "TestData.h"

#include "itkMultiThreaderBase.h"
#include "itkPyramidTIFFConverter.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

constexpr std::uint32_t side = 64;

/** Tiles that all differ in what they say of tables; the last one has no quantization tables, which nobody knows. */
std::vector<JPEGOptions>
ListTables(int subsampling)
{
  JPEGOptions plain;
  plain.subsampling = subsampling;
  JPEGOptions own = plain;
  own.ownHuffmanTables = true;
  JPEGOptions coarse = own;
  coarse.quality = 25;
  JPEGOptions restarts = plain;
  restarts.restartInterval = 3;
  JPEGOptions progressive = own;
  progressive.progressive = true;
  progressive.quality = 60;
  JPEGOptions undecodable = plain;
  undecodable.leaveOutQuantizationTables = true;
  return { plain, own, coarse, restarts, progressive, undecodable };
}

/** The same for what they say of colors, which a TIFF says better: none of them counts. */
std::vector<JPEGOptions>
ListMarkers(int subsampling)
{
  JPEGOptions plain;
  plain.subsampling = subsampling;
  JPEGOptions markedRGB = plain;
  markedRGB.marker = Marker::AdobeRGB;
  JPEGOptions markedYCbCr = plain;
  markedYCbCr.marker = Marker::AdobeYCbCr;
  JPEGOptions own = markedRGB;
  own.ownHuffmanTables = true;
  JPEGOptions undecodable = markedRGB;
  undecodable.leaveOutQuantizationTables = true;
  return { plain, markedRGB, markedYCbCr, own, undecodable };
}

std::vector<JPEGStream>
MakeTiles(unsigned channels, const std::vector<JPEGOptions> & kinds)
{
  std::vector<JPEGStream> tiles;
  for (const JPEGOptions & options : kinds)
  {
    tiles.push_back(EncodeJPEG(MakePicture(side, side, channels, static_cast<unsigned>(tiles.size())), options));
  }
  return tiles;
}

Picture
ReadTile(const itk::WholeSlideImageIO & io, unsigned level, std::size_t tile, unsigned channels)
{
  const auto width = side / static_cast<std::uint32_t>(io.GetLevelDownsample(level));
  Picture    picture{ width, width, channels, {} };
  picture.pixels.resize(std::size_t{ width } * width * channels);
  io.ReadRegion(level, tile * width, 0, width, width, channels, picture.pixels.data());
  return picture;
}

struct TableCase
{
  const char * name;
  unsigned     channels;
  int          subsampling;
  bool         areMarked = false;
};

class JPEGTables : public testing::TestWithParam<TableCase>
{
protected:
  void
  SetUp() override
  {
    const int subsampling = GetParam().subsampling;
    m_Tiles = MakeTiles(GetParam().channels, GetParam().areMarked ? ListMarkers(subsampling) : ListTables(subsampling));
    m_Path = TemporaryFile(std::string("tables-") + GetParam().name + ".tif");
    Write(m_Path, m_Tiles);
    for (std::size_t i = 0; i + 1 < m_Tiles.size(); ++i)
    {
      const std::string alone = TemporaryFile("alone.tif");
      Write(alone, { m_Tiles[i] });
      m_Expected[Full].push_back(ReadWithLibTIFF(alone, 0));
      m_Expected[Luma].push_back(DecodeWithLibJPEG(m_Tiles[i], 1));
      m_Expected[Half].push_back(DecodeWithLibJPEG(m_Tiles[i], GetParam().channels, 2));
    }
    m_CacheLimit = itk::WholeSlideImageIO::GetTileCacheLimit();
    itk::WholeSlideImageIO::SetTileCacheLimit(0);
  }
  void
  TearDown() override
  {
    itk::WholeSlideImageIO::SetTileCacheLimit(m_CacheLimit);
  }

  static void
  Write(const std::string & path, const std::vector<JPEGStream> & tiles)
  {
    const auto across = static_cast<std::uint32_t>(tiles.size());
    WriteJPEGTiles(path, tiles, across, side, GetParam().channels, GetParam().subsampling);
  }

  /** Reads all tiles in this order, each in three ways; returns how many of the pictures are not those of libtiff and
   * libjpeg, which see the tile alone. */
  unsigned
  CountDifferences(const itk::WholeSlideImageIO & io, const std::vector<std::size_t> & order) const
  {
    unsigned differences = 0;
    for (const std::size_t tile : order)
    {
      if (tile + 1 == m_Tiles.size())
      {
        const std::string failure = GetFailure([&] { ReadTile(io, 0, tile, 1); });
        differences += failure.find("Quantization table 0x00 was not defined") == std::string::npos ? 1 : 0;
        continue;
      }
      differences += ReadTile(io, 0, tile, GetParam().channels) == m_Expected[Full][tile] ? 0 : 1;
      differences += ReadTile(io, 0, tile, 1) == m_Expected[Luma][tile] ? 0 : 1;
      differences += ReadTile(io, 1, tile, GetParam().channels) == m_Expected[Half][tile] ? 0 : 1;
    }
    return differences;
  }

  enum Way
  {
    Full,
    Luma,
    Half
  };
  std::string             m_Path;
  std::vector<JPEGStream> m_Tiles;
  std::vector<Picture>    m_Expected[3];
  std::size_t             m_CacheLimit = 0;
};

TEST_P(JPEGTables, AnyOrderOfTilesOnAnyThread)
{
  const auto io = OpenSlideFile(m_Path);
  ASSERT_EQ(io->GetNumberOfReducedLevels(), 3u);
  std::vector<std::size_t> order(m_Tiles.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<std::size_t>> orders;
  do
  {
    orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  ASSERT_EQ(orders.size(), GetParam().areMarked ? 120u : 720u);
  constexpr std::size_t    count = 4;
  std::vector<unsigned>    differences(count);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < count; ++thread)
  {
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread; i < orders.size(); i += count)
      {
        differences[thread] += CountDifferences(*io, orders[i]);
      }
    });
  }
  for (std::thread & thread : threads)
  {
    thread.join();
  }
  EXPECT_EQ(differences, std::vector<unsigned>(count, 0));
  EXPECT_EQ(io->GetNumberOfDamagedTiles(), 0u); // no tables of its own is no damage
}

TEST_P(JPEGTables, CopiedTilesKeepTheirPixels)
{
  m_Tiles.pop_back();
  Write(m_Path, m_Tiles);
  const auto converter = itk::PyramidTIFFConverter::New();
  const auto out = itk::PyramidTIFFImageIO::New();
  out->SetFileName(TemporaryFile(std::string("copied-") + GetParam().name + ".tif"));
  converter->SetSlide(OpenSlideFile(m_Path));
  converter->SetImageIO(out);
  converter->Update();
  ASSERT_EQ(converter->GetNumberOfCopiedTiles(), m_Tiles.size());
  const auto copy = OpenSlideFile(out->GetFileName());
  for (std::size_t tile = 0; tile < m_Tiles.size(); ++tile)
  {
    EXPECT_TRUE(ReadTile(*copy, 0, tile, GetParam().channels) == m_Expected[Full][tile]) << tile;
  }
}

INSTANTIATE_TEST_SUITE_P(WholeSlideImageIO,
                         JPEGTables,
                         testing::Values(TableCase{ "Gray", 1, 1 },
                                         TableCase{ "Color444", 3, 1 },
                                         TableCase{ "Color420", 3, 2 },
                                         TableCase{ "MarkedColor444", 3, 1, true },
                                         TableCase{ "MarkedColor420", 3, 2, true }),
                         [](const testing::TestParamInfo<TableCase> & info) { return info.param.name; });

std::string
FindFileEndingIn(const std::string & folder, const std::string & ending)
{
  for (const auto & entry : std::filesystem::directory_iterator(folder))
  {
    const std::string path = entry.path().string();
    if (path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0)
    {
      return path;
    }
  }
  throw std::runtime_error("no file of " + folder + " ends in " + ending);
}

/** Real files without Huffman tables, read whole with several threads, again and again. */
class FilesWithoutTables : public testing::TestWithParam<std::string>
{
};

TEST_P(FilesWithoutTables, HaveThePixelsOfLibTIFF)
{
  GIGAPIXEL_REAL_SLIDE(folder, "malformed/found");
  const std::string path = FindFileEndingIn(folder, GetParam());
  const Picture     expected = ReadWithLibTIFF(path, 0);
  for (const unsigned threads : { 1u, 2u, 3u, 4u, 4u, 4u })
  {
    itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
    const auto io = OpenSlideFile(path);
    Picture    picture = expected;
    std::fill(picture.pixels.begin(), picture.pixels.end(), 0);
    itk::ImageIORegion all(2);
    all.SetSize(0, io->GetDimensions(0));
    all.SetSize(1, io->GetDimensions(1));
    io->SetIORegion(all);
    io->Read(picture.pixels.data());
    EXPECT_TRUE(picture == expected) << threads;
    EXPECT_EQ(io->GetNumberOfDamagedTiles(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(WholeSlideImageIO,
                         FilesWithoutTables,
                         testing::Values("-jpeg-tiles-without-DHT.tif", "-color-420-first-has-DHT-without-DHT.tif"),
                         [](const testing::TestParamInfo<std::string> & info) {
                           return info.index == 0 ? "Gray" : "Color";
                         });

} // namespace

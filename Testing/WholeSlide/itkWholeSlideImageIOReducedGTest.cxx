/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Reduced levels: what libjpeg and OpenJPEG decode smaller, to the bit; means at the edges; the choice of a level.
#include "JPEGFixture.h"
#include "ReaderTesting.h"
#include "TestData.h"

#include <algorithm>

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

/** A tile of the first page as libjpeg-turbo decodes it, smaller by `reduction`. */
Picture
DecodeTileWithLibJPEG(const std::string & path, std::uint32_t tile, unsigned reduction, unsigned channels)
{
  TIFF * const               file = TIFFOpen(path.c_str(), "r");
  std::vector<unsigned char> bytes(TIFFGetStrileByteCount(file, tile));
  TIFFReadRawTile(file, tile, bytes.data(), static_cast<tmsize_t>(bytes.size()));
  std::uint32_t tablesSize = 0;
  void *        tables = nullptr;
  TIFFGetField(file, TIFFTAG_JPEGTABLES, &tablesSize, &tables);
  const auto *  begin = static_cast<const unsigned char *>(tables);
  const Picture picture =
    DecodeWithLibJPEG(bytes, channels, reduction, Colors::YCbCr, JPEGStream(begin, begin + tablesSize));
  TIFFClose(file);
  return picture;
}

/** Rounded mean of the block of `whole` that pixel x, y of its reduction covers, as far as it lies inside. */
unsigned char
GetBlockMean(const Picture & whole, unsigned reduction, std::uint32_t x, std::uint32_t y, unsigned channel)
{
  double   sum = 0.0;
  unsigned count = 0;
  for (std::uint32_t j = y * reduction; j < std::min((y + 1) * reduction, whole.height); ++j)
  {
    for (std::uint32_t i = x * reduction; i < std::min((x + 1) * reduction, whole.width); ++i, ++count)
    {
      sum += whole.pixels[(std::size_t{ j } * whole.width + i) * whole.channels + channel];
    }
  }
  return static_cast<unsigned char>(sum / count + 0.5);
}

PyramidOptions
GetJPEGOptions()
{
  PyramidOptions options;
  options.width = 701; // neither side is a multiple of 2
  options.height = 503;
  options.levels = 1;
  options.compression = COMPRESSION_JPEG;
  options.photometric = PHOTOMETRIC_YCBCR;
  return options;
}

TEST(ReducedLevels, OfJPEGAreLibJPEGsScaledDecoding)
{
  const PyramidOptions options = GetJPEGOptions();
  const std::string    path = TemporaryFile("reduced.tif");
  WritePyramid(path, options);
  const auto io = OpenSlideFile(path);
  ASSERT_EQ(io->GetNumberOfLevels(), 1u);
  ASSERT_EQ(io->GetNumberOfReducedLevels(), 3u);
  for (unsigned level = 1; level < 4; ++level)
  {
    const unsigned reduction = 1u << level;
    EXPECT_EQ(io->GetLevelDownsample(level), reduction);
    EXPECT_EQ(io->GetLevelSize(level)[0], (options.width + reduction - 1) / reduction);
    EXPECT_EQ(io->GetLevelSize(level)[1], (options.height + reduction - 1) / reduction);
    for (const unsigned channels : { 1u, 3u })
    {
      const Picture        whole = ReadLevel(*io, 0, channels);
      const Picture        reduced = ReadLevel(*io, level, channels);
      const std::uint32_t  side = options.tile / reduction;
      const std::uint32_t  across = (options.width + options.tile - 1) / options.tile;
      std::vector<Picture> tiles;
      for (std::uint32_t tile = 0; tile < across * ((options.height + options.tile - 1) / options.tile); ++tile)
      {
        tiles.push_back(DecodeTileWithLibJPEG(path, tile, reduction, channels));
      }
      for (std::uint32_t y = 0; y < reduced.height; ++y)
      {
        for (std::uint32_t x = 0; x < reduced.width; ++x)
        {
          const Picture & tile = tiles[y / side * across + x / side];
          const bool      isCut = (x + 1) * reduction > options.width || (y + 1) * reduction > options.height;
          for (unsigned c = 0; c < channels; ++c)
          {
            const unsigned char expected =
              isCut ? GetBlockMean(whole, reduction, x, y, c)
                    : tile.pixels[(std::size_t{ y % side } * tile.width + x % side) * channels + c];
            ASSERT_EQ(reduced.pixels[(std::size_t{ y } * reduced.width + x) * channels + c], expected)
              << x << ',' << y << " of 1/" << reduction;
          }
        }
      }
    }
  }
}

TEST(ReducedLevels, RegionsAreAsTheWhole)
{
  const std::string path = TemporaryFile("reduced-regions.tif");
  WritePyramid(path, GetJPEGOptions());
  const auto    io = OpenSlideFile(path);
  const Picture whole = ReadLevel(*io, 2, 3);
  for (std::uint32_t y = 0; y + 31 < whole.height; y += 17)
  {
    for (std::uint32_t x = 0; x + 45 < whole.width; x += 29)
    {
      std::vector<unsigned char> part(45 * 31 * 3);
      io->ReadRegion(2, x, y, 45, 31, 3, part.data());
      for (std::uint32_t row = 0; row < 31; ++row)
      {
        const auto from = whole.pixels.begin() + (std::ptrdiff_t{ y + row } * whole.width + x) * 3;
        ASSERT_TRUE(std::equal(from, from + 45 * 3, part.begin() + std::ptrdiff_t{ row } * 45 * 3));
      }
    }
  }
}

TEST(ReducedLevels, OfJPEG2000AreALowerResolutionOfItsWavelets)
{
  const Picture     picture = MakePicture(256, 256, 3, 5);
  const std::string path = TemporaryFile("reduced-j2k.tif");
  WriteJPEG2000(path, picture, 128, 34712, PHOTOMETRIC_RGB, true, "");
  const auto io = OpenSlideFile(path);
  ASSERT_EQ(io->GetNumberOfReducedLevels(), 3u);
  Picture tile{ 128, 128, 3, {} };
  for (std::uint32_t y = 0; y < 128; ++y)
  {
    const auto from = picture.pixels.begin() + (std::ptrdiff_t{ y } * 256 + 128) * 3;
    tile.pixels.insert(tile.pixels.end(), from, from + 128 * 3);
  }
  const std::vector<unsigned char> stream = EncodeJPEG2000(tile, true);
  for (unsigned level = 1; level < 4; ++level)
  {
    const unsigned             side = 128u >> level;
    std::vector<unsigned char> read(std::size_t{ side } * side * 3);
    io->ReadRegion(level, side, 0, side, side, 3, read.data());
    EXPECT_EQ(read, DecodeWithOpenJPEG(stream, level).pixels) << level;
  }
}

TEST(ReducedLevels, FillTheGapsOnly)
{
  PyramidOptions options = GetJPEGOptions();
  options.width = 704;
  options.height = 512;
  options.levels = 2; // 1 and 2
  const std::string path = TemporaryFile("gaps.tif");
  WritePyramid(path, options);
  const auto io = OpenSlideFile(path);
  ASSERT_EQ(io->GetNumberOfLevels(), 2u);
  ASSERT_EQ(io->GetNumberOfReducedLevels(), 3u);
  const auto choose = [&io](double downsample) {
    io->SetDownsample(downsample);
    io->ReadImageInformation();
    return io->GetLevelDownsample(io->GetLevel());
  };
  EXPECT_EQ(choose(1.5), 1.0);
  EXPECT_EQ(choose(2.0), 2.0);
  EXPECT_EQ(io->GetLevel(), 1u);
  EXPECT_EQ(choose(7.9), 8.0);
  EXPECT_EQ(io->GetDimensions(0), 88u);
  EXPECT_DOUBLE_EQ(io->GetSpacing(0), 0.004);
  EXPECT_DOUBLE_EQ(io->GetOrigin(0), 3.5 * 0.0005);
  std::vector<unsigned char> pixels(88 * 64 * 3);
  io->Read(pixels.data());
  EXPECT_EQ(pixels, ReadLevel(*io, io->GetLevel(), 3).pixels);
  EXPECT_EQ(choose(100.0), 16.0);
  options.compression = COMPRESSION_ADOBE_DEFLATE;
  options.photometric = PHOTOMETRIC_RGB;
  WritePyramid(path, options);
  EXPECT_EQ(OpenSlideFile(path)->GetNumberOfReducedLevels(), 0u);
}

TEST(WholeSlideImageIOReduced, LevelsForBlocksAreNoAssociatedImages)
{
  GIGAPIXEL_REAL_SLIDE(path, "slides/cmu-1-small-region.svs"); // one level, three pictures beside
  const auto io = OpenSlideFile(path);
  EXPECT_EQ(io->GetLevelForBlocks(8), 3u); // decoded at 1/8
  EXPECT_EQ(io->GetLevelForBlocks(1), 0u);
}

} // namespace

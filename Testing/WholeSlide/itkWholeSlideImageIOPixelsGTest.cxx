/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Pixels of itk::WholeSlideImageIO against libtiff, libjpeg-turbo, OpenJPEG and OpenSlide. All comparisons are exact.
#include "OpenSlideTesting.h"
#include "ReaderTesting.h"

#include "TestData.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>
#include <openslide.h>

#include <cstdio>
#include <jpeglib.h>

using namespace gigapixel_test;

namespace
{

/** Rec. 601 luma of a picture, and how far `gray` is from it in the worst pixel. */
double
GetWorstLumaError(const Picture & rgb, const Picture & gray)
{
  double worst = 0.0;
  for (std::size_t i = 0; i < gray.pixels.size(); ++i)
  {
    const double luma = 0.299 * rgb.pixels[3 * i] + 0.587 * rgb.pixels[3 * i + 1] + 0.114 * rgb.pixels[3 * i + 2];
    worst = std::max(worst, std::abs(luma - gray.pixels[i]));
  }
  return worst;
}

Picture
GetRGB(const Picture & picture)
{
  if (picture.channels == 3)
  {
    return picture;
  }
  Picture rgb{ picture.width, picture.height, 3, {} };
  for (const unsigned char value : picture.pixels)
  {
    rgb.pixels.insert(rgb.pixels.end(), 3, value);
  }
  return rgb;
}

/** The luma plane of one JPEG tile of a page, as libjpeg-turbo decodes it alone. */
Picture
DecodeLumaWithLibJPEG(const std::string & path, std::uint32_t tile)
{
  TIFF * const               file = TIFFOpen(path.c_str(), "r");
  std::vector<unsigned char> bytes(TIFFGetStrileByteCount(file, tile));
  TIFFReadRawTile(file, tile, bytes.data(), static_cast<tmsize_t>(bytes.size()));
  std::uint32_t tablesSize = 0;
  void *        tables = nullptr;
  TIFFGetField(file, TIFFTAG_JPEGTABLES, &tablesSize, &tables);
  jpeg_decompress_struct info;
  jpeg_error_mgr         errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, static_cast<unsigned char *>(tables), tablesSize);
  jpeg_read_header(&info, FALSE);
  jpeg_mem_src(&info, bytes.data(), bytes.size());
  jpeg_read_header(&info, TRUE);
  info.jpeg_color_space = JCS_YCbCr;
  info.out_color_space = JCS_GRAYSCALE;
  jpeg_start_decompress(&info);
  Picture picture{ info.output_width, info.output_height, 1, {} };
  picture.pixels.resize(std::size_t{ picture.width } * picture.height);
  while (info.output_scanline < info.output_height)
  {
    JSAMPROW row = picture.pixels.data() + std::size_t{ info.output_scanline } * picture.width;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  TIFFClose(file);
  return picture;
}

struct Variant
{
  const char *   name;
  PyramidOptions options;
};

std::vector<Variant>
GetVariants()
{
  PyramidOptions       base;
  std::vector<Variant> variants;
  const auto           add = [&variants](const char * name, const PyramidOptions & options) {
    variants.push_back({ name, options });
  };
  const struct
  {
    const char *  name;
    std::uint16_t number;
  } codecs[] = { { "None", COMPRESSION_NONE },         { "LZW", COMPRESSION_LZW },
                 { "Deflate", COMPRESSION_DEFLATE },   { "AdobeDeflate", COMPRESSION_ADOBE_DEFLATE },
                 { "PackBits", COMPRESSION_PACKBITS }, { "Zstandard", COMPRESSION_ZSTD },
                 { "WebP", COMPRESSION_WEBP },         { "JPEGAsRGB", COMPRESSION_JPEG } };
  for (const auto & codec : codecs)
  {
    PyramidOptions options = base;
    options.compression = codec.number;
    add(codec.name, options);
  }
  for (const std::uint16_t codec : { COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_ZSTD })
  {
    PyramidOptions options = base;
    options.compression = codec;
    options.predictor = 2;
    add(codec == COMPRESSION_LZW    ? "LZWPredictor"
        : codec == COMPRESSION_ZSTD ? "ZstdPredictor"
                                    : "DeflatePredictor",
        options);
  }
  for (const std::uint16_t subsampling : { 1, 2 })
  {
    PyramidOptions options = base;
    options.compression = COMPRESSION_JPEG;
    options.photometric = PHOTOMETRIC_YCBCR;
    options.subsampling = subsampling;
    add(subsampling == 1 ? "JPEG444" : "JPEG420", options);
  }
  PyramidOptions gray = base;
  gray.samples = 1;
  gray.photometric = PHOTOMETRIC_MINISBLACK;
  gray.predictor = 2;
  add("GrayDeflate", gray);
  gray.predictor = 1;
  gray.compression = COMPRESSION_LZW;
  add("GrayLZW", gray);
  gray.compression = COMPRESSION_JPEG;
  add("GrayJPEG", gray);
  PyramidOptions odd = base;
  odd.big = true;
  add("BigTIFF", odd);
  odd.bigEndian = true;
  add("BigEndianBigTIFF", odd);
  odd.big = false;
  add("BigEndian", odd);
  PyramidOptions planes = base;
  planes.planes = PLANARCONFIG_SEPARATE;
  add("SeparatePlanes", planes);
  planes.compression = COMPRESSION_JPEG;
  add("SeparatePlanesJPEG", planes);
  PyramidOptions strips = base;
  strips.strips = true;
  strips.tile = 48;
  add("Strips", strips);
  strips.compression = COMPRESSION_JPEG;
  add("StripsJPEG", strips);
  PyramidOptions wide = base;
  wide.tile = 512; // levels smaller than their tile
  wide.compression = COMPRESSION_LZW;
  add("TileLargerThanLevel", wide);
  return variants;
}

class Codecs : public testing::TestWithParam<Variant>
{
};

TEST_P(Codecs, DecodeAsLibTIFFDoes)
{
  const std::string path = TemporaryFile(std::string(GetParam().name) + ".tif");
  WritePyramid(path, GetParam().options);
  const auto io = OpenSlideFile(path);
  ASSERT_EQ(io->GetNumberOfLevels(), GetParam().options.levels);
  EXPECT_EQ(io->CanReadFile(path.c_str()), !GetParam().options.strips);
  const unsigned channels = GetParam().options.samples;
  EXPECT_EQ(io->GetNumberOfComponents(), channels);
  for (unsigned level = 0; level < io->GetNumberOfLevels(); ++level)
  {
    const Picture expected = ReadWithLibTIFF(path, level);
    EXPECT_TRUE(ReadLevel(*io, level, channels) == expected) << "level " << level;
    EXPECT_TRUE(ReadLevel(*io, level, 3) == GetRGB(expected)) << "level " << level;
    EXPECT_EQ(io->GetLevelDownsample(level), 1u << level);
  }
}

TEST_P(Codecs, GiveGrayAsRec601)
{
  const std::string path = TemporaryFile(std::string(GetParam().name) + ".tif");
  WritePyramid(path, GetParam().options);
  const auto    io = OpenSlideFile(path);
  const Picture gray = ReadLevel(*io, 0, 1);
  const bool    isLuma = GetParam().options.photometric == PHOTOMETRIC_YCBCR;
  if (isLuma)
  {
    const Picture tile = DecodeLumaWithLibJPEG(path, 0);
    for (std::uint32_t y = 0; y < tile.height; ++y)
    {
      for (std::uint32_t x = 0; x < tile.width; ++x)
      {
        ASSERT_EQ(gray.pixels[std::size_t{ y } * gray.width + x], tile.pixels[std::size_t{ y } * tile.width + x]);
      }
    }
    return;
  }
  // Half a step of rounding, and what 16-bit fixed point loses of three coefficients: below 3 * 255 / 2^17.
  EXPECT_LE(GetWorstLumaError(GetRGB(ReadLevel(*io, 0, 3)), gray), 0.5 + 3 * 255 / 131072.0);
}

INSTANTIATE_TEST_SUITE_P(WholeSlideImageIO,
                         Codecs,
                         testing::ValuesIn(GetVariants()),
                         [](const testing::TestParamInfo<Variant> & info) { return std::string(info.param.name); });

struct JPEG2000Variant
{
  const char *  name;
  std::uint16_t compression;
  std::uint16_t photometric;
  bool          colorTransform;
  bool          aperio;
};

class JPEG2000 : public testing::TestWithParam<JPEG2000Variant>
{
};

TEST_P(JPEG2000, DecodesAsOpenJPEGAndOpenSlide)
{
  const JPEG2000Variant variant = GetParam();
  const std::string     path = TemporaryFile(std::string(variant.name) + ".svs");
  const Picture         picture = MakePicture(300, 200, 3, 5);
  const char * const    description = "Aperio Image Library v1\n300x200 (128x128) J2K|AppMag = 40|MPP = 0.25";
  WriteJPEG2000(path,
                picture,
                128,
                variant.compression,
                variant.photometric,
                variant.colorTransform,
                variant.aperio ? description : "");
  const auto    io = OpenSlideFile(path);
  const Picture read = ReadLevel(*io, 0, 3);
  EXPECT_EQ(io->GetDecoder(), "tiles (JPEG 2000)");
  if (variant.compression != 33003)
  {
    EXPECT_TRUE(read == picture); // the codestreams are lossless
  }
  else
  {
    EXPECT_FALSE(read == picture);
    const Picture luma = ReadLevel(*io, 0, 1);
    for (std::size_t i = 0; i < luma.pixels.size(); ++i)
    {
      ASSERT_EQ(luma.pixels[i], picture.pixels[3 * i]);
    }
  }
  if (variant.aperio)
  {
    EXPECT_TRUE(read == ReadWithOpenSlide(path, 0));
    EXPECT_EQ(io->GetMicronsPerPixel(), 0.25);
  }
}

INSTANTIATE_TEST_SUITE_P(
  WholeSlideImageIO,
  JPEG2000,
  testing::Values(JPEG2000Variant{ "AperioYCbCr", 33003, PHOTOMETRIC_YCBCR, false, true },
                  JPEG2000Variant{ "AperioYCbCrSaysRGB", 33003, PHOTOMETRIC_RGB, false, true },
                  JPEG2000Variant{ "AperioRGB", 33005, PHOTOMETRIC_RGB, false, true },
                  JPEG2000Variant{ "AperioRGBWithTransform", 33005, PHOTOMETRIC_RGB, true, true },
                  JPEG2000Variant{ "Generic34712", 34712, PHOTOMETRIC_RGB, false, false },
                  JPEG2000Variant{ "Generic34712WithTransform", 34712, PHOTOMETRIC_RGB, true, false }),
  [](const testing::TestParamInfo<JPEG2000Variant> & info) { return std::string(info.param.name); });

TEST(WholeSlideImageIOPixels, PaletteBecomesRGB)
{
  PyramidOptions options;
  options.samples = 1;
  options.photometric = PHOTOMETRIC_PALETTE;
  const std::string path = TemporaryFile("palette.tif");
  WritePyramid(path, options);
  const auto    io = OpenSlideFile(path);
  const Picture indices = ReadWithLibTIFF(path, 0);
  const Picture read = ReadLevel(*io, 0, 3);
  for (std::size_t i = 0; i < indices.pixels.size(); ++i)
  {
    const unsigned index = indices.pixels[i];
    ASSERT_EQ(read.pixels[3 * i], index);
    ASSERT_EQ(read.pixels[3 * i + 1], 255 - index);
    ASSERT_EQ(read.pixels[3 * i + 2], index * 7 & 255);
  }
}

TEST(WholeSlideImageIOPixels, WhiteIsZeroIsInverted)
{
  PyramidOptions options;
  options.samples = 1;
  options.photometric = PHOTOMETRIC_MINISWHITE;
  const std::string path = TemporaryFile("inverted.tif");
  WritePyramid(path, options);
  const Picture stored = ReadWithLibTIFF(path, 0);
  const Picture read = ReadLevel(*OpenSlideFile(path), 0, 1);
  for (std::size_t i = 0; i < stored.pixels.size(); ++i)
  {
    ASSERT_EQ(read.pixels[i], 255 - stored.pixels[i]);
  }
}

TEST(WholeSlideImageIOPixels, AlphaIsCompositedOntoWhite)
{
  for (const bool premultiplied : { false, true })
  {
    PyramidOptions options;
    options.samples = 4;
    options.extraSample = premultiplied ? EXTRASAMPLE_ASSOCALPHA : EXTRASAMPLE_UNASSALPHA;
    const std::string path = TemporaryFile(premultiplied ? "premultiplied.tif" : "straight.tif");
    WritePyramid(path, options);
    const auto    io = OpenSlideFile(path);
    const Picture stored = ReadWithLibTIFF(path, 0);
    const Picture read = ReadLevel(*io, 0, 3);
    EXPECT_FALSE(io->CanReadFile(path.c_str()));
    EXPECT_EQ(io->GetNumberOfComponents(), 3u);
    for (std::size_t i = 0; i < stored.pixels.size() / 4; ++i)
    {
      const double alpha = stored.pixels[4 * i + 3] / 255.0;
      for (unsigned c = 0; c < 3; ++c)
      {
        const double color = stored.pixels[4 * i + c] * (premultiplied ? 1.0 : alpha);
        // The exact value, rounded to nearest.
        ASSERT_NEAR(read.pixels[3 * i + c], std::min(255.0, color + (1.0 - alpha) * 255.0), 0.5 + 1e-9);
      }
    }
  }
}

/** The codec knows no other fourth sample. */
TEST(WholeSlideImageIOPixels, TheFourthSampleOfWebPIsAlphaWithoutATag)
{
  PyramidOptions options;
  options.samples = 4;
  options.levels = 1;
  options.compression = COMPRESSION_WEBP;
  options.extraSample = EXTRASAMPLE_UNSPECIFIED;
  const std::string path = TemporaryFile("webp-alpha.tif");
  WritePyramid(path, options);
  const auto    io = OpenSlideFile(path);
  const Picture stored = ReadWithLibTIFF(path, 0);
  const Picture read = ReadLevel(*io, 0, 3);
  ASSERT_EQ(io->GetNumberOfComponents(), 3u);
  for (std::size_t i = 0; i < read.pixels.size(); ++i)
  {
    const double alpha = stored.pixels[4 * (i / 3) + 3] / 255.0;
    const double color = stored.pixels[4 * (i / 3) + i % 3] * alpha;
    ASSERT_NEAR(read.pixels[i], color + (1.0 - alpha) * 255.0, 0.5 + 1e-9);
  }
}

TEST(WholeSlideImageIOPixels, AlphaZeroIsNotScanned)
{
  PyramidOptions options;
  options.samples = 4;
  options.extraSample = EXTRASAMPLE_UNASSALPHA;
  const std::string path = TemporaryFile("alpha.tif");
  WritePyramid(path, options);
  const auto                 io = OpenSlideFile(path);
  const Picture              stored = ReadWithLibTIFF(path, 0);
  std::vector<unsigned char> scanned(stored.pixels.size() / 4);
  bool                       all = true;
  io->ReadScanned(0, 0, 0, stored.width, stored.height, scanned.data());
  for (std::size_t i = 0; i < scanned.size(); ++i)
  {
    ASSERT_EQ(scanned[i], stored.pixels[4 * i + 3] == 0 ? 0 : 255);
    all = all && scanned[i] == 255;
  }
  EXPECT_FALSE(all); // the picture has some
  EXPECT_EQ(io->ReadScanned(0, 0, 0, stored.width, stored.height, scanned.data()), all);
}

TEST(WholeSlideImageIOPixels, AbsentTilesAreWhiteAndNotScanned)
{
  for (const std::uint16_t codec : { COMPRESSION_ADOBE_DEFLATE, COMPRESSION_JPEG })
  {
    PyramidOptions options;
    options.compression = codec;
    options.leaveOutFirstTile = true;
    const std::string path = TemporaryFile("absent.tif");
    WritePyramid(path, options);
    const auto                 io = OpenSlideFile(path);
    std::vector<unsigned char> scanned(200 * 150);
    const Picture              read = ReadLevel(*io, 0, 3);
    EXPECT_FALSE(io->ReadScanned(0, 10, 20, 200, 150, scanned.data()));
    for (unsigned y = 0; y < 150; ++y)
    {
      for (unsigned x = 0; x < 200; ++x)
      {
        const bool absent = x + 10 < options.tile && y + 20 < options.tile;
        ASSERT_EQ(scanned[y * 200 + x], absent ? 0 : 255);
        if (absent)
        {
          const std::size_t at = (std::size_t{ y + 20 } * read.width + x + 10) * 3;
          ASSERT_EQ(read.pixels[at] + read.pixels[at + 1] + read.pixels[at + 2], 3 * 255);
        }
      }
    }
    EXPECT_TRUE(io->ReadScanned(0, options.tile, 0, 100, 100, scanned.data()));
    EXPECT_TRUE(io->ReadScanned(1, 0, 0, 200, 150, scanned.data()));
  }
}

TEST(WholeSlideImageIOPixels, AbsentTilesOfGrayAreTheStoredZeroUnlessTheBackgroundIsAskedFor)
{
  for (const std::uint16_t photometric : { PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_MINISWHITE })
  {
    PyramidOptions options;
    options.samples = 1;
    options.photometric = photometric;
    options.leaveOutFirstTile = true;
    const std::string path = TemporaryFile("absent-gray.tif");
    WritePyramid(path, options);
    const auto io = OpenSlideFile(path);
    EXPECT_EQ(ReadLevel(*io, 0, 1).pixels.front(), photometric == PHOTOMETRIC_MINISBLACK ? 0 : 255);
    EXPECT_EQ(ReadLevel(*io, 0, 3).pixels.front(), photometric == PHOTOMETRIC_MINISBLACK ? 0 : 255);
    io->UnscannedAsBackgroundOn();
    EXPECT_EQ(ReadLevel(*io, 0, 1).pixels.front(), 255);
    EXPECT_EQ(ReadLevel(*io, 0, 3).pixels.front(), 255);
  }
}

TEST(WholeSlideImageIOPixels, StoredValuesAreNotInverted)
{
  PyramidOptions options;
  options.samples = 1;
  options.levels = 1;
  options.photometric = PHOTOMETRIC_MINISWHITE;
  const std::string path = TemporaryFile("stored.tif");
  WritePyramid(path, options);
  const Picture inverted = ReadLevel(*OpenSlideFile(path), 0, 1);
  const auto    io = itk::WholeSlideImageIO::New();
  io->SetFileName(path);
  io->StoredValuesOn();
  io->ReadImageInformation();
  const Picture stored = ReadLevel(*io, 0, 1);
  EXPECT_TRUE(stored == MakePicture(options.width, options.height, 1, 0));
  for (std::size_t i = 0; i < stored.pixels.size(); ++i)
  {
    ASSERT_EQ(stored.pixels[i], 255 - inverted.pixels[i]);
  }
}

TEST(WholeSlideImageIOPixels, AperioIsAsLibTIFFAndOpenSlide)
{
  GIGAPIXEL_REAL_SLIDE(path, "slides/cmu-1-small-region.svs");
  const Picture read = ReadLevel(*OpenSlideFile(path), 0, 3);
  EXPECT_TRUE(read == ReadWithLibTIFF(path, 0));
  EXPECT_TRUE(read == ReadWithOpenSlide(path, 0));
}

TEST(WholeSlideImageIOPixels, AssociatedImagesAreAsLibTIFF)
{
  GIGAPIXEL_REAL_SLIDE(path, "slides/cmu-1-small-region.svs");
  const auto io = OpenSlideFile(path);
  const struct
  {
    const char * name;
    unsigned     page;
  } images[] = { { "thumbnail", 1 }, { "label", 2 }, { "macro", 3 } };
  for (const auto & image : images)
  {
    io->SetAssociatedImage(image.name);
    io->ReadImageInformation();
    const Picture              expected = ReadWithLibTIFF(path, image.page);
    std::vector<unsigned char> pixels(expected.pixels.size());
    ASSERT_EQ(io->GetDimensions(0), expected.width) << image.name;
    ASSERT_EQ(io->GetDimensions(1), expected.height) << image.name;
    io->Read(pixels.data());
    EXPECT_EQ(pixels, expected.pixels) << image.name;
  }
}

TEST(WholeSlideImageIOPixels, HamamatsuIsAsOpenSlide)
{
  GIGAPIXEL_REAL_SLIDE(path, "slides/fluorescence-dapi.ndpi");
  const auto io = OpenSlideFile(path);
  for (unsigned level = 0; level < io->GetNumberOfLevels(); ++level)
  {
    EXPECT_TRUE(ReadLevel(*io, level, 3) == ReadWithOpenSlide(path, static_cast<int>(level))) << level;
  }
}

/** The same file behind a hole of 4 GiB: the low halves of all positions stay, the high ones become 1. */
TEST(WholeSlideImageIOPixels, HamamatsuBeyondFourGibibytes)
{
  GIGAPIXEL_REAL_SLIDE(path, "slides/fluorescence-dapi.ndpi");
  std::ifstream file(path, std::ios::binary);
  std::string   bytes{ std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>() };
  const auto    get = [&bytes](std::size_t at, unsigned size) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, size); // little-endian, as the machines that the tests run on
    return value;
  };
  for (std::uint64_t page = get(4, 8), next = 0; page != 0; page = next)
  {
    const std::uint64_t count = get(page, 2);
    const std::uint64_t behind = page + 2 + count * 12;
    next = get(behind, 8);
    bytes[behind + 4] = next == 0 ? 0 : 1;
    for (std::uint64_t i = 0; i < count; ++i)
    {
      const std::uint64_t entry = page + 2 + i * 12;
      const unsigned      sizes[] = { 0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8 };
      const bool          isPosition = get(entry, 2) == 273 || get(entry + 4, 4) * sizes[get(entry + 2, 2)] > 4;
      bytes[behind + 8 + i * 4] = isPosition ? 1 : 0;
    }
  }
  bytes[8] = 1;
  const std::string moved = TemporaryFile("moved.ndpi");
  std::ofstream     out(moved, std::ios::binary);
  out.write(bytes.data(), 12).seekp(std::streamoff{ 1 } << 32);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  const auto io = OpenSlideFile(moved);
  EXPECT_EQ(io->GetDecoder(), "tiles (JPEG)");
  EXPECT_TRUE(ReadLevel(*io, 0, 3) == ReadLevel(*OpenSlideFile(path), 0, 3));
  EXPECT_EQ(io->GetAssociatedImageNames(), std::vector<std::string>{ "macro" });
  std::remove(moved.c_str());
}

TEST(WholeSlideImageIOPixels, RealTIFFsAreAsLibTIFF)
{
  for (const char * const name : { "slides/CMU-1-Small-Region.jpeg.tiff",
                                   "slides/CMU-1-Small-Region.webp.tiff",
                                   "slides/camelyon_B_1152x700.tif",
                                   "malformed/boxes.tiff",
                                   "malformed/small.svs",
                                   "tiff-edge-cases/test_orient1.tif",
                                   "tiff-edge-cases/test_orient6.tif",
                                   "tiff-edge-cases/yb10kx5k.zstd.tiff",
                                   "tiff-edge-cases/grey10kx5k.tif" })
  {
    GIGAPIXEL_REAL_SLIDE(path, name);
    const auto io = OpenSlideFile(path);
    for (unsigned level = 0; level < io->GetNumberOfLevels(); ++level)
    {
      EXPECT_TRUE(ReadLevel(*io, level, io->GetNumberOfComponents()) == ReadWithLibTIFF(path, level))
        << path << " level " << level;
    }
  }
}

TEST(WholeSlideImageIOPixels, JPEG2000TIFFIsAsOpenJPEG)
{
  GIGAPIXEL_REAL_SLIDE(path, "malformed/CMU-1-Small-Region.jp2.tiff");
  const auto   io = OpenSlideFile(path);
  TIFF * const file = TIFFOpen(path.c_str(), "r");
  for (const std::uint32_t tile : { 0u, 4u, 40u })
  {
    std::vector<unsigned char> stream(TIFFGetStrileByteCount(file, tile));
    TIFFReadRawTile(file, tile, stream.data(), static_cast<tmsize_t>(stream.size()));
    const Picture              expected = DecodeWithOpenJPEG(stream);
    std::vector<unsigned char> read(expected.pixels.size());
    const std::uint32_t        across = (2220 + 255) / 256;
    io->ReadRegion(0, tile % across * 256, tile / across * 256, 256, 256, 3, read.data());
    EXPECT_EQ(read, expected.pixels) << "tile " << tile;
  }
  TIFFClose(file);
}

} // namespace

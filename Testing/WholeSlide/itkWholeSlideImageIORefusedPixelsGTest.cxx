/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Pages whose pixels are not read, written with libtiff: each is told what it is, and not what others are.
#include "ReaderTesting.h"

#include "gigapixelDiagnostic.h"

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

struct Pixels
{
  const char *  name;
  std::uint16_t bits;
  std::uint16_t format;
  unsigned      samples;
  std::uint16_t photometric;
  std::uint16_t compression;
  const char *  said;
};

/** One tile of 64 x 64 pixels, all 0. */
void
WriteTile(const std::string & path, const Pixels & pixels)
{
  TIFF * const file = TIFFOpen(path.c_str(), "w");
  TIFFSetField(file, TIFFTAG_SUBFILETYPE, pixels.photometric == PHOTOMETRIC_MASK ? FILETYPE_MASK : 0);
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 64);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, 64);
  TIFFSetField(file, TIFFTAG_TILEWIDTH, 64);
  TIFFSetField(file, TIFFTAG_TILELENGTH, 64);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, pixels.bits);
  TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, pixels.format);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, pixels.samples);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, pixels.photometric);
  TIFFSetField(file, TIFFTAG_COMPRESSION, pixels.compression);
  std::vector<unsigned char> tile(64 * 64 / 8 * std::size_t{ pixels.bits } * pixels.samples);
  ASSERT_GE(TIFFWriteEncodedTile(file, 0, tile.data(), static_cast<tmsize_t>(tile.size())), 0);
  TIFFClose(file);
}

class RefusedPixels : public testing::TestWithParam<Pixels>
{
};

TEST_P(RefusedPixels, AreToldTheirOwnReason)
{
  const std::string path = TemporaryFile(std::string("refused-") + GetParam().name + ".tif");
  WriteTile(path, GetParam());
  EXPECT_FALSE(itk::WholeSlideImageIO::New()->CanReadFile(path.c_str()));
  try
  {
    OpenSlideFile(path);
    FAIL() << "it is read";
  }
  catch (const std::exception & error)
  {
    const auto diagnostic = gigapixel::Diagnostic::Of(error);
    EXPECT_EQ(diagnostic.code, "E-TIFF-CODEC");
    EXPECT_EQ(diagnostic.file, path);
    EXPECT_NE(diagnostic.why.find(GetParam().said), std::string::npos) << diagnostic.why;
  }
}

INSTANTIATE_TEST_SUITE_P(
  WholeSlideImageIO,
  RefusedPixels,
  testing::Values(
    Pixels{ "Doubles", 64, SAMPLEFORMAT_IEEEFP, 1, PHOTOMETRIC_MINISBLACK, COMPRESSION_NONE, "floats of 64 bit" },
    Pixels{ "Signed", 16, SAMPLEFORMAT_INT, 1, PHOTOMETRIC_MINISBLACK, COMPRESSION_NONE, "signed integers of 16 bit" },
    Pixels{ "Wide", 64, SAMPLEFORMAT_UINT, 1, PHOTOMETRIC_MINISBLACK, COMPRESSION_NONE, "integers of 64 bit" },
    Pixels{ "MinIsWhiteFloats", 32, SAMPLEFORMAT_IEEEFP, 1, PHOTOMETRIC_MINISWHITE, COMPRESSION_LZW, "min-is-white" },
    Pixels{ "CIELab", 16, SAMPLEFORMAT_UINT, 3, PHOTOMETRIC_CIELAB, COMPRESSION_NONE, "CIELab" },
    Pixels{ "ICCLab", // libtiff, and with it OpenSlide, has no colors for it
            8,
            SAMPLEFORMAT_UINT,
            3,
            PHOTOMETRIC_ICCLAB,
            COMPRESSION_NONE,
            "ICCLab" },
    Pixels{ "Mask", 1, SAMPLEFORMAT_UINT, 1, PHOTOMETRIC_MASK, COMPRESSION_NONE, "transparency mask" },
    Pixels{ "TwoInJPEG", 8, SAMPLEFORMAT_UINT, 2, PHOTOMETRIC_MINISBLACK, COMPRESSION_JPEG, "JPEG" }),
  [](const testing::TestParamInfo<Pixels> & info) { return std::string(info.param.name); });

} // namespace

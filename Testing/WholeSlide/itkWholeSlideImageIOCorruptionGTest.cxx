/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Damaged files: whatever is wrong, the reader gives pixels or one refusal that names the file. Deterministic damage
// to generated files; run it under -fsanitize=address,undefined when the parser or a decoder changes.
#include "ReaderTesting.h"
#include "RefusalCode.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <set>

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

std::vector<char>
ReadAll(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  return { std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>() };
}

void
WriteAll(const std::string & path, const std::vector<char> & bytes)
{
  std::ofstream(path, std::ios::binary | std::ios::trunc)
    .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/** Reads the corner of every level; a file that says it is huge is not read whole. */
void
ReadCorners(const std::string & path)
{
  const auto io = itk::WholeSlideImageIO::New();
  io->CanReadFile(path.c_str());
  io->SetFileName(path);
  io->ReadImageInformation();
  std::vector<unsigned char> pixels(256 * 256 * 3);
  for (unsigned level = 0; level < std::min(io->GetNumberOfLevels(), 8u); ++level)
  {
    const auto size = io->GetLevelSize(level);
    const auto width = std::min<std::uint64_t>(256, size[0]);
    const auto height = std::min<std::uint64_t>(256, size[1]);
    io->ReadRegion(level, 0, 0, width, height, 3, pixels.data());
    io->ReadRegion(level, size[0] - width, size[1] - height, width, height, 1, pixels.data());
    io->ReadScanned(level, 0, 0, width, height, pixels.data());
  }
}

struct Case
{
  const char *  name;
  std::uint16_t compression;
  std::uint16_t photometric;
  std::uint16_t predictor;
  bool          big;
};

class Damaged : public testing::TestWithParam<Case>
{
protected:
  void
  SetUp() override
  {
    m_Path = TemporaryFile(std::string("damaged-") + GetParam().name + ".tif");
    if (GetParam().compression == 33003)
    {
      WriteJPEG2000(m_Path, MakePicture(100, 80, 3, 1), 64, 33003, PHOTOMETRIC_YCBCR, false, "");
    }
    else
    {
      PyramidOptions options;
      options.width = 150;
      options.height = 110;
      options.tile = 64;
      options.levels = 2;
      options.compression = GetParam().compression;
      options.photometric = GetParam().photometric;
      options.predictor = GetParam().predictor;
      options.big = GetParam().big;
      WritePyramid(m_Path, options);
    }
    m_Bytes = ReadAll(m_Path);
  }

  /** The code that a damage is refused with; each refusal names the file, and its text is one line. */
  std::string
  FindCode(const std::vector<char> & bytes)
  {
    WriteAll(m_Path, bytes);
    const gigapixel::Diagnostic refusal = FindRefusal([this] { ReadCorners(m_Path); });
    if (!refusal.IsEmpty())
    {
      EXPECT_EQ(refusal.file, m_Path) << refusal.GetText();
      EXPECT_FALSE(refusal.why.empty());
      EXPECT_FALSE(refusal.remedy.empty()) << refusal.GetText();
      EXPECT_EQ(refusal.GetText().find('\n'), std::string::npos) << refusal.GetText();
      EXPECT_EQ(refusal.GetSentence().find("[E-"), std::string::npos) << refusal.GetText(); // no code inside
    }
    return refusal.code;
  }

  std::string       m_Path;
  std::vector<char> m_Bytes;
};

TEST_P(Damaged, TruncatedFilesFail)
{
  ASSERT_EQ(FindCode(m_Bytes), "");
  EXPECT_EQ(FindCode({}), "E-SLIDE-FORMAT"); // nothing says that it is a TIFF
  for (unsigned i = 1; i < 12; ++i)
  {
    EXPECT_EQ(FindCode({ m_Bytes.begin(), m_Bytes.begin() + static_cast<std::ptrdiff_t>(m_Bytes.size() * i / 12) }),
              "E-FILE-DAMAGED")
      << i;
  }
}

TEST_P(Damaged, FlippedBitsNeverCrash)
{
  // The bits belong to page tables, to tiles, or to values that say how tiles are stored.
  const std::set<std::string> possible{ "", "E-CODEC-DATA", "E-FILE-DAMAGED", "E-TIFF-CODEC", "E-TIFF-FORMAT" };
  std::mt19937                random(7);
  unsigned                    failures = 0;
  for (unsigned i = 0; i < 30; ++i)
  {
    std::vector<char> bytes = m_Bytes;
    // Half of the damage to the page tables and their values, which libtiff writes last and behind each level.
    const std::size_t range = i % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 700);
    for (unsigned flip = 0; flip <= i % 4; ++flip)
    {
      const std::size_t at = bytes.size() - 1 - random() % range;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    }
    const std::string code = FindCode(bytes);
    EXPECT_EQ(possible.count(code), 1u) << code;
    failures += code.empty() ? 0 : 1;
  }
  EXPECT_GT(failures, 0u);
}

INSTANTIATE_TEST_SUITE_P(WholeSlideImageIO,
                         Damaged,
                         testing::Values(Case{ "JPEG", COMPRESSION_JPEG, PHOTOMETRIC_YCBCR, 1, false },
                                         Case{ "Deflate", COMPRESSION_ADOBE_DEFLATE, PHOTOMETRIC_RGB, 2, true },
                                         Case{ "LZW", COMPRESSION_LZW, PHOTOMETRIC_RGB, 1, false },
                                         Case{ "PackBits", COMPRESSION_PACKBITS, PHOTOMETRIC_RGB, 1, false },
                                         Case{ "Zstandard", COMPRESSION_ZSTD, PHOTOMETRIC_RGB, 1, true },
                                         Case{ "WebP", COMPRESSION_WEBP, PHOTOMETRIC_RGB, 1, false },
                                         Case{ "JPEG2000", 33003, PHOTOMETRIC_YCBCR, 1, false }),
                         [](const testing::TestParamInfo<Case> & info) { return std::string(info.param.name); });

/** A slide of Trestle's, which OpenSlide reads for us; its first tile is no deflate stream. */
void
WriteTrestleWithBrokenTile(const std::string & path, std::uint32_t width, std::uint32_t height)
{
  TIFF * const file = TIFFOpen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, width);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, height);
  TIFFSetField(file, TIFFTAG_TILEWIDTH, 256);
  TIFFSetField(file, TIFFTAG_TILELENGTH, 256);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 3);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
  TIFFSetField(file, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
  TIFFSetField(file, TIFFTAG_SOFTWARE, "MedScan 1");
  TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION, "Objective Power=20;Background Color=ffffff");
  std::vector<unsigned char> tile(256 * 256 * 3, 77);
  const std::uint32_t        tiles = width / 256 * (height / 256);
  TIFFWriteRawTile(file, 0, tile.data(), 1000);
  for (std::uint32_t i = 1; i < tiles; ++i)
  {
    TIFFWriteEncodedTile(file, i, tile.data(), static_cast<tmsize_t>(tile.size()));
  }
  TIFFClose(file);
}

TEST(Damaged, BrokenTileOfOpenSlideFailsAloneAndEachTime)
{
  const std::string path = TemporaryFile("trestle.tif");
  WriteTrestleWithBrokenTile(path, 4096, 1024);
  const auto io = OpenSlideFile(path);
  ASSERT_NE(io->GetDecoder().find("OpenSlide"), std::string::npos);
  std::vector<unsigned char> pixels(16 * 16);
  for (const itk::SizeValueType x : { 1100, 2100, 3100 })
  {
    EXPECT_NE(GetFailure([&] { io->ReadRegion(0, 0, 0, 16, 16, 1, pixels.data()); }).find(path), std::string::npos);
    std::fill(pixels.begin(), pixels.end(), 0);
    io->ReadRegion(0, x, 100, 16, 16, 1, pixels.data());
    EXPECT_EQ(pixels, std::vector<unsigned char>(16 * 16, 77));
  }
}

} // namespace

/** Hamamatsu's TIFF with one page of 16 x 16 pixels, whose JPEG image is `jpeg`. */
void
WriteHamamatsu(const std::string & path, const std::string & jpeg)
{
  struct
  {
    std::uint16_t tag, type;
    std::uint32_t count, value;
  } const entries[] = { { 256, 4, 1, 16 },  { 257, 4, 1, 16 },
                        { 259, 4, 1, 7 },   { 273, 4, 1, 256 },
                        { 277, 4, 1, 3 },   { 279, 4, 1, static_cast<std::uint32_t>(jpeg.size()) },
                        { 65420, 4, 1, 1 }, { 65421, 11, 1, 0x41a00000 } }; // a lens of 20 times
  const std::uint16_t count = std::size(entries);
  std::string         file("II\x2a\0\x0c\0\0\0\0\0\0\0", 12);
  file.append(reinterpret_cast<const char *>(&count), 2);
  file.append(reinterpret_cast<const char *>(entries), sizeof(entries));
  file.resize(256); // no next page, high halves of zero
  file += jpeg;
  WriteAll(path, { file.begin(), file.end() });
}

// The size of the image is written into its header, which ends before it here.
TEST(Damaged, JPEGHeaderOfHamamatsuThatEndsInTheSize)
{
  const std::string path = TemporaryFile("short-header.ndpi");
  WriteHamamatsu(path, std::string("\xff\xd8\xff\xc0\0\2\xff\xda\0\0\0\0\0\x11", 14) + std::string(64, '\0'));
  const gigapixel::Diagnostic refusal = FindRefusal([&] { OpenSlideFile(path); });
  EXPECT_EQ(refusal.code, "E-SLIDE-FORMAT") << refusal.why;
  EXPECT_EQ(refusal.file, path);
}

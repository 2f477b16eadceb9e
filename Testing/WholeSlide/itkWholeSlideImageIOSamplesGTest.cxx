/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Slides that are no 8-bit pictures come as they are: 16 bit, floats, channels; written with libtiff.
#include "ReaderTesting.h"
#include "RefusalCode.h"

#include "itkMetaDataObject.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

struct Kind
{
  const char *  name;
  std::uint16_t bits;
  unsigned      samples;
  std::uint16_t compression;
  std::uint16_t predictor;
  std::uint16_t planes;
  bool          bigEndian;
};

/** Sample c of pixel x, y of channel page `page` of level `level`. */
double
GetSample(unsigned level, unsigned page, unsigned x, unsigned y, unsigned c)
{
  return (x * 131 + y * 517 + c * 9001 + page * 20011 + level * 77) % 65521;
}

/** The bytes of one tile, in this machine's order, of the samples [first, last). */
std::vector<unsigned char>
MakeTile(const Kind & kind, unsigned level, unsigned page, unsigned left, unsigned top, unsigned first, unsigned last)
{
  std::vector<unsigned char> bytes;
  const auto                 append = [&bytes](const void * value, std::size_t size) {
    const auto * const from = static_cast<const unsigned char *>(value);
    bytes.insert(bytes.end(), from, from + size);
  };
  for (unsigned y = top; y < top + 64; ++y)
  {
    for (unsigned x = left; x < left + 64; ++x)
    {
      for (unsigned c = first; c < last; ++c)
      {
        const double       value = GetSample(level, page, x, y, c);
        const auto         byte = static_cast<std::uint8_t>(static_cast<unsigned>(value) & 255);
        const auto         word = static_cast<std::uint16_t>(value);
        const auto         real = static_cast<float>(value / 7.0);
        const void * const sample = kind.bits == 8    ? static_cast<const void *>(&byte)
                                    : kind.bits == 16 ? static_cast<const void *>(&word)
                                                      : static_cast<const void *>(&real);
        append(sample, kind.bits / 8u);
      }
    }
  }
  return bytes;
}

void
WritePage(TIFF *        file,
          const Kind &  kind,
          unsigned      level,
          unsigned      page,
          unsigned      width,
          unsigned      height,
          bool          leaveOutFirst = false,
          std::uint16_t photometric = PHOTOMETRIC_MINISBLACK)
{
  TIFFSetField(file, TIFFTAG_SUBFILETYPE, level == 0 ? 0 : FILETYPE_REDUCEDIMAGE);
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, width);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, height);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, kind.bits);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, kind.samples);
  TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, kind.bits == 32 ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, photometric);
  if (photometric == PHOTOMETRIC_PALETTE)
  {
    std::vector<std::uint16_t> falling(256);
    std::generate(
      falling.rbegin(), falling.rend(), [value = 0]() mutable { return static_cast<std::uint16_t>(value++ * 257); });
    TIFFSetField(file, TIFFTAG_COLORMAP, falling.data(), falling.data(), falling.data());
  }
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, kind.planes);
  TIFFSetField(file, TIFFTAG_COMPRESSION, kind.compression);
  TIFFSetField(file, TIFFTAG_TILEWIDTH, 64);
  TIFFSetField(file, TIFFTAG_TILELENGTH, 64);
  if (kind.predictor != 1)
  {
    TIFFSetField(file, TIFFTAG_PREDICTOR, kind.predictor);
  }
  const bool     isSeparate = kind.planes == PLANARCONFIG_SEPARATE;
  const unsigned planes = isSeparate ? kind.samples : 1;
  for (unsigned plane = 0; plane < planes; ++plane)
  {
    for (unsigned top = 0; top < height; top += 64)
    {
      for (unsigned left = leaveOutFirst && top == 0 ? 64 : 0; left < width; left += 64)
      {
        auto tile =
          MakeTile(kind, level, page, left, top, isSeparate ? plane : 0, isSeparate ? plane + 1 : kind.samples);
        const auto sample = static_cast<std::uint16_t>(plane);
        ASSERT_GE(TIFFWriteEncodedTile(
                    file, TIFFComputeTile(file, left, top, 0, sample), tile.data(), static_cast<tmsize_t>(tile.size())),
                  0);
      }
    }
  }
  ASSERT_NE(TIFFWriteDirectory(file), 0);
}

/** The samples of level `level`, read through Read() in two strips, as numbers. */
std::vector<double>
ReadSamples(const std::string & path, unsigned level, unsigned & components)
{
  const auto io = OpenSlideFile(path);
  io->SetLevel(level);
  io->ReadImageInformation();
  components = io->GetNumberOfComponents();
  std::vector<double> samples;
  const auto          height = io->GetDimensions(1);
  for (const auto & [top, rows] : { std::pair<itk::SizeValueType, itk::SizeValueType>{ 0, 50 }, { 50, height - 50 } })
  {
    itk::ImageIORegion region(2);
    region.SetIndex(1, static_cast<itk::IndexValueType>(top));
    region.SetSize(0, io->GetDimensions(0));
    region.SetSize(1, rows);
    io->SetIORegion(region);
    const std::size_t          count = region.GetNumberOfPixels() * components;
    std::vector<unsigned char> bytes(count * io->GetComponentSize());
    io->Read(bytes.data());
    for (std::size_t i = 0; i < count; ++i)
    {
      std::uint16_t word = 0;
      float         real = 0.0F;
      switch (io->GetComponentType())
      {
        case itk::IOComponentEnum::UCHAR:
          samples.push_back(bytes[i]);
          break;
        case itk::IOComponentEnum::USHORT:
          std::memcpy(&word, bytes.data() + 2 * i, 2);
          samples.push_back(word);
          break;
        default:
          std::memcpy(&real, bytes.data() + 4 * i, 4);
          samples.push_back(real);
      }
    }
  }
  return samples;
}

double
GetStored(const Kind & kind, double value)
{
  return kind.bits == 8    ? static_cast<unsigned>(value) & 255
         : kind.bits == 16 ? value
                           : static_cast<double>(static_cast<float>(value / 7.0));
}

class Samples : public testing::TestWithParam<Kind>
{
};

TEST_P(Samples, ComeAsTheyAreStored)
{
  const Kind &      kind = GetParam();
  const std::string path = TemporaryFile(std::string("samples-") + kind.name + ".tif");
  TIFF * const      file = TIFFOpen(path.c_str(), kind.bigEndian ? "wb" : "wl");
  WritePage(file, kind, 0, 0, 150, 110);
  WritePage(file, kind, 1, 0, 75, 55);
  TIFFClose(file);
  EXPECT_FALSE(itk::WholeSlideImageIO::New()->CanReadFile(path.c_str())); // left to ITK, but read by name
  const auto io = OpenSlideFile(path);
  ASSERT_EQ(io->GetNumberOfLevels(), 2u);
  for (unsigned level = 0; level < 2; ++level)
  {
    unsigned   components = 0;
    const auto samples = ReadSamples(path, level, components);
    ASSERT_EQ(components, kind.samples);
    const unsigned width = 150u >> level;
    for (std::size_t i = 0; i < samples.size(); ++i)
    {
      const auto   pixel = static_cast<unsigned>(i / components);
      const double expected = GetSample(level, 0, pixel % width, pixel / width, static_cast<unsigned>(i % components));
      ASSERT_EQ(samples[i], GetStored(kind, expected)) << i;
    }
  }
  std::vector<unsigned char> pixels(3 * 16);
  const unsigned             others = kind.samples == 3 ? 1 : 3;
  EXPECT_NE(GetFailure([&] { io->ReadRegion(0, 0, 0, 4, 4, others, pixels.data()); }).find("[E-SLIDE-CHANNELS]"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
  WholeSlideImageIO,
  Samples,
  testing::Values(Kind{ "Gray16", 16, 1, COMPRESSION_LZW, 2, PLANARCONFIG_CONTIG, false },
                  Kind{ "Gray16BigEndian", 16, 1, COMPRESSION_ADOBE_DEFLATE, 2, PLANARCONFIG_CONTIG, true },
                  Kind{ "FourOf16", 16, 4, COMPRESSION_ZSTD, 2, PLANARCONFIG_CONTIG, false },
                  Kind{ "FourOf16Separate", 16, 4, COMPRESSION_NONE, 1, PLANARCONFIG_SEPARATE, true },
                  Kind{ "TwoOf8", 8, 2, COMPRESSION_LZW, 2, PLANARCONFIG_CONTIG, false },
                  Kind{ "TwoOf16", 16, 2, COMPRESSION_NONE, 1, PLANARCONFIG_CONTIG, true },
                  Kind{ "ThreeOf8", 8, 3, COMPRESSION_ADOBE_DEFLATE, 2, PLANARCONFIG_CONTIG, false },
                  Kind{ "FourOf8", 8, 4, COMPRESSION_LZW, 2, PLANARCONFIG_CONTIG, false },
                  Kind{ "FourOf8Separate", 8, 4, COMPRESSION_LZW, 2, PLANARCONFIG_SEPARATE, false },
                  Kind{ "FiveOf8", 8, 5, COMPRESSION_ADOBE_DEFLATE, 2, PLANARCONFIG_CONTIG, false },
                  Kind{ "Float", 32, 1, COMPRESSION_ADOBE_DEFLATE, 1, PLANARCONFIG_CONTIG, false },
                  Kind{ "FloatBigEndian", 32, 2, COMPRESSION_LZW, 1, PLANARCONFIG_CONTIG, true }),
  [](const testing::TestParamInfo<Kind> & info) { return std::string(info.param.name); });

/** Three channels of 150 x 110 pixels, named by dyes, and their levels at 1/2. Of the second level, the first tile of
 * the first `leftOut` channels is not stored. */
std::string
WriteChannels(const Kind & kind, unsigned leftOut)
{
  std::string        path = TemporaryFile(std::string("channels-") + kind.name + ".ome.tif");
  TIFF * const       file = TIFFOpen(path.c_str(), "w");
  const char * const xml =
    "<?xml version=\"1.0\"?><OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\"><Image ID=\"Image:0\">"
    "<Pixels ID=\"Pixels:0\" SizeX=\"150\" SizeY=\"110\" SizeC=\"3\" SizeZ=\"1\" SizeT=\"1\" "
    "PhysicalSizeX=\"0.325\" PhysicalSizeY=\"0.325\"><Channel ID=\"a\" Name=\"DAPI\"/><Channel ID=\"b\" "
    "Name=\"FITC\"/><Channel ID=\"c\" Name=\"Cy5\"/></Pixels></Image></OME>";
  for (unsigned channel = 0; channel < 3; ++channel)
  {
    std::uint64_t children[1] = { 0 };
    TIFFSetField(file, TIFFTAG_SUBIFD, 1, children);
    if (channel == 0)
    {
      TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION, xml);
    }
    WritePage(file, kind, 0, channel, 150, 110); // libtiff puts the next page into its list of children
    WritePage(file, kind, 1, channel, 75, 55, channel < leftOut);
  }
  TIFFClose(file);
  return path;
}

/** Of 8 bit, three channels could be taken for red, green and blue. */
TEST(Samples, ChannelsOfOMETIFFAreOnePageEachWithTheirLevelsAsChildren)
{
  for (const Kind & kind : { Kind{ "16", 16, 1, COMPRESSION_ADOBE_DEFLATE, 2, PLANARCONFIG_CONTIG, false },
                             Kind{ "8", 8, 1, COMPRESSION_ADOBE_DEFLATE, 2, PLANARCONFIG_CONTIG, false } })
  {
    SCOPED_TRACE(kind.name);
    const std::string path = WriteChannels(kind, 0);
    const auto        io = OpenSlideFile(path);
    EXPECT_TRUE(io->CanReadFile(path.c_str()));
    ASSERT_EQ(io->GetNumberOfLevels(), 2u);
    EXPECT_EQ(io->GetComponentType(), kind.bits == 8 ? itk::IOComponentEnum::UCHAR : itk::IOComponentEnum::USHORT);
    EXPECT_EQ(io->GetPixelType(), itk::IOPixelEnum::VECTOR);
    EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 0.325);
    std::string names;
    itk::ExposeMetaData<std::string>(io->GetMetaDataDictionary(), "gigapixel.channel-names", names);
    EXPECT_EQ(names, "DAPI\nFITC\nCy5");
    for (unsigned level = 0; level < 2; ++level)
    {
      unsigned   components = 0;
      const auto samples = ReadSamples(path, level, components);
      ASSERT_EQ(components, 3u);
      const unsigned width = 150u >> level;
      for (std::size_t i = 0; i < samples.size(); ++i)
      {
        const auto   pixel = static_cast<unsigned>(i / 3);
        const double stored = GetSample(level, static_cast<unsigned>(i % 3), pixel % width, pixel / width, 0);
        ASSERT_EQ(samples[i], GetStored(kind, stored)) << i;
      }
    }
  }
}

TEST(Samples, TilesMissingInOneChannelLeaveTheOthers)
{
  const Kind        kind{ "sparse", 8, 1, COMPRESSION_ADOBE_DEFLATE, 1, PLANARCONFIG_CONTIG, false };
  const std::string path = WriteChannels(kind, 1);
  unsigned          components = 0;
  const auto        samples = ReadSamples(path, 1, components);
  ASSERT_EQ(components, 3u);
  EXPECT_EQ(samples[3], 0.0);
  EXPECT_EQ(samples[4], GetStored(kind, GetSample(1, 1, 1, 0, 0)));
  EXPECT_EQ(samples[5], GetStored(kind, GetSample(1, 2, 1, 0, 0)));
  std::vector<unsigned char> scanned(75 * 55);
  EXPECT_TRUE(OpenSlideFile(path)->ReadScanned(1, 0, 0, 75, 55, scanned.data()));
}

/** Whether all samples of level 0 are those that libtiff reads. */
bool
AreLibTIFFs(const std::string & path, unsigned channels)
{
  unsigned      components = 0;
  const auto    samples = ReadSamples(path, 0, components);
  const Picture stored = ReadWithLibTIFF(path, 0);
  return components == channels && samples == std::vector<double>(stored.pixels.begin(), stored.pixels.end());
}

/** What no tag explains is neither alpha nor a color: the first three samples are the RGB that the file states. */
TEST(Samples, AFourthSampleBesideRGBIsLeftOutWhereNoTagSaysWhatItIs)
{
  for (const std::uint16_t planes : { PLANARCONFIG_CONTIG, PLANARCONFIG_SEPARATE })
  {
    PyramidOptions options;
    options.samples = 4;
    options.planes = planes;
    options.extraSample = EXTRASAMPLE_UNSPECIFIED;
    const std::string path = TemporaryFile("unspecified-" + std::to_string(planes) + ".tif");
    WritePyramid(path, options);
    const auto io = OpenSlideFile(path);
    EXPECT_EQ(io->GetPixelType(), itk::IOPixelEnum::RGB);
    const Picture read = ReadLevel(*io, 0, 3);
    const Picture written = MakePicture(options.width, options.height, 4, 0);
    for (std::size_t i = 0; i < read.pixels.size(); ++i)
    {
      ASSERT_EQ(read.pixels[i], written.pixels[i / 3 * 4 + i % 3]);
    }
  }
}

TEST(Samples, ChannelsOfACodecOfPicturesAreRefused)
{
  PyramidOptions options;
  options.samples = 4;
  options.levels = 1;
  options.compression = COMPRESSION_JPEG;
  options.photometric = PHOTOMETRIC_MINISBLACK;
  const std::string path = TemporaryFile("jpeg-of-four.tif");
  WritePyramid(path, options);
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(path);
  EXPECT_NE(GetFailure([&] { io->ReadImageInformation(); })
              .find("no tag says that its 4 samples per pixel are colors, and as "
                    "JPEG they are not read; convert it to RGB"),
            std::string::npos);
}

/** One or more pages of 150 x 110 pixels, without levels. \param pixels what stands in the Pixels element behind its
 * size \param elements inside of it \param photometrics of the first pages; of the others, gray */
std::string
WriteOME(const std::string &                name,
         unsigned                           pages,
         unsigned                           samples,
         std::uint16_t                      planes,
         const std::string &                pixels,
         const std::string &                elements,
         const std::vector<std::uint16_t> & photometrics = {})
{
  std::string       path = TemporaryFile(name + ".ome.tif");
  TIFF * const      file = TIFFOpen(path.c_str(), "w");
  const Kind        kind{ "", 8, samples, COMPRESSION_ADOBE_DEFLATE, 1, planes, false };
  const std::string xml = "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\"><Image ID=\"Image:0\">"
                          "<Pixels ID=\"Pixels:0\" Type=\"uint8\" SizeX=\"150\" SizeY=\"110\" PhysicalSizeX=\"0.25\" "
                          "PhysicalSizeY=\"0.25\" " +
                          pixels + '>' + elements + "</Pixels></Image></OME>";
  TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION, xml.c_str());
  for (unsigned page = 0; page < pages; ++page)
  {
    const auto photometric = page < photometrics.size() ? photometrics[page] : PHOTOMETRIC_MINISBLACK;
    WritePage(file, kind, 0, page, 150, 110, false, static_cast<std::uint16_t>(photometric));
  }
  TIFFClose(file);
  return path;
}

/** Writers store how a channel is shown as its page's palette. */
TEST(Samples, ChannelsOfOMETIFFAreTheNumbersThatAPaletteShows)
{
  const std::string path = WriteOME("palettes",
                                    2,
                                    1,
                                    PLANARCONFIG_CONTIG,
                                    R"(SizeC="2" SizeZ="1" SizeT="1")",
                                    "",
                                    { PHOTOMETRIC_PALETTE, PHOTOMETRIC_PALETTE });
  unsigned          components = 0;
  const auto        samples = ReadSamples(path, 0, components);
  ASSERT_EQ(components, 2u);
  for (std::size_t i = 0; i < samples.size(); ++i)
  {
    const auto pixel = static_cast<unsigned>(i / 2);
    const auto value = GetSample(0, static_cast<unsigned>(i % 2), pixel % 150, pixel / 150, 0);
    ASSERT_EQ(samples[i], static_cast<unsigned>(value) & 255) << i;
  }
}

TEST(Samples, ChannelsOfOMETIFFAreAllOfOneKindAndMinIsBlack)
{
  const std::pair<std::vector<std::uint16_t>, std::string> cases[] = {
    { { PHOTOMETRIC_PALETTE }, "its channels are of different sizes or kinds" },
    { { PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_PALETTE }, "its channels are of different sizes or kinds" },
    { { PHOTOMETRIC_MINISWHITE }, "its channels are of different sizes or kinds" },
    { { PHOTOMETRIC_MINISWHITE, PHOTOMETRIC_MINISWHITE },
      "its channels are min-is-white gray, where only min-is-black is read; convert it to gray (min-is-black)." },
  };
  for (const auto & [photometrics, said] : cases)
  {
    const std::string path =
      WriteOME("photometrics", 2, 1, PLANARCONFIG_CONTIG, R"(SizeC="2" SizeZ="1" SizeT="1")", "", photometrics);
    EXPECT_FALSE(itk::WholeSlideImageIO::New()->CanReadFile(path.c_str()));
    EXPECT_NE(GetFailure([&] { OpenSlideFile(path); }).find(said), std::string::npos)
      << GetFailure([&] { OpenSlideFile(path); });
  }
}

TEST(Samples, StacksAndPagesThatOMEXMLContradictsAreRefused)
{
  const std::string channel = "<Channel ID=\"c\"/>";
  const struct
  {
    unsigned    pages;
    unsigned    samples;
    std::string pixels;
    std::string elements;
    std::string code;
    std::string numbers; // of the XML and of the pages, as the reason has them
  } cases[] = {
    { 3, 1, R"(SizeC="1" SizeZ="1" SizeT="3")", channel, "E-SLIDE-PLANES", "3 times (SizeT)" },
    { 6, 1, R"(SizeC="2" SizeZ="7" SizeT="1")", channel, "E-SLIDE-PLANES", "7 focal planes (SizeZ)" },
    { 3, 1, R"(SizeC="1" SizeZ="1" SizeT="1")", channel, "E-OME-XML", "1 channel (SizeC), but it has 3 pages of 1 s" },
    { 2, 3, R"(SizeC="3" SizeZ="1" SizeT="1")", channel, "E-OME-XML", "3 channels (SizeC), but it has 2 pages of 3 s" },
    { 2, 1, R"(SizeC="3" SizeZ="1" SizeT="1")", "", "E-OME-XML", "3 channels (SizeC) on a page each, but it has 2" },
    { 1, 3, R"(SizeC="4" SizeZ="1" SizeT="1")", channel, "E-OME-XML", "4 channels (SizeC), but its page is of 3" },
    { 3,
      1,
      R"(SizeC="3" SizeZ="1" SizeT="1")",
      R"(<Channel ID="c" SamplesPerPixel="3"/>)",
      "E-OME-XML",
      "3 channels (SizeC) and 1 Channel element of 3 samples in all (SamplesPerPixel)" },
    { 3, 1, R"(SizeC="2" SizeZ="1" SizeT="1")", channel + channel, "E-OME-XML", "2 channels (SizeC), but it has 3" },
    { 2,
      1,
      R"(SizeC="2" SizeZ="1" SizeT="1")",
      R"(<TiffData IFD="0" FirstC="0"/><TiffData IFD="0" FirstC="1"/>)",
      "E-OME-XML",
      "2 channels (SizeC) on pages (TiffData)" },
  };
  unsigned number = 0;
  for (const auto & each : cases)
  {
    const std::string path = WriteOME(
      "refused-" + std::to_string(number++), each.pages, each.samples, PLANARCONFIG_CONTIG, each.pixels, each.elements);
    const auto io = itk::WholeSlideImageIO::New();
    EXPECT_FALSE(io->CanReadFile(path.c_str())) << each.numbers;
    io->SetFileName(path);
    const gigapixel::Diagnostic refusal = FindRefusal([&] { io->ReadImageInformation(); });
    EXPECT_EQ(refusal.code, each.code) << each.numbers;
    EXPECT_EQ(refusal.file, path);
    EXPECT_NE(refusal.why.find(each.numbers), std::string::npos) << refusal.why;
    EXPECT_FALSE(refusal.remedy.empty());
  }
}

TEST(Samples, ChannelsOfOMETIFFAreInTheOrderOfTheirPages)
{
  const std::string sizes = R"(SizeC="3" SizeZ="1" SizeT="1")";
  const struct
  {
    std::string             elements;
    std::array<unsigned, 3> pages;
  } cases[] = { { "", { { 0, 1, 2 } } },
                { "<TiffData/>", { { 0, 1, 2 } } },
                { R"(<TiffData IFD="1" PlaneCount="2"/><TiffData IFD="0" FirstC="2"/>)", { { 1, 2, 0 } } } };
  for (std::size_t number = 0; number < 3; ++number)
  {
    const auto &      each = cases[number];
    const std::string path =
      WriteOME("order-" + std::to_string(number), 3, 1, PLANARCONFIG_CONTIG, sizes, each.elements);
    unsigned   components = 0;
    const auto samples = ReadSamples(path, 0, components);
    ASSERT_EQ(components, 3u);
    EXPECT_DOUBLE_EQ(OpenSlideFile(path)->GetMicronsPerPixel(), 0.25);
    for (unsigned channel = 0; channel < 3; ++channel)
    {
      const Picture page = ReadWithLibTIFF(path, each.pages[channel]);
      bool          same = true;
      for (std::size_t i = 0; i < page.pixels.size(); ++i)
      {
        same = same && samples[3 * i + channel] == page.pixels[i];
      }
      EXPECT_TRUE(same) << each.elements << channel;
    }
  }
}

/** Writers describe them as one channel of four samples, or as four. */
TEST(Samples, FourChannelsMayShareAPageOfOMETIFF)
{
  const std::string sizes = R"(SizeC="4" SizeZ="1" SizeT="1")";
  const std::string one = R"(<Channel ID="c"/>)";
  for (const std::string & elements :
       { std::string(R"(<Channel ID="c" SamplesPerPixel="4"/>)"), one + one + one + one })
  {
    for (const std::uint16_t planes : { PLANARCONFIG_CONTIG, PLANARCONFIG_SEPARATE })
    {
      EXPECT_TRUE(AreLibTIFFs(WriteOME("shared", 1, 4, planes, sizes, elements), 4));
    }
  }
}

} // namespace

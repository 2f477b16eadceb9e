/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidTesting.h"
#include "RefusalCode.h"

#include "gigapixelDiagnostic.h"
#include "itkImageFileReader.h"
#include "itkImageRegionIteratorWithIndex.h"
#include "itkMetaDataObject.h"
#include "itkWholeSlideImageIO.h"

#include <openslide.h>

#include <cmath>

using namespace pyramid_test;
using Content = itk::PyramidTIFFImageIO::Content;

namespace
{
template <typename TPixel>
struct PixelOf
{
  using Sample = TPixel;
  static constexpr long channels = 1;
};
template <typename TSample>
struct PixelOf<itk::RGBPixel<TSample>>
{
  using Sample = TSample;
  static constexpr long channels = 3;
};

/** Samples of a level, row by row, channels interleaved. */
template <typename TSample>
struct Samples
{
  long                 width, height, channels;
  std::vector<TSample> values;

  TSample
  At(long x, long y, long c) const
  {
    return values[static_cast<std::size_t>((y * width + x) * channels + c)];
  }
};

/** Waves over the whole range of the type, with a constant corner as masks and glass have it. */
template <typename TPixel>
Samples<typename PixelOf<TPixel>::Sample>
MakeSamples(long width, long height)
{
  using Sample = typename PixelOf<TPixel>::Sample;
  const double    range = std::is_same_v<Sample, float> ? 1.0 : static_cast<double>(std::numeric_limits<Sample>::max());
  Samples<Sample> samples{ width, height, PixelOf<TPixel>::channels, {} };
  for (long y = 0; y < height; ++y)
  {
    for (long x = 0; x < width; ++x)
    {
      for (long c = 0; c < samples.channels; ++c)
      {
        const bool   flat = x < 300 && y < 300;
        const double wave =
          0.5 + 0.5 * std::sin(0.01 * static_cast<double>(x * (c + 1)) + 0.017 * static_cast<double>(y));
        const double value = flat ? 0.25 : std::floor(4096 * wave) / 4096; // few bits: sums of floats are exact
        samples.values.push_back(static_cast<Sample>(range * value));
      }
    }
  }
  return samples;
}

template <typename TSample>
Samples<TSample>
Reduce(const Samples<TSample> & from, bool labels)
{
  Samples<TSample> to{ (from.width + 1) / 2, (from.height + 1) / 2, from.channels, {} };
  for (long y = 0; y < to.height; ++y)
  {
    for (long x = 0; x < to.width; ++x)
    {
      for (long c = 0; c < to.channels; ++c)
      {
        const long   right = std::min(2 * x + 1, from.width - 1);
        const long   lower = std::min(2 * y + 1, from.height - 1);
        const double mean = (static_cast<double>(from.At(2 * x, 2 * y, c)) + from.At(right, 2 * y, c) +
                             from.At(2 * x, lower, c) + from.At(right, lower, c)) /
                            4;
        const double rounded = std::is_same_v<TSample, float> ? mean : std::floor(mean + 0.5);
        to.values.push_back(labels ? from.At(2 * x, 2 * y, c) : static_cast<TSample>(rounded));
      }
    }
  }
  return to;
}

template <typename TSample>
Samples<TSample>
ReadSamples(TIFF * tiff)
{
  Samples<TSample> samples{ GetTag<std::uint32_t>(tiff, TIFFTAG_IMAGEWIDTH),
                            GetTag<std::uint32_t>(tiff, TIFFTAG_IMAGELENGTH),
                            GetTag<std::uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL),
                            {} };
  samples.values.resize(static_cast<std::size_t>(samples.width * samples.height * samples.channels));
  const long           tile = GetTag<std::uint32_t>(tiff, TIFFTAG_TILEWIDTH);
  std::vector<TSample> buffer(static_cast<std::size_t>(TIFFTileSize(tiff)) / sizeof(TSample));
  for (long y = 0; y < samples.height; y += tile)
  {
    for (long x = 0; x < samples.width; x += tile)
    {
      const auto column = static_cast<std::uint32_t>(x);
      EXPECT_GT(TIFFReadTile(tiff, buffer.data(), column, static_cast<std::uint32_t>(y), 0, 0), 0);
      for (long row = 0; row < std::min(tile, samples.height - y); ++row)
      {
        std::copy_n(&buffer[static_cast<std::size_t>(row * tile * samples.channels)],
                    std::min(tile, samples.width - x) * samples.channels,
                    &samples.values[static_cast<std::size_t>(((y + row) * samples.width + x) * samples.channels)]);
      }
    }
  }
  return samples;
}

template <typename TPixel>
typename itk::Image<TPixel, 2>::Pointer
MakeImage(const Samples<typename PixelOf<TPixel>::Sample> & samples)
{
  using ImageType = itk::Image<TPixel, 2>;
  auto image = ImageType::New();
  image->SetRegions(typename ImageType::SizeType{
    { static_cast<itk::SizeValueType>(samples.width), static_cast<itk::SizeValueType>(samples.height) } });
  image->Allocate();
  std::memcpy(static_cast<void *>(image->GetBufferPointer()),
              samples.values.data(),
              samples.values.size() * sizeof(samples.values[0]));
  return image;
}

template <typename TImage>
void
WriteImage(const TImage * image, itk::PyramidTIFFImageIO * io, const std::string & file)
{
  auto writer = itk::ImageFileWriter<TImage>::New();
  writer->SetInput(image);
  writer->SetImageIO(io);
  writer->SetFileName(file);
  writer->Update();
}

/** libtiff, which decodes all of these by itself, sees what was written on every level, to the bit. */
template <typename TPixel>
void
CheckLossless(const std::string & file, const char * compressor, Content content)
{
  using Sample = typename PixelOf<TPixel>::Sample;
  SCOPED_TRACE(testing::Message() << compressor << ", " << sizeof(Sample) << " bytes, content "
                                  << static_cast<int>(content));
  auto expected = MakeSamples<TPixel>(701, 530);
  auto io = itk::PyramidTIFFImageIO::New();
  io->SetCompressor(compressor);
  io->SetContent(content);
  WriteImage(MakeImage<TPixel>(expected).GetPointer(), io.GetPointer(), file);
  const TIFFPointer tiff = OpenTIFF(file);
  ASSERT_TRUE(tiff);
  ASSERT_EQ(TIFFNumberOfDirectories(tiff.get()), 2);
  for (const std::uint16_t level : { 0, 1 })
  {
    ASSERT_TRUE(TIFFSetDirectory(tiff.get(), level));
    const auto found = ReadSamples<Sample>(tiff.get());
    EXPECT_EQ(found.width, expected.width);
    EXPECT_TRUE(found.values == expected.values) << "level " << level;
    expected = Reduce(expected, content == Content::Labels);
  }
}

/** Mean difference of the samples of level 0, by libtiff; JPEG as RGB. */
double
GetMeanError(const std::string & file, const Samples<unsigned char> & expected)
{
  const TIFFPointer tiff = OpenTIFF(file);
  const Raster      found = ReadDirectory(tiff.get());
  double            sum = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i)
  {
    sum += std::abs(int{ found.samples[i] } - int{ expected.values[i] });
  }
  return sum / static_cast<double>(expected.values.size());
}

using RGB = itk::RGBPixel<unsigned char>;
} // namespace

TEST_F(PyramidTIFFImageIOTest, LosslessCodecsOfEachPixelTypeAreWhatLibtiffDecodes)
{
  const std::string file = File("lossless.pyramid.tif");
  for (const char * compressor : { "DEFLATE", "ZSTD" })
  {
    for (const Content content : { Content::Labels, Content::Picture })
    {
      CheckLossless<unsigned char>(file, compressor, content);
      CheckLossless<unsigned short>(file, compressor, content);
      CheckLossless<float>(file, compressor, content);
      CheckLossless<RGB>(file, compressor, content);
      CheckLossless<itk::RGBPixel<unsigned short>>(file, compressor, content);
    }
    CheckLossless<unsigned int>(file, compressor, Content::Labels);
  }
  EXPECT_REFUSAL(CheckLossless<unsigned int>(file, "DEFLATE", Content::Picture), "E-SLIDE-CHANNELS");
}

TEST_F(PyramidTIFFImageIOTest, LossyCodecsKeepThePictureAsWellAsTheirQualitySays)
{
  const std::string file = File("lossy.pyramid.tif");
  const auto        samples = MakeSamples<RGB>(701, 530);
  const auto        image = MakeImage<RGB>(samples);
  const auto        getError = [&](const char * compressor, int quality, const char * subsampling) {
    auto io = itk::PyramidTIFFImageIO::New();
    io->SetCompressor(compressor);
    io->SetCompressionLevel(quality);
    io->SetChromaSubsampling(subsampling);
    WriteImage(image.GetPointer(), io.GetPointer(), file);
    return GetMeanError(file, samples);
  };
  EXPECT_LT(getError("JPEG", 95, "4:4:4"), 1.0); // smooth waves: rounding is all that is lost
  EXPECT_LT(getError("JPEG", 95, "4:2:0"), 2.0);
  EXPECT_GT(getError("JPEG", 5, "4:2:0"), 2.0);
  if (TIFFIsCODECConfigured(COMPRESSION_WEBP) != 0)
  {
    EXPECT_LT(getError("WEBP", 95, "4:2:0"), 3.0);
    EXPECT_EQ(getError("WEBP", 100, "4:2:0"), 0.0);
  }
}

TEST_F(PyramidTIFFImageIOTest, SubsamplingIsWhatTheTagSays)
{
  const std::string file = File("subsampled.pyramid.tif");
  const auto        image = MakeImage<RGB>(MakeSamples<RGB>(300, 300));
  const struct
  {
    const char * name;
    int          across, down;
  } cases[] = { { "4:4:4", 1, 1 }, { "4:2:2", 2, 1 }, { "4:2:0", 2, 2 } };
  for (const auto & expected : cases)
  {
    auto io = itk::PyramidTIFFImageIO::New();
    io->SetCompressor("JPEG");
    io->SetChromaSubsampling(expected.name);
    WriteImage(image.GetPointer(), io.GetPointer(), file);
    const TIFFPointer tiff = OpenTIFF(file);
    std::uint16_t     across = 0;
    std::uint16_t     down = 0;
    // libtiff looks into the stream as well, and warns where it says something else.
    ASSERT_TRUE(TIFFGetField(tiff.get(), TIFFTAG_YCBCRSUBSAMPLING, &across, &down));
    EXPECT_EQ(across, expected.across);
    EXPECT_EQ(down, expected.down);
  }
  EXPECT_THROW(itk::PyramidTIFFImageIO::New()->SetChromaSubsampling("4:1:1"), itk::ExceptionObject);
}

TEST_F(PyramidTIFFImageIOTest, OneBitMasksAreSmallerAndReadAs255)
{
  const std::string      file = File("bits.pyramid.tif");
  Samples<unsigned char> samples{ 701, 530, 1, {} };
  for (long i = 0; i < 701 * 530; ++i)
  {
    samples.values.push_back(i % 701 * i / 3000 % 5 == 0 ? 255 : 0);
  }
  auto io = itk::PyramidTIFFImageIO::New();
  io->BilevelOn();
  WriteImage(MakeImage<unsigned char>(samples).GetPointer(), io.GetPointer(), file);
  {
    const TIFFPointer tiff = OpenTIFF(file);
    EXPECT_EQ(GetTag<std::uint16_t>(tiff.get(), TIFFTAG_BITSPERSAMPLE), 1);
    std::vector<std::uint32_t> rgba(701 * 530);
    ASSERT_TRUE(TIFFReadRGBAImageOriented(tiff.get(), 701, 530, rgba.data(), ORIENTATION_TOPLEFT, 1));
    for (std::size_t i = 0; i < rgba.size(); ++i)
    {
      ASSERT_EQ(rgba[i] & 0xFF, samples.values[i]) << i;
    }
  }
  auto reader = itk::WholeSlideImageIO::New();
  reader->SetFileName(file);
  reader->ReadImageInformation();
  ASSERT_EQ(reader->GetNumberOfLevels(), 2U);
  for (const unsigned level : { 0U, 1U })
  {
    std::vector<unsigned char> found(samples.values.size());
    const auto                 width = static_cast<itk::SizeValueType>(samples.width);
    const auto                 height = static_cast<itk::SizeValueType>(samples.height);
    reader->ReadRegion(level, 0, 0, width, height, 1, found.data());
    EXPECT_TRUE(found == samples.values) << "level " << level;
    samples = Reduce(samples, true);
  }
  samples = MakeSamples<unsigned char>(300, 300);
  EXPECT_THROW(WriteImage(MakeImage<unsigned char>(samples).GetPointer(), io.GetPointer(), file), itk::ExceptionObject);
}

TEST_F(PyramidTIFFImageIOTest, BigTIFFWhereOffsetsMayNeedIt)
{
  // 25000 x 25000 RGB of 16 bit, all of one value: 3.75 GB before compression, a few MB behind it.
  const std::string           file = File("big.ome.tif");
  auto                        io = itk::PyramidTIFFImageIO::New();
  std::vector<unsigned short> rows(25000UL * 3 * 256, 1234);
  io->SetPixelTypeInfo(static_cast<const itk::RGBPixel<unsigned short> *>(nullptr));
  io->SetFileName(file);
  io->SetDimensions(0, 25000);
  io->SetDimensions(1, 25000);
  for (itk::SizeValueType y = 0; y < 25000; y += 256)
  {
    itk::ImageIORegion region(2);
    region.SetSize(0, 25000);
    region.SetIndex(1, static_cast<itk::IndexValueType>(y));
    region.SetSize(1, std::min<itk::SizeValueType>(256, 25000 - y));
    io->SetIORegion(region);
    io->Write(rows.data());
  }
  EXPECT_EQ(ReadBytes(file).substr(0, 4), std::string("II\x2B\0", 4));
  const TIFFPointer tiff = OpenTIFF(file);
  ASSERT_TRUE(tiff);
  EXPECT_EQ(TIFFNumberOfDirectories(tiff.get()), 1);
  std::uint16_t         count = 0;
  const std::uint64_t * children = nullptr;
  ASSERT_TRUE(TIFFGetField(tiff.get(), TIFFTAG_SUBIFD, &count, &children));
  ASSERT_EQ(count, 6);
  ASSERT_TRUE(TIFFSetSubDirectory(tiff.get(), children[5]));
  const auto found = ReadSamples<unsigned short>(tiff.get());
  EXPECT_EQ(found.width, 391);
  EXPECT_EQ(std::count(found.values.begin(), found.values.end(), 1234), 391 * 391 * 3);
}

TEST_F(PyramidTIFFImageIOTest, ClassesHaveColorsForViewersAndStayNumbersForUs)
{
  const std::string      file = File("classes.pyramid.tif");
  Samples<unsigned char> samples{ 600, 300, 1, {} };
  for (long i = 0; i < 600 * 300; ++i)
  {
    samples.values.push_back(static_cast<unsigned char>(i % 600 / 200 * 7)); // 0, 7, 14
  }
  const auto image = MakeImage<unsigned char>(samples);
  auto &     dictionary = image->GetMetaDataDictionary();
  itk::EncapsulateMetaData<std::string>(dictionary, "gigapixel.class.7", "#ff8000 tumor, invasive");
  itk::EncapsulateMetaData<std::string>(dictionary, "aperio.User", "somebody");
  WriteImage(image.GetPointer(), itk::PyramidTIFFImageIO::New().GetPointer(), file);

  openslide_t * slide = openslide_open(file.c_str());
  ASSERT_NE(slide, nullptr);
  std::uint32_t pixels[3] = {};
  for (int i = 0; i < 3; ++i)
  {
    openslide_read_region(slide, &pixels[i], 100 + 200 * i, 100, 0, 1, 1);
  }
  EXPECT_EQ(openslide_get_error(slide), nullptr);
  openslide_close(slide);
  EXPECT_EQ(pixels[0], 0xFF000000);
  EXPECT_EQ(pixels[1], 0xFFFF8000);
  EXPECT_EQ(pixels[2], 0xFF0E0E0E);

  auto reader = itk::ImageFileReader<LabelImage>::New();
  reader->SetImageIO(itk::WholeSlideImageIO::New());
  reader->SetFileName(file);
  reader->Update();
  EXPECT_EQ(reader->GetImageIO()->GetNumberOfComponents(), 1U);
  EXPECT_EQ(std::memcmp(reader->GetOutput()->GetBufferPointer(), samples.values.data(), samples.values.size()), 0);
  std::string  name;
  const auto & found = reader->GetOutput()->GetMetaDataDictionary();
  EXPECT_TRUE(itk::ExposeMetaData<std::string>(found, "gigapixel.class.7", name));
  EXPECT_EQ(name, "#ff8000 tumor, invasive");
  EXPECT_EQ(ReadBytes(file).find("somebody"), std::string::npos);

  itk::EncapsulateMetaData<std::string>(dictionary, "gigapixel.class.8", "red");
  EXPECT_THROW(WriteImage(image.GetPointer(), itk::PyramidTIFFImageIO::New().GetPointer(), file), itk::ExceptionObject);
}

TEST_F(PyramidTIFFImageIOTest, OMETIFFKeepsWhatPyramidsKeep)
{
  // Bytes that are no UTF-8 are kept as text. A text is as long as it is.
  const std::string said = "label name=\"<a & b>\" \xc2\xb5 " + std::string(5001, 'x') + "\xe6\xbc\xa2";
  const auto        image = MakeImage<unsigned char>(MakeSamples<unsigned char>(600, 520));
  itk::EncapsulateMetaData<std::string>(image->GetMetaDataDictionary(), "gigapixel.class.7", "#ff8000 a \xff\n<b>");
  for (const char * const name : { "x.pyramid.tif", "x.ome.tif", "x.OME.TIFF" })
  {
    const auto io = itk::PyramidTIFFImageIO::New();
    io->SetMadeBy(said);
    io->SetLastProperties([] { return std::map<std::string, std::string>{ { "gigapixel.last", "]]> &amp;" } }; });
    WriteImage(image.GetPointer(), io.GetPointer(), File(name));
    const bool isOME = std::string(name) != "x.pyramid.tif";
    EXPECT_EQ(TIFFNumberOfDirectories(OpenTIFF(File(name)).get()), isOME ? 1 : 2);

    const auto reader = itk::WholeSlideImageIO::New();
    reader->SetFileName(File(name));
    reader->ReadImageInformation();
    EXPECT_EQ(reader->GetNumberOfLevels(), 2U);
    for (const unsigned axis : { 0, 1 })
    {
      EXPECT_NEAR(reader->GetSpacing(axis), image->GetSpacing()[axis], 1e-15);
      EXPECT_EQ(reader->GetOrigin(axis), image->GetOrigin()[axis]);
    }
    const auto get = [&reader](const char * key) {
      std::string value;
      itk::ExposeMetaData<std::string>(reader->GetMetaDataDictionary(), key, value);
      return value;
    };
    EXPECT_EQ(itk::PyramidTIFFImageIO::GetMadeByOfDescription(get("tiff.ImageDescription")), said);
    EXPECT_EQ(get("gigapixel.class.7"), isOME ? "#ff8000 a \\xff <b>" : "#ff8000 a \xff <b>");
    EXPECT_EQ(get("gigapixel.last"), "]]> &amp;");
  }
}

TEST_F(PyramidTIFFImageIOTest, ColorProfileAndObjectivePowerComeBack)
{
  const std::string file = File("profile.pyramid.tif");
  const auto        image = MakeImage<RGB>(MakeSamples<RGB>(300, 300));
  auto &            dictionary = image->GetMetaDataDictionary();
  itk::EncapsulateMetaData<std::string>(dictionary, "ICCProfile", "SUNDIHByb2ZpbGU="); // "ICC profile"
  itk::EncapsulateMetaData<std::string>(dictionary, "openslide.objective-power", "20");
  itk::EncapsulateMetaData<std::string>(dictionary, "openslide.vendor", "aperio");
  std::uint32_t size = 0;
  const char *  profile = nullptr;
  WriteImage(image.GetPointer(), itk::PyramidTIFFImageIO::New().GetPointer(), file);
  EXPECT_FALSE(TIFFGetField(OpenTIFF(file).get(), TIFFTAG_ICCPROFILE, &size, &profile)) << "bytes that are no profile";
  const auto io = itk::PyramidTIFFImageIO::New();
  io->KeepTextOn();
  WriteImage(image.GetPointer(), io.GetPointer(), file);
  const TIFFPointer tiff = OpenTIFF(file);
  ASSERT_TRUE(TIFFGetField(tiff.get(), TIFFTAG_ICCPROFILE, &size, &profile));
  EXPECT_EQ(std::string(profile, size), "ICC profile");

  auto reader = itk::WholeSlideImageIO::New();
  reader->SetFileName(file);
  reader->ReadImageInformation();
  const struct
  {
    const char *key, *value;
  } expected[] = { { "ICCProfile", "SUNDIHByb2ZpbGU=" },
                   { "openslide.objective-power", "20" },
                   { "gigapixel.source-vendor", "aperio" } };
  for (const auto & entry : expected)
  {
    std::string value;
    itk::ExposeMetaData<std::string>(reader->GetMetaDataDictionary(), entry.key, value);
    EXPECT_EQ(value, entry.value) << entry.key;
  }
}

TEST_F(PyramidTIFFImageIOTest, WhatAKilledWriterLeftIsSweptByTheNext)
{
  const std::string file = File("mask.pyramid.tif");
  std::ofstream(File(".mask.pyramid.tif.123-0.part")) << "half";
  std::ofstream(File(".other.pyramid.tif.123-0.part")) << "half";
  std::ofstream(File(".mask.pyramid.tif.mine.part")) << "not ours";
  const auto samples = MakeSamples<unsigned char>(300, 600);
  auto       first = itk::PyramidTIFFImageIO::New(); // at work on the same file in the meantime
  first->SetPixelTypeInfo(static_cast<const unsigned char *>(nullptr));
  first->SetFileName(file);
  first->SetDimensions(0, 300);
  first->SetDimensions(1, 600);
  itk::ImageIORegion region(2);
  region.SetSize(0, 300);
  region.SetSize(1, 300);
  first->SetIORegion(region);
  first->Write(samples.values.data());

  WriteImage(MakeImage<unsigned char>(samples).GetPointer(), itk::PyramidTIFFImageIO::New().GetPointer(), file);
  EXPECT_FALSE(std::filesystem::exists(File(".mask.pyramid.tif.123-0.part")));
  EXPECT_TRUE(std::filesystem::exists(File(".other.pyramid.tif.123-0.part")));
  EXPECT_TRUE(std::filesystem::exists(File(".mask.pyramid.tif.mine.part")));
  EXPECT_EQ(CountFiles(), 4); // and that of the writer at work, which finds its place taken
  region.SetIndex(1, 300);
  first->SetIORegion(region);
  try
  {
    first->Write(samples.values.data() + 300 * 300);
    FAIL() << "it replaced what was not there when it began";
  }
  catch (const itk::ExceptionObject & error)
  {
    EXPECT_EQ(gigapixel::Diagnostic::Of(error).code, "E-OUTPUT-EXISTS");
  }
  EXPECT_EQ(CountFiles(), 3);
}

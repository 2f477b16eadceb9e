/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Channels of vector images: pages of their own. libtiff is the reference.
#include "PyramidTesting.h"
#include "RefusalCode.h"
#include "itkMetaDataObject.h"
#include "itkPyramidTIFFConverter.h"
#include "itkRGBAPixel.h"
#include "itkVectorImage.h"
#include "itkWholeSlideImageIO.h"

#include <cmath>

using namespace pyramid_test;

namespace
{
constexpr unsigned Channels = 5;
constexpr long     Width = 701;
constexpr long     Height = 530;

/** Whole numbers up to 2047, so that sums of floats are exact. */
template <typename TSample>
TSample
Draw(long x, long y, unsigned channel)
{
  const long value = (x * 7 + y * 13 + x * y / 50 + 301 * static_cast<long>(channel)) % 2048;
  return static_cast<TSample>(sizeof(TSample) == 1 ? value / 8 : value);
}

template <typename TSample>
typename itk::VectorImage<TSample, 2>::Pointer
MakeImage()
{
  auto image = itk::VectorImage<TSample, 2>::New();
  image->SetRegions(itk::Size<2>{ { Width, Height } });
  image->SetNumberOfComponentsPerPixel(Channels);
  typename itk::VectorImage<TSample, 2>::SpacingType spacing;
  spacing[0] = 0.0005;
  spacing[1] = 0.00025;
  image->SetSpacing(spacing);
  image->Allocate();
  TSample * out = image->GetBufferPointer();
  for (long y = 0; y < Height; ++y)
  {
    for (long x = 0; x < Width; ++x)
    {
      for (unsigned channel = 0; channel < Channels; ++channel)
      {
        *out++ = Draw<TSample>(x, y, channel);
      }
    }
  }
  return image;
}

template <typename TImage>
void
WriteImage(const TImage * image, itk::PyramidTIFFImageIO * io, const std::string & file, unsigned divisions = 1)
{
  auto writer = itk::ImageFileWriter<TImage>::New();
  writer->SetInput(image);
  writer->SetImageIO(io);
  writer->SetFileName(file);
  writer->SetNumberOfStreamDivisions(divisions);
  writer->Update();
}

/** All tiles of the current directory. */
template <typename TSample>
std::vector<TSample>
ReadPage(TIFF * tiff, long width, long height)
{
  EXPECT_EQ(GetTag<std::uint32_t>(tiff, TIFFTAG_IMAGEWIDTH), width);
  EXPECT_EQ(GetTag<std::uint32_t>(tiff, TIFFTAG_IMAGELENGTH), height);
  EXPECT_EQ(GetTag<std::uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL), 1);
  const long           tile = GetTag<std::uint32_t>(tiff, TIFFTAG_TILEWIDTH);
  std::vector<TSample> samples(static_cast<std::size_t>(width * height));
  std::vector<TSample> buffer(static_cast<std::size_t>(tile * tile));
  for (long y = 0; y < height; y += tile)
  {
    for (long x = 0; x < width; x += tile)
    {
      const auto column = static_cast<std::uint32_t>(x);
      EXPECT_GT(TIFFReadTile(tiff, buffer.data(), column, static_cast<std::uint32_t>(y), 0, 0), 0);
      for (long row = 0; row < std::min(tile, height - y); ++row)
      {
        std::copy_n(&buffer[static_cast<std::size_t>(row * tile)],
                    std::min(tile, width - x),
                    &samples[static_cast<std::size_t>((y + row) * width + x)]);
      }
    }
  }
  return samples;
}

/** The mean of each 2 x 2 block, of the pixels that there are. */
template <typename TSample>
std::vector<TSample>
Reduce(const std::vector<TSample> & from, long width, long height)
{
  std::vector<TSample> to;
  const auto at = [&](long x, long y) { return static_cast<double>(from[static_cast<std::size_t>(y * width + x)]); };
  for (long y = 0; y < height; y += 2)
  {
    for (long x = 0; x < width; x += 2)
    {
      const long   right = std::min(x + 1, width - 1);
      const long   lower = std::min(y + 1, height - 1);
      const double mean = (at(x, y) + at(right, y) + at(x, lower) + at(right, lower)) / 4;
      to.push_back(static_cast<TSample>(std::is_same_v<TSample, float> ? mean : std::floor(mean + 0.5)));
    }
  }
  return to;
}

template <typename TSample>
void
CheckPages(const std::string & file)
{
  const TIFFPointer tiff = OpenTIFF(file);
  ASSERT_TRUE(tiff);
  ASSERT_EQ(TIFFNumberOfDirectories(tiff.get()), static_cast<int>(Channels));
  for (unsigned channel = 0; channel < Channels; ++channel)
  {
    SCOPED_TRACE(testing::Message() << file << ", channel " << channel);
    std::vector<TSample> expected;
    for (long i = 0; i < Width * Height; ++i)
    {
      expected.push_back(Draw<TSample>(i % Width, i / Width, channel));
    }
    ASSERT_TRUE(TIFFSetDirectory(tiff.get(), static_cast<std::uint16_t>(channel)));
    EXPECT_TRUE(ReadPage<TSample>(tiff.get(), Width, Height) == expected);
    std::uint16_t   count = 0;
    std::uint64_t * children = nullptr;
    ASSERT_TRUE(TIFFGetField(tiff.get(), TIFFTAG_SUBIFD, &count, &children));
    ASSERT_EQ(count, 1);
    ASSERT_TRUE(TIFFSetSubDirectory(tiff.get(), children[0]));
    EXPECT_TRUE(ReadPage<TSample>(tiff.get(), (Width + 1) / 2, (Height + 1) / 2) == Reduce(expected, Width, Height));
  }
}

class PyramidTIFFImageIOChannelsTest : public PyramidTIFFImageIOTest
{
};
} // namespace

TEST_F(PyramidTIFFImageIOChannelsTest, EachHasAPageAndLevelsAsChildren)
{
  for (const char * const name : { "x.pyramid.tif", "x.ome.tif" })
  {
    WriteImage(MakeImage<unsigned char>().GetPointer(), itk::PyramidTIFFImageIO::New(), File(name));
    CheckPages<unsigned char>(File(name));
    WriteImage(MakeImage<unsigned short>().GetPointer(), itk::PyramidTIFFImageIO::New(), File(name));
    CheckPages<unsigned short>(File(name));
    WriteImage(MakeImage<float>().GetPointer(), itk::PyramidTIFFImageIO::New(), File(name));
    CheckPages<float>(File(name));
  }
}

TEST_F(PyramidTIFFImageIOChannelsTest, TheFileIsTheSameForAnyDivision)
{
  const auto image = MakeImage<unsigned short>();
  WriteImage(image.GetPointer(), itk::PyramidTIFFImageIO::New(), File("one.ome.tif"));
  WriteImage(image.GetPointer(), itk::PyramidTIFFImageIO::New(), File("three.ome.tif"), 3);
  EXPECT_EQ(ReadBytes(File("one.ome.tif")), ReadBytes(File("three.ome.tif")));

  const auto io = itk::PyramidTIFFImageIO::New(); // without a writer, in bands that are no rows of tiles
  io->SetFileName(File("bands.ome.tif"));
  io->SetNumberOfDimensions(2);
  io->SetComponentType(itk::IOComponentEnum::USHORT);
  io->SetPixelType(itk::IOPixelEnum::VECTOR);
  io->SetNumberOfComponents(Channels);
  for (const unsigned axis : { 0, 1 })
  {
    io->SetDimensions(axis, axis == 0 ? Width : Height);
    io->SetSpacing(axis, image->GetSpacing()[axis]);
  }
  for (long y = 0; y < Height; y += 77)
  {
    itk::ImageIORegion region(2);
    region.SetIndex(1, y);
    region.SetSize(0, Width);
    region.SetSize(1, static_cast<itk::SizeValueType>(std::min(77L, Height - y)));
    io->SetIORegion(region);
    io->Write(image->GetBufferPointer() + y * Width * Channels);
  }
  EXPECT_EQ(ReadBytes(File("bands.ome.tif")), ReadBytes(File("one.ome.tif")));
}

TEST_F(PyramidTIFFImageIOChannelsTest, TheReaderFindsNamesColorsAndWavelengths)
{
  const auto image = MakeImage<unsigned short>();
  auto &     dictionary = image->GetMetaDataDictionary();
  for (unsigned channel = 1; channel <= Channels; ++channel)
  {
    const std::string key = "gigapixel.channel." + std::to_string(channel);
    itk::EncapsulateMetaData<std::string>(dictionary, key, channel == 2 ? "" : channel == 3 ? "#0a0B0c <3>" : "plain");
  }
  itk::EncapsulateMetaData<std::string>(dictionary, "gigapixel.channel.3.emission-nm", "520.5");
  for (const char * const name : { "x.pyramid.tif", "x.ome.tif" })
  {
    WriteImage(image.GetPointer(), itk::PyramidTIFFImageIO::New(), File(name));
    const auto reader = itk::WholeSlideImageIO::New();
    reader->SetFileName(File(name));
    reader->ReadImageInformation();
    EXPECT_EQ(reader->GetNumberOfLevels(), 2U);
    EXPECT_EQ(reader->GetPixelType(), itk::IOPixelEnum::VECTOR);
    EXPECT_NEAR(reader->GetSpacing(0), 0.0005, 1e-12);
    EXPECT_NEAR(reader->GetSpacing(1), 0.00025, 1e-12);
    const auto entries = reader->GetChannelEntries();
    ASSERT_EQ(entries.size(), Channels);
    EXPECT_EQ(entries[0].name, "plain");
    EXPECT_EQ(entries[1].name, "channel2");
    EXPECT_EQ(entries[2].name, "<3>");
    EXPECT_EQ(entries[2].color, "#0a0b0c");
    EXPECT_EQ(entries[2].emission, 520.5);
    EXPECT_EQ(entries[2].excitation, 0.0);
    std::string said;
    itk::ExposeMetaData<std::string>(reader->GetMetaDataDictionary(), "gigapixel.channel.3", said);
    EXPECT_EQ(said, "#0a0b0c <3>");
  }
}

TEST_F(PyramidTIFFImageIOChannelsTest, ADictionaryOfOtherChannelsIsNotBelieved)
{
  const auto image = MakeImage<unsigned char>();
  for (const char * const key : { "gigapixel.channel.1", "gigapixel.channel.400", "gigapixel.channel.99999999999999" })
  {
    itk::EncapsulateMetaData<std::string>(image->GetMetaDataDictionary(), key, "no");
  }
  WriteImage(image.GetPointer(), itk::PyramidTIFFImageIO::New(), File("x.ome.tif"));
  const auto reader = itk::WholeSlideImageIO::New();
  reader->SetFileName(File("x.ome.tif"));
  reader->ReadImageInformation();
  EXPECT_EQ(reader->GetChannelEntries().front().name, "channel1");
}

TEST_F(PyramidTIFFImageIOChannelsTest, TheConverterWritesTheSamePixels)
{
  WriteImage(MakeImage<unsigned short>().GetPointer(), itk::PyramidTIFFImageIO::New(), File("x.pyramid.tif"));
  const auto slide = itk::WholeSlideImageIO::New();
  slide->SetFileName(File("x.pyramid.tif"));
  slide->ReadImageInformation();
  const auto io = itk::PyramidTIFFImageIO::New();
  io->SetFileName(File("y.ome.tif"));
  const auto converter = itk::PyramidTIFFConverter::New();
  converter->SetSlide(slide);
  converter->SetImageIO(io);
  converter->ChooseCompressor();
  converter->Update();
  EXPECT_EQ(converter->GetNumberOfCopiedTiles(), 0U);
  CheckPages<unsigned short>(File("y.ome.tif"));
}

TEST_F(PyramidTIFFImageIOChannelsTest, RefusesWhatNoPageHolds)
{
  const auto write = [this](const auto & image, const char * compressor) {
    const auto refusal = gigapixel_test::FindRefusal([&] {
      const auto io = itk::PyramidTIFFImageIO::New();
      io->SetCompressor(compressor);
      WriteImage(image.GetPointer(), io.GetPointer(), File("no.ome.tif"));
    });
    return refusal.code;
  };
  EXPECT_EQ(write(MakeImage<unsigned char>(), "WEBP"), "E-OPTION-CONFLICT");
  EXPECT_EQ(write(MakeImage<unsigned short>(), "JPEG"), "E-OPTION-CONFLICT");
  EXPECT_EQ(write(MakeImage<double>(), "DEFLATE"), "E-SLIDE-CHANNELS");
  auto rgba = itk::Image<itk::RGBAPixel<unsigned char>, 2>::New();
  rgba->SetRegions(itk::Size<2>{ { 30, 30 } });
  rgba->Allocate(true);
  EXPECT_EQ(write(rgba, "DEFLATE"), "E-SLIDE-CHANNELS");
  auto many = itk::VectorImage<unsigned char, 2>::New();
  many->SetRegions(itk::Size<2>{ { 16, 16 } });
  many->SetNumberOfComponentsPerPixel(4097);
  many->Allocate();
  EXPECT_EQ(write(many, "DEFLATE"), "E-SLIDE-CHANNELS");
  EXPECT_EQ(CountFiles(), 0);
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidTesting.h"

#include "itkPyramidTIFFImageIOFactory.h"
#include "itkMultiThreaderBase.h"

#include <openslide.h>

#include <array>
#include <cmath>
#include <cstdio>

#include <jpeglib.h>

using namespace pyramid_test;

namespace
{
struct SizeCase
{
  long width, height, tile, levels;
};

/** libtiff has nothing to complain of, the levels are the expected ones, and each is the plain reduction of the one
 * before, to the bit. */
template <typename TImage>
void
CheckPyramid(const std::string & file, const SizeCase & size, bool labels)
{
  static int warnings;
  warnings = 0;
  TIFFSetWarningHandler([](const char *, const char *, va_list) { ++warnings; });
  const TIFFPointer tiff = OpenTIFF(file);
  ASSERT_TRUE(tiff);
  ASSERT_EQ(TIFFNumberOfDirectories(tiff.get()), size.levels);
  Raster expected =
    MakeRaster(size.width, size.height, sizeof(typename TImage::PixelType), labels ? LabelPattern : ColorPattern);
  for (long level = 0; level < size.levels; ++level)
  {
    ASSERT_TRUE(TIFFSetDirectory(tiff.get(), static_cast<std::uint16_t>(level)));
    EXPECT_EQ(GetTag<std::uint32_t>(tiff.get(), TIFFTAG_SUBFILETYPE), level > 0 ? 1u : 0u);
    EXPECT_EQ(GetTag<std::uint32_t>(tiff.get(), TIFFTAG_TILEWIDTH), size.tile);
    EXPECT_EQ(GetTag<std::uint32_t>(tiff.get(), TIFFTAG_TILELENGTH), size.tile);
    const Raster found = ReadDirectory(tiff.get());
    EXPECT_EQ(found.width, expected.width);
    EXPECT_EQ(found.height, expected.height);
    EXPECT_TRUE(found.samples == expected.samples) << "level " << level;
    if (level > 0)
    {
      EXPECT_GE(std::min(found.width, found.height), size.tile);
    }
    expected = Reduce(expected, labels);
  }
  EXPECT_EQ(warnings, 0);
  EXPECT_EQ(ReadBytes(file).substr(0, 4), std::string("II\x2A\0", 4)); // BigTIFF only where it is needed
}
} // namespace

TEST_F(PyramidTIFFImageIOTest, LevelsOfAnySizeAreThePlainReductions)
{
  const SizeCase sizes[] = { { 1, 1, 16, 1 },        { 15, 17, 16, 1 },  { 255, 256, 240, 1 }, { 256, 256, 256, 1 },
                             { 257, 513, 256, 1 },   { 5000, 3, 16, 1 }, { 511, 600, 256, 2 }, { 513, 1100, 256, 2 },
                             { 1300, 1027, 256, 3 }, { 40, 700, 32, 1 } };
  for (const SizeCase & size : sizes)
  {
    SCOPED_TRACE(testing::Message() << size.width << " x " << size.height);
    const std::string labels = File("labels.pyramid.tif");
    Write(MakeSource<LabelImage>(size.width, size.height).GetPointer(), itk::PyramidTIFFImageIO::New(), labels);
    CheckPyramid<LabelImage>(labels, size, true);
    const std::string colors = File("colors.pyramid.tif");
    Write(MakeSource<ColorImage>(size.width, size.height).GetPointer(), itk::PyramidTIFFImageIO::New(), colors);
    CheckPyramid<ColorImage>(colors, size, false);
  }
}

TEST_F(PyramidTIFFImageIOTest, TilesOfAnotherSize)
{
  auto io = itk::PyramidTIFFImageIO::New();
  io->SetTileSize(64);
  Write(MakeSource<ColorImage>(1300, 1027).GetPointer(), io, File("colors.pyramid.tif"));
  CheckPyramid<ColorImage>(File("colors.pyramid.tif"), { 1300, 1027, 64, 5 }, false);
  EXPECT_THROW(io->SetTileSize(100), itk::ExceptionObject);
}

TEST_F(PyramidTIFFImageIOTest, GrayPicturesAreAveraged)
{
  auto io = itk::PyramidTIFFImageIO::New();
  io->SetContent(itk::PyramidTIFFImageIO::Content::Picture);
  Write(MakeSource<LabelImage>(601, 555).GetPointer(), io, File("gray.pyramid.tif"));
  const TIFFPointer tiff = OpenTIFF(File("gray.pyramid.tif"));
  const Raster      fine = ReadDirectory(tiff.get());
  EXPECT_TRUE(fine.samples == MakeRaster(601, 555, 1, LabelPattern).samples);
  ASSERT_TRUE(TIFFSetDirectory(tiff.get(), 1));
  EXPECT_TRUE(ReadDirectory(tiff.get()).samples == Reduce(fine, false).samples);
}

TEST_F(PyramidTIFFImageIOTest, OpenSlideSeesTheLevelsAndThePixels)
{
  const std::string file = File("colors.pyramid.tif");
  Write(MakeSource<ColorImage>(1300, 1027).GetPointer(), itk::PyramidTIFFImageIO::New(), file);
  openslide_t * slide = openslide_open(file.c_str());
  ASSERT_NE(slide, nullptr);
  ASSERT_EQ(openslide_get_error(slide), nullptr);
  EXPECT_STREQ(openslide_get_property_value(slide, "openslide.vendor"), "generic-tiff");
  ASSERT_EQ(openslide_get_level_count(slide), 3);
  Raster expected = MakeRaster(1300, 1027, 3, ColorPattern);
  for (int level = 0; level < 3; ++level)
  {
    std::int64_t width = 0;
    std::int64_t height = 0;
    openslide_get_level_dimensions(slide, level, &width, &height);
    ASSERT_EQ(width, expected.width);
    ASSERT_EQ(height, expected.height);
    std::vector<std::uint32_t> argb(static_cast<std::size_t>(width * height));
    openslide_read_region(slide, argb.data(), 0, 0, level, width, height);
    ASSERT_EQ(openslide_get_error(slide), nullptr);
    long differing = 0;
    for (std::size_t i = 0; i < argb.size(); ++i)
    {
      const unsigned char * rgb = &expected.samples[3 * i];
      differing += (argb[i] & 0xFFFFFF) != (std::uint32_t{ rgb[0] } << 16 | std::uint32_t{ rgb[1] } << 8 | rgb[2]);
    }
    EXPECT_EQ(differing, 0) << "level " << level;
    expected = Reduce(expected, false);
  }
  openslide_close(slide);
}

TEST_F(PyramidTIFFImageIOTest, ResolutionInPixelsPerCentimeterAndOriginInTheDescription)
{
  auto source = MakeSource<LabelImage>(600, 600);
  source->spacing = 0.000499;
  Write(source.GetPointer(), itk::PyramidTIFFImageIO::New(), File("known.pyramid.tif"));
  const TIFFPointer known = OpenTIFF(File("known.pyramid.tif"));
  EXPECT_EQ(GetTag<std::uint16_t>(known.get(), TIFFTAG_RESOLUTIONUNIT), RESUNIT_CENTIMETER);
  EXPECT_FLOAT_EQ(GetTag<float>(known.get(), TIFFTAG_XRESOLUTION), 10.0f / 0.000499f);
  const std::string description = GetTag<const char *>(known.get(), TIFFTAG_IMAGEDESCRIPTION);
  double            origin[2] = { 9, 9 };
  EXPECT_EQ(std::sscanf(description.c_str(), "ITKGigapixel pyramid\norigin-mm = %lf %lf", &origin[0], &origin[1]), 2);
  EXPECT_EQ(origin[0], 0.00175);
  EXPECT_EQ(origin[1], -0.5);
  ASSERT_TRUE(TIFFSetDirectory(known.get(), 1));
  EXPECT_FLOAT_EQ(GetTag<float>(known.get(), TIFFTAG_YRESOLUTION), 5.0f / 0.000499f);

  source->spacing = 1.0;
  source->Modified();
  Write(source.GetPointer(), itk::PyramidTIFFImageIO::New(), File("unknown.pyramid.tif"));
  const TIFFPointer unknown = OpenTIFF(File("unknown.pyramid.tif"));
  EXPECT_EQ(GetTag<std::uint16_t>(unknown.get(), TIFFTAG_RESOLUTIONUNIT), RESUNIT_NONE);
}

TEST_F(PyramidTIFFImageIOTest, SameBytesForAnyDivisionAndThreads)
{
  for (const char * compressor : { "DEFLATE", "JPEG" })
  {
    std::string first;
    for (const unsigned divisions : { 1, 2, 3, 5, 64 })
    {
      for (const unsigned threads : { 1, 2, 4 })
      {
        const auto before = itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads();
        itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
        auto io = itk::PyramidTIFFImageIO::New();
        io->SetCompressor(compressor);
        Write(MakeSource<ColorImage>(700, 1290).GetPointer(), io, File("same.pyramid.tif"), divisions);
        itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(before);
        const std::string bytes = ReadBytes(File("same.pyramid.tif"));
        first = first.empty() ? bytes : first;
        EXPECT_TRUE(bytes == first) << compressor << ", " << divisions << " divisions, " << threads << " threads";
      }
    }
  }
}

TEST_F(PyramidTIFFImageIOTest, BandsOfAnyHeightWithoutAWriter)
{
  Write(MakeSource<LabelImage>(600, 700).GetPointer(), itk::PyramidTIFFImageIO::New(), File("streamed.pyramid.tif"));

  const Raster raster = MakeRaster(600, 700, 1, LabelPattern);
  auto         io = itk::PyramidTIFFImageIO::New();
  io->SetPixelTypeInfo(static_cast<const unsigned char *>(nullptr));
  io->SetFileName(File("bands.pyramid.tif"));
  for (const unsigned axis : { 0, 1 })
  {
    io->SetDimensions(axis, axis == 0 ? 600 : 700);
    io->SetSpacing(axis, 0.0005);
    io->SetOrigin(axis, axis == 0 ? 0.00175 : -0.5);
  }
  for (long y = 0; y < 700; y += 33)
  {
    itk::ImageIORegion region(2);
    region.SetSize(0, 600);
    region.SetIndex(1, y);
    region.SetSize(1, static_cast<itk::SizeValueType>(std::min(33L, 700 - y)));
    io->SetIORegion(region);
    io->Write(&raster.samples[static_cast<std::size_t>(600 * y)]);
  }
  EXPECT_TRUE(ReadBytes(File("bands.pyramid.tif")) == ReadBytes(File("streamed.pyramid.tif")));
}

TEST_F(PyramidTIFFImageIOTest, NeverAsksForTheWholeImage)
{
  auto source = MakeSource<LabelImage>(16000, 2100);
  Write(source.GetPointer(), itk::PyramidTIFFImageIO::New(), File("wide.pyramid.tif"));
  EXPECT_EQ(source->mostRows, 512); // two tile rows: 8 MB
}

/** Tables and tile put together are what libjpeg reads by itself; libtiff must show the same pixels, and these are as
 * near to the original as the quality promises. */
TEST_F(PyramidTIFFImageIOTest, JPEGTilesAreWhatLibjpegDecodes)
{
  auto io = itk::PyramidTIFFImageIO::New();
  io->SetCompressor("JPEG");
  io->SetCompressionLevel(95);
  Write(MakeSource<ColorImage>(600, 555).GetPointer(), io, File("jpeg.pyramid.tif"));
  const TIFFPointer tiff = OpenTIFF(File("jpeg.pyramid.tif"));
  EXPECT_EQ(GetTag<std::uint16_t>(tiff.get(), TIFFTAG_PHOTOMETRIC), PHOTOMETRIC_YCBCR);
  const Raster shown = ReadDirectory(tiff.get());

  std::uint32_t   tableBytes = 0;
  unsigned char * tables = nullptr;
  ASSERT_TRUE(TIFFGetField(tiff.get(), TIFFTAG_JPEGTABLES, &tableBytes, &tables));
  std::vector<unsigned char> tile(1 << 20);
  const auto                 size = TIFFReadRawTile(tiff.get(), 0, tile.data(), static_cast<tmsize_t>(tile.size()));
  ASSERT_GT(size, 0);
  std::vector<unsigned char> stream(tables, tables + tableBytes - 2); // without the end of image, ...
  stream.insert(stream.end(), tile.begin() + 2, tile.begin() + size); // ... without the start of image

  jpeg_error_mgr         error;
  jpeg_decompress_struct decoder;
  decoder.err = jpeg_std_error(&error);
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, stream.data(), stream.size());
  ASSERT_EQ(jpeg_read_header(&decoder, TRUE), JPEG_HEADER_OK);
  EXPECT_EQ(decoder.comp_info[0].h_samp_factor, 2);
  EXPECT_EQ(decoder.comp_info[0].v_samp_factor, 2);
  decoder.out_color_space = JCS_RGB;
  jpeg_start_decompress(&decoder);
  ASSERT_EQ(decoder.output_width, 256u);
  std::vector<unsigned char> row(256 * 3);
  double                     squares = 0.0;
  while (decoder.output_scanline < 256)
  {
    const long y = decoder.output_scanline;
    JSAMPROW   rows[] = { row.data() };
    jpeg_read_scanlines(&decoder, rows, 1);
    EXPECT_EQ(std::memcmp(row.data(), &shown.samples[static_cast<std::size_t>(y * 600 * 3)], row.size()), 0);
    for (long i = 0; i < 256 * 3; ++i)
    {
      const double difference = double(row[static_cast<std::size_t>(i)]) - ColorPattern(i / 3, y, i % 3);
      squares += difference * difference;
    }
  }
  jpeg_destroy_decompress(&decoder);
  // Quality 95; what is lost is mostly the halved chroma of this pattern's texture.
  EXPECT_LT(std::sqrt(squares / (256 * 256 * 3)), 12.0);
}

TEST_F(PyramidTIFFImageIOTest, OtherProgramsOpenIt)
{
  const std::string file = File("colors.pyramid.tif");
  Write(MakeSource<ColorImage>(1300, 1027).GetPointer(), itk::PyramidTIFFImageIO::New(), file);
  if (std::system("command -v vips >/dev/null 2>&1") != 0)
  {
    GTEST_SKIP() << "vips is not installed";
  }
  const Raster level = Reduce(MakeRaster(1300, 1027, 3, ColorPattern), false);
  double       sum = 0.0;
  for (const unsigned char sample : level.samples)
  {
    sum += sample;
  }
  std::FILE * vips = ::popen(("vips avg '" + file + "[page=1]'").c_str(), "r");
  ASSERT_NE(vips, nullptr);
  double average = 0.0;
  EXPECT_EQ(std::fscanf(vips, "%lf", &average), 1);
  EXPECT_EQ(::pclose(vips), 0);
  EXPECT_NEAR(average, sum / static_cast<double>(level.samples.size()), 1e-5); // printed with six digits
}

TEST_F(PyramidTIFFImageIOTest, FailureLeavesNothingAndKeepsWhatWasThere)
{
  std::ofstream(File("kept.pyramid.tif")) << "older";
  auto source = MakeSource<LabelImage>(300, 2000);
  source->failingRow = 1500;
  {
    auto io = itk::PyramidTIFFImageIO::New();
    EXPECT_THROW(Write(source.GetPointer(), io.GetPointer(), File("kept.pyramid.tif"), 8), itk::ExceptionObject);
  }
  EXPECT_EQ(ReadBytes(File("kept.pyramid.tif")), "older");
  EXPECT_EQ(CountFiles(), 1);

  source->failingRow = -1;
  source->Modified();
  Write(source.GetPointer(), itk::PyramidTIFFImageIO::New(), File("kept.pyramid.tif"), 8);
  CheckPyramid<LabelImage>(File("kept.pyramid.tif"), { 300, 2000, 256, 1 }, true);
  EXPECT_EQ(CountFiles(), 1);
}

TEST_F(PyramidTIFFImageIOTest, AbortedByTheWritersObserverLeavesNothing)
{
  auto source = MakeSource<LabelImage>(16000, 2100); // five bands
  {
    const auto writer = itk::ImageFileWriter<LabelImage>::New();
    writer->SetInput(source->GetOutput());
    writer->SetImageIO(itk::PyramidTIFFImageIO::New());
    writer->SetFileName(File("aborted.pyramid.tif"));
    writer->AddObserver(itk::ProgressEvent(), [&writer](const itk::EventObject &) {
      writer->SetAbortGenerateData(writer->GetProgress() > 0.5F);
    });
    writer->Update();
    EXPECT_LT(writer->GetProgress(), 0.9F);
    EXPECT_FALSE(std::filesystem::exists(File("aborted.pyramid.tif")));
  }
  EXPECT_EQ(CountFiles(), 0);
}

TEST_F(PyramidTIFFImageIOTest, RowsOutOfOrderAreRefusedAndDiscarded)
{
  const Raster raster = MakeRaster(300, 600, 1, LabelPattern);
  auto         io = itk::PyramidTIFFImageIO::New();
  io->SetPixelTypeInfo(static_cast<const unsigned char *>(nullptr));
  io->SetFileName(File("never.pyramid.tif"));
  io->SetDimensions(0, 300);
  io->SetDimensions(1, 600);
  itk::ImageIORegion region(2);
  region.SetSize(0, 300);
  region.SetSize(1, 256);
  io->SetIORegion(region);
  io->Write(raster.samples.data());
  EXPECT_EQ(CountFiles(), 1); // the hidden one
  region.SetIndex(1, 300);
  io->SetIORegion(region);
  EXPECT_THROW(io->Write(raster.samples.data()), itk::ExceptionObject);
  EXPECT_EQ(CountFiles(), 0);
}

namespace
{
/** The sentence with which writing fails. */
template <typename TWrite>
std::string
GetRefusal(const TWrite & write)
{
  try
  {
    write();
  }
  catch (const itk::ExceptionObject & error)
  {
    return error.GetDescription();
  }
  return "not refused";
}

bool
Contains(const std::string & text, const std::string & part)
{
  return text.find(part) != std::string::npos;
}
} // namespace

TEST_F(PyramidTIFFImageIOTest, RefusesInOneSentence)
{
  const std::string file = File("refused.pyramid.tif");
  auto              source = MakeSource<LabelImage>(300, 300);
  auto              io = itk::PyramidTIFFImageIO::New();

  const auto paste = [&] {
    auto               writer = itk::ImageFileWriter<LabelImage>::New();
    itk::ImageIORegion region(2);
    region.SetSize(0, 100);
    region.SetSize(1, 100);
    writer->SetInput(source->GetOutput());
    writer->SetImageIO(io);
    writer->SetFileName(file);
    writer->SetIORegion(region);
    writer->Update();
  };
  EXPECT_TRUE(Contains(GetRefusal(paste), "[E-REGION]"));
  EXPECT_TRUE(
    Contains(GetRefusal([&] { Write(source.GetPointer(), io.GetPointer(), "/no/such/folder/a.pyramid.tif"); }),
             "there is no folder /no/such/folder"));
  EXPECT_TRUE(Contains(GetRefusal([&] { io->SetCompressor("GZIP"); }), "[E-OPTION-VALUE]"));
  io->SetCompressor("JPEG");
  EXPECT_TRUE(Contains(GetRefusal([&] { Write(source.GetPointer(), io.GetPointer(), file); }), "[E-OPTION-CONFLICT]"));

  using DoubleImage = itk::Image<double, 2>;
  auto image = DoubleImage::New();
  image->SetRegions(DoubleImage::SizeType{ { 30, 30 } });
  image->Allocate(true);
  const auto writeDouble = [&] {
    auto writer = itk::ImageFileWriter<DoubleImage>::New();
    writer->SetInput(image);
    writer->SetImageIO(itk::PyramidTIFFImageIO::New());
    writer->SetFileName(file);
    writer->Update();
  };
  EXPECT_TRUE(Contains(GetRefusal(writeDouble), "[E-SLIDE-CHANNELS]"));
  EXPECT_EQ(CountFiles(), 0);
}

TEST_F(PyramidTIFFImageIOTest, TheFactoryTakesPyramidNamesOnly)
{
  itk::PyramidTIFFImageIOFactory::RegisterOneFactory();
  itk::PyramidTIFFImageIOFactory::RegisterOneFactory();
  auto source = MakeSource<LabelImage>(300, 300);
  auto writer = itk::ImageFileWriter<LabelImage>::New();
  writer->SetInput(source->GetOutput());
  writer->SetFileName(File("named.pyramid.tif"));
  writer->Update();
  EXPECT_STREQ(writer->GetImageIO()->GetNameOfClass(), "PyramidTIFFImageIO");
  CheckPyramid<LabelImage>(File("named.pyramid.tif"), { 300, 300, 256, 1 }, true);

  auto io = itk::PyramidTIFFImageIO::New();
  EXPECT_TRUE(io->CanWriteFile("mask.PYRAMID.TIF"));
  EXPECT_FALSE(io->CanWriteFile("mask.tif"));
  EXPECT_FALSE(io->CanReadFile("mask.pyramid.tif"));
}

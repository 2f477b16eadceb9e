/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "itkGigapixelFileSource.h"
#include "itkGigapixelImageIOSource.h"
#include "itkGigapixelImageSource.h"

#include "TemporaryFolder.h"
#include "UNetTestImages.h"
#include "gigapixelRegionSource.h"
#include "itkCastImageFilter.h"
#include "itkMetaImageIO.h"
#include "itkShiftScaleImageFilter.h"
#include "itkVectorImage.h"

#include <atomic>
#include <limits>
#include <sys/stat.h>
#include <thread>
#include <zlib.h>

using namespace gigapixel;
using gigapixel::test::TemporaryFolder;
using gigapixel_test::ColorImage;
using gigapixel_test::GrayImage;
using gigapixel_test::NoiseImage;
using gigapixel_test::Write;

namespace
{

/** Compares 40 random regions, read by several threads at once, with the samples in memory. */
void
ExpectSameFromThreads(PixelSource &         source,
                      const unsigned char * samples,
                      unsigned              width,
                      unsigned              height,
                      int                   threads = 4)
{
  ASSERT_EQ(source.GetSize().width, width);
  ASSERT_EQ(source.GetSize().height, height);
  const unsigned           channels = source.GetNumberOfChannels();
  std::atomic<int>         wrong{ 0 };
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
  {
    workers.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 10; ++i)
      {
        Region region;
        region.x = random() % width;
        region.y = random() % height;
        region.width = 1 + random() % (width - region.x);
        region.height = 1 + random() % (height - region.y);
        std::vector<std::uint8_t> part(static_cast<std::size_t>(region.width * region.height) * channels);
        source.Read(region, part.data());
        for (std::int64_t y = 0; y < region.height; ++y)
        {
          const auto * expected = samples + ((region.y + y) * width + region.x) * channels;
          wrong += std::memcmp(part.data() + y * region.width * channels,
                               expected,
                               static_cast<std::size_t>(region.width) * channels) != 0;
        }
      }
    });
  }
  for (auto & worker : workers)
  {
    worker.join();
  }
  EXPECT_EQ(wrong, 0);
}

/** A region's rows where the source has them, and as Read() gives them. */
void
ExpectRows(PixelSource & source, const Region & region)
{
  const RowsInMemory rows = source.FindRows(region);
  ASSERT_NE(rows.first, nullptr);
  const std::int64_t        width = region.width * source.GetNumberOfChannels();
  std::vector<std::uint8_t> samples(width * region.height);
  source.Read(region, samples.data());
  for (std::int64_t y = 0; y < region.height; ++y)
  {
    EXPECT_EQ(std::memcmp(rows.first + y * rows.pitch, samples.data() + y * width, width), 0) << y;
  }
}

template <typename TImage>
const unsigned char *
Samples(const TImage & image)
{
  return reinterpret_cast<const unsigned char *>(image.GetBufferPointer());
}

TEST(GigapixelImageSource, ReadsImagesInMemory)
{
  const auto gray = NoiseImage(211, 97);
  gray->SetRegions(itk::ImageRegion<2>({ { -5, 1000 } }, { { 211, 97 } })); // an index other than 0
  gray->Allocate();
  std::copy_n(Samples(*NoiseImage(211, 97)), 211 * 97, gray->GetBufferPointer());
  ExpectSameFromThreads(*itk::GigapixelImageSource(gray.GetPointer()).pixels, Samples(*gray), 211, 97);

  const auto color = NoiseImage<ColorImage>(50, 60);
  const auto source = itk::GigapixelImageSource(color.GetPointer(), "color");
  EXPECT_EQ(source.name, "color");
  EXPECT_EQ(source.pixels->GetNumberOfChannels(), 3u);
  ExpectSameFromThreads(*source.pixels, Samples(*color), 50, 60);

  const auto vectors = itk::VectorImage<unsigned char, 2>::New();
  vectors->SetRegions(itk::Size<2>{ { 20, 30 } });
  vectors->SetNumberOfComponentsPerPixel(5);
  vectors->Allocate();
  std::iota(vectors->GetBufferPointer(), vectors->GetBufferPointer() + 3000, 0);
  const auto five = itk::GigapixelImageSource(vectors.GetPointer()).pixels;
  EXPECT_EQ(five->GetNumberOfChannels(), 5u);
  ExpectSameFromThreads(*five, vectors->GetBufferPointer(), 20, 30);
}

TEST(GigapixelImageSource, RowsOfAnImageInMemoryAreWhereTheyLie)
{
  const auto color = NoiseImage<ColorImage>(50, 60);
  const auto source = itk::GigapixelImageSource(color.GetPointer(), "color").pixels;
  ExpectRows(*source, { 7, 9, 43, 51 });
  ExpectRows(*MakeRegionSource(source, { 10, 20, 30, 40 }), { 5, 6, 25, 34 });

  // Of a pipeline nothing stays where it is.
  const auto cast = itk::CastImageFilter<GrayImage, GrayImage>::New();
  cast->SetInput(NoiseImage(50, 60));
  EXPECT_EQ(itk::GigapixelImageSource(cast->GetOutput()).pixels->FindRows({ 0, 0, 1, 1 }).first, nullptr);

  itk::GigapixelBufferSource buffered(Samples(*color), { 100, 200, 50, 60 }, { 1000, 1000 }, 3);
  EXPECT_EQ(buffered.FindRows({ 107, 209, 10, 10 }).first, Samples(*color) + 3 * (9 * 50 + 7));
  EXPECT_THROW(buffered.FindRows({ 107, 209, 44, 10 }), std::out_of_range);
}

TEST(GigapixelImageSource, GridIsWhereTheFirstPixelLies)
{
  const auto image = NoiseImage(30, 20);
  image->SetRegions(itk::ImageRegion<2>({ { 10, 100 } }, { { 30, 20 } }));
  gigapixel_test::SetSpacing(*image, 0.5, 1.0);
  const Grid grid = itk::GigapixelGridOf(*image);
  EXPECT_EQ(grid.size.width, 30);
  EXPECT_DOUBLE_EQ(grid.origin[0], 1.0 + 10 * 0.0005);
  EXPECT_DOUBLE_EQ(grid.origin[1], 1.0 + 100 * 0.0005);
  EXPECT_DOUBLE_EQ(grid.GetMicronsPerPixel(), 0.5);
}

TEST(GigapixelImageSource, SpacingIsKnownOnlyWhereItIsPlausible)
{
  Grid grid;
  EXPECT_EQ(grid.GetMicronsPerPixel(), 0); // ITK's default of 1 mm
  for (const auto & [spacing, known] : { std::pair<double, bool>{ 0.000228, true },
                                         { 0.00005, true },
                                         { 0.000005, false },
                                         { 0.128, true },
                                         { 25.4 / 72, false } })
  {
    grid.spacing = { { spacing, spacing } };
    EXPECT_EQ(grid.IsSpacingKnown(), known) << spacing;
  }
}

TEST(GigapixelImageSource, UpdatesPipelinesRegionByRegion)
{
  const TemporaryFolder folder{ "unet" };
  const auto            image = NoiseImage(300, 200);
  const auto            reader = itk::ImageFileReader<GrayImage>::New();
  reader->SetFileName(Write(image.GetPointer(), folder.File("image.mha")));
  PhysicalImage source;
  {
    using Invert = itk::ShiftScaleImageFilter<GrayImage, GrayImage>;
    const auto invert = Invert::New();
    invert->SetInput(reader->GetOutput());
    invert->SetShift(-255);
    invert->SetScale(-1);
    source = itk::GigapixelImageSource(invert->GetOutput());
  } // the source keeps the filter
  const auto inverted = NoiseImage(300, 200);
  std::transform(Samples(*image), Samples(*image) + 60000, inverted->GetBufferPointer(), [](unsigned char v) {
    return static_cast<unsigned char>(255 - v);
  });
  std::vector<std::uint8_t> part(50 * 40);
  source.pixels->Read(Region{ 100, 100, 50, 40 }, part.data());
  EXPECT_EQ(reader->GetOutput()->GetBufferedRegion(), itk::ImageRegion<2>({ { 100, 100 } }, { { 50, 40 } }));
  ExpectSameFromThreads(*source.pixels, Samples(*inverted), 300, 200);
}

TEST(GigapixelImageSource, PutsTheRequestedRegionBack)
{
  const TemporaryFolder folder{ "unet" };
  const auto            reader = itk::ImageFileReader<GrayImage>::New();
  reader->SetFileName(Write(NoiseImage(30, 20).GetPointer(), folder.File("image.mha")));
  {
    const auto   source = itk::GigapixelImageSource(reader->GetOutput());
    std::uint8_t pixel = 0;
    source.pixels->Read(Region{ 7, 7, 1, 1 }, &pixel);
  }
  reader->Update();
  EXPECT_EQ(reader->GetOutput()->GetBufferedRegion(), reader->GetOutput()->GetLargestPossibleRegion());
}

TEST(GigapixelImageIOSource, ReadsAnyImageIOFromSeveralThreads)
{
  const TemporaryFolder folder{ "unet" };
  const auto            gray = NoiseImage(211, 97);
  gigapixel_test::SetSpacing(*gray, 0.5, 0.25);
  for (const char * name : { "gray.mha", "gray.png", "gray.nrrd" }) // streams; does not; has three axes at times
  {
    const auto source = itk::GigapixelFileSource(Write(gray.GetPointer(), folder.File(name)));
    EXPECT_EQ(source.pixels->GetNumberOfChannels(), 1u);
    ExpectSameFromThreads(*source.pixels, Samples(*gray), 211, 97);
  }
  const auto color = NoiseImage<ColorImage>(64, 80);
  ExpectSameFromThreads(
    *itk::GigapixelFileSource(Write(color.GetPointer(), folder.File("color.mha"))).pixels, Samples(*color), 64, 80);
  const Grid grid = itk::GigapixelFileSource(folder.File("gray.mha")).grid;
  EXPECT_DOUBLE_EQ(grid.spacing[1], 0.0005);
  EXPECT_DOUBLE_EQ(grid.origin[0], 0.25);
  // The user's word counts where the file says nothing.
  itk::GigapixelResolution stated;
  stated.content.levelZeroMicronsPerPixel = 2;
  EXPECT_DOUBLE_EQ(itk::GigapixelFileSource(folder.File("gray.mha"), stated).grid.spacing[1], 0.0005);
  gigapixel_test::SetSpacing(*color, 1000); // ITK's default of 1 mm
  const auto silent = itk::GigapixelFileSource(Write(color.GetPointer(), folder.File("silent.mha")), stated);
  EXPECT_DOUBLE_EQ(silent.grid.spacing[1], 0.002);
}

TEST(GigapixelImageIOSource, MakesOneReaderForEachConcurrentRead)
{
  const TemporaryFolder folder{ "unet" };
  const auto            gray = NoiseImage(200, 100);
  const std::string     file = Write(gray.GetPointer(), folder.File("gray.mha"));
  std::atomic<int>      made{ 0 };
  const auto            source = itk::GigapixelImageIOSource(
    [&] {
      ++made;
      const auto io = itk::MetaImageIO::New();
      io->SetFileName(file);
      return itk::ImageIOBase::Pointer(io);
    },
    "gray");
  ExpectSameFromThreads(*source.pixels, Samples(*gray), 200, 100, 1);
  EXPECT_EQ(made, 1);
  ExpectSameFromThreads(*source.pixels, Samples(*gray), 200, 100, 4);
  EXPECT_LE(made, 4);
}

TEST(GigapixelImageIOSource, TakesLabelMapsThatFitInEightBits)
{
  using LabelImage = itk::Image<unsigned short, 2>;
  const TemporaryFolder folder{ "unet" };
  const auto            gray = NoiseImage(40, 30);
  const auto            cast = itk::CastImageFilter<GrayImage, LabelImage>::New();
  cast->SetInput(gray);
  cast->Update();
  const std::string file = Write(cast->GetOutput(), folder.File("labels.mha"));
  ExpectSameFromThreads(*itk::GigapixelFileSource(file).pixels, Samples(*gray), 40, 30);

  cast->GetOutput()->SetPixel({ { 3, 3 } }, 300);
  std::vector<std::uint8_t> samples(1200);
  const auto                source = itk::GigapixelFileSource(Write(cast->GetOutput(), folder.File("large.mha")));
  EXPECT_MESSAGE(source.pixels->Read(Region{ 0, 0, 40, 30 }, samples.data()),
                 folder.File("large.mha") + ": the value 300 does not fit in 8 bits");
}

/** A file of NRRD by hand: header, then bytes of 1. */
std::string
WriteNRRD(const std::string & file, const std::string & header, std::size_t bytes)
{
  std::ofstream(file, std::ios::binary) << "NRRD0004\ntype: uint8\nencoding: raw\n"
                                        << header << '\n'
                                        << std::string(bytes, '\1');
  return file;
}

TEST(GigapixelImageIOSource, SegmentationsHaveOneLayer)
{
  const TemporaryFolder folder{ "unet" };
  const std::string     place = "space: left-posterior-superior\nspace origin: (0,0,0)\n";
  const std::string     axes = "(0.001,0,0) (0,-0.002,0) (0,0,1)\nkinds: ";
  const std::string     segment = "Segment0_ID:=a\nSegment0_LabelValue:=1\nSegment0_Layer:=0\n";
  const auto            one = itk::GigapixelFileSource(
    WriteNRRD(folder.File("one.seg.nrrd"),
              "dimension: 3\nsizes: 4 3 1\n" + place + "space directions: " + axes + "domain domain domain\n" + segment,
              12));
  EXPECT_EQ(one.grid.size.width, 4);
  EXPECT_EQ(one.grid.size.height, 3);
  EXPECT_EQ(one.grid.spacing, (std::array<double, 2>{ { 0.001, 0.002 } }));
  EXPECT_EQ(one.grid.direction, (std::array<double, 4>{ { 1, 0, 0, -1 } }));
  const auto layers = [&](const std::string & name, const std::string & said) {
    return WriteNRRD(folder.File(name),
                     "dimension: 4\nsizes: 2 4 3 1\n" + place + "space directions: none " + axes +
                       "list domain domain domain\n" + said,
                     24);
  };
  EXPECT_MESSAGE(itk::GigapixelFileSource(layers("two.seg.nrrd", segment)),
                 folder.File("two.seg.nrrd") + ": its segments are in 2 layers, as 3D Slicer keeps those that overlap");
  EXPECT_EQ(itk::GigapixelFileSource(layers("two.nrrd", "")).pixels->GetNumberOfChannels(), 2u); // no segmentation
  EXPECT_MESSAGE(itk::GigapixelFileSource(WriteNRRD(folder.File("row.nrrd"), "dimension: 1\nsizes: 4\n", 4)),
                 "it has one axis");
  EXPECT_MESSAGE(itk::GigapixelFileSource(WriteNRRD(folder.File("stack.nrrd"), "dimension: 3\nsizes: 4 3 2\n", 24)),
                 "it has 2 slices");
  const auto   cut = itk::GigapixelFileSource(WriteNRRD(folder.File("cut.nrrd"), "dimension: 2\nsizes: 4 3\n", 5));
  std::uint8_t samples[12];
  try
  {
    cut.pixels->Read(Region{ 0, 0, 4, 3 }, samples);
    FAIL() << "it is cut off";
  }
  catch (const std::runtime_error & error)
  {
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find(folder.File("cut.nrrd")), std::string::npos);
    EXPECT_EQ(sentence.find("(0x"), std::string::npos);
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
  }
}

TEST(GigapixelImageIOSource, ErrorsNameTheFileInOneSentence)
{
  const TemporaryFolder folder{ "unet" };
  EXPECT_REFUSAL(itk::GigapixelFileSource(folder.File("none.mha")), "E-FILE-MISSING");
  std::ofstream(folder.File("text.mha")) << "no image";
  EXPECT_MESSAGE(itk::GigapixelFileSource(folder.File("text.mha")), folder.File("text.mha"));
  using FloatImage = itk::Image<float, 2>;
  const auto image = FloatImage::New();
  image->SetRegions(itk::Size<2>{ { 4, 4 } });
  image->Allocate(true);
  std::uint8_t samples[16];
  const auto   read = [&](float value, itk::HighSamples high) {
    image->GetBufferPointer()[5] = value;
    const auto source = itk::GigapixelMaskSource(Write(image.GetPointer(), folder.File("float.mha")), high);
    source.pixels->Read(Region{ 0, 0, 4, 4 }, samples);
    return samples[5];
  };
  EXPECT_EQ(read(7, itk::HighSamples::RefusedAsLabels), 7);
  EXPECT_EQ(read(256, itk::HighSamples::Are255), 255);
  EXPECT_REFUSAL(read(256, itk::HighSamples::RefusedAsLabels), "E-LABEL-VALUE");
  const auto readKept = [&](float value) {
    image->GetBufferPointer()[5] = value;
    const auto source =
      itk::GigapixelMaskSource(Write(image.GetPointer(), folder.File("float.mha")), itk::HighSamples::Kept);
    EXPECT_EQ(source.pixels->GetSampleType(), gigapixel::SampleType::UInt32);
    std::uint32_t kept[16];
    source.pixels->Read(Region{ 0, 0, 4, 4 }, reinterpret_cast<std::uint8_t *>(kept));
    return kept[5];
  };
  EXPECT_EQ(readKept(70000), 70000U);
  EXPECT_EQ(readKept(4294967040.F), 4294967040U); // the greatest float below 2^32
  EXPECT_REFUSAL(readKept(4294967296.F), "E-LABEL-VALUE");
  for (const auto high : { itk::HighSamples::RefusedAsLabels, itk::HighSamples::Are255, itk::HighSamples::Kept })
  {
    for (const float value :
         { 0.5F, -1.F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN() })
    {
      EXPECT_REFUSAL(read(value, high), "E-LABEL-VALUE") << value;
    }
  }
  itk::GigapixelResolution second;
  second.level = 1;
  EXPECT_REFUSAL(itk::GigapixelFileSource(folder.File("float.mha"), second), "E-SLIDE-LEVEL");
}

/** A MetaImage of 4 x 3 pixels. \param more lines before that of its pixels' place */
std::string
WriteMetaImage(const std::string & file,
               const std::string & more,
               const std::string & place,
               const std::string & pixels)
{
  std::ofstream(file, std::ios::binary) << "ObjectType = Image\nNDims = 2\nDimSize = 4 3\nElementType = MET_UCHAR\n"
                                        << more << "ElementDataFile" << place << '\n'
                                        << pixels;
  return file;
}

std::string
Compress(const std::string & bytes)
{
  std::string packed(compressBound(bytes.size()), '\0');
  uLongf      size = packed.size();
  compress(
    reinterpret_cast<Bytef *>(packed.data()), &size, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size());
  packed.resize(size);
  return packed;
}

TEST(GigapixelImageIOSource, MetaImagesThatAreCutShortAreRefused)
{
  const TemporaryFolder folder{ "unet" };
  const std::string     pixels = "abcdefghijkl";
  const std::string     packed = Compress(pixels);
  const std::string     packing = "CompressedData = True\nCompressedDataSize = " + std::to_string(packed.size()) + '\n';
  std::ofstream(folder.File("whole.raw")) << pixels;
  std::ofstream(folder.File("cut.raw")) << pixels.substr(1);
  const auto read = [](const std::string & file) {
    std::string samples(12, '\0');
    const auto  source = itk::GigapixelFileSource(file);
    for (std::int64_t y = 0; y < 3; ++y) // by parts, since some readers complain of sound files then
    {
      source.pixels->Read(Region{ 0, y, 4, 1 }, reinterpret_cast<std::uint8_t *>(samples.data() + 4 * y));
    }
    return samples;
  };
  const std::string file = folder.File("mask.mha");
  EXPECT_EQ(read(WriteMetaImage(file, "", " = LOCAL", pixels)), pixels);
  EXPECT_EQ(read(WriteMetaImage(file, packing, " = LOCAL", packed)), pixels);
  EXPECT_EQ(
    read(WriteMetaImage(file, "BinaryData = False\n", " = LOCAL", "97 98 99 100 101 102 103 104 105 106 107 108")),
    pixels);
  EXPECT_EQ(read(WriteMetaImage(file, "", ": whole.raw", "")), pixels);
  EXPECT_REFUSAL(read(WriteMetaImage(file, "", " = LOCAL", pixels.substr(1))), "E-FILE-DAMAGED");
  EXPECT_REFUSAL(read(WriteMetaImage(file, "", " = cut.raw", "")), "E-FILE-DAMAGED");
  EXPECT_REFUSAL(read(WriteMetaImage(file, "", ": cut.raw", "")), "E-FILE-DAMAGED");
  EXPECT_REFUSAL(read(WriteMetaImage(file, "BinaryData = False\n", " = LOCAL", "97 98")), "E-FILE-DAMAGED");
  EXPECT_REFUSAL(read(WriteMetaImage(file, packing, " = LOCAL", packed.substr(0, packed.size() / 2))),
                 "E-FILE-DAMAGED");
  EXPECT_REFUSAL(read(WriteMetaImage(file, "CompressedData = True\n", " = LOCAL", packed)), "E-FILE-DAMAGED");
  EXPECT_REFUSAL(read(WriteMetaImage(file, "", " = gone.raw", "")), "E-FILE-MISSING");
  mkfifo(folder.File("pipe.raw").c_str(), 0600);
  EXPECT_REFUSAL(read(WriteMetaImage(file, "", " = pipe.raw", "")), "E-FILE-KIND");
  std::ofstream(folder.File("pipe.nhdr")) << "NRRD0004\ntype: uchar\ndimension: 2\nsizes: 4 3\nencoding: raw\n"
                                          << "Data File: pipe.raw\n\n";
  EXPECT_REFUSAL(read(folder.File("pipe.nhdr")), "E-FILE-KIND");
}

TEST(AdaptChannels, GrayIsRec601)
{
  const auto                color = NoiseImage<ColorImage>(1024, 700); // more than one band
  const auto                source = AdaptChannels(itk::GigapixelImageSource(color.GetPointer()).pixels, 1, "color");
  std::vector<std::uint8_t> gray(1024 * 700);
  source->Read(Region{ 0, 0, 1024, 700 }, gray.data());
  const auto * rgb = Samples(*color);
  double       worst = 0;
  for (std::size_t i = 0; i < gray.size(); ++i)
  {
    const double luma = 0.299 * rgb[3 * i] + 0.587 * rgb[3 * i + 1] + 0.114 * rgb[3 * i + 2];
    worst = std::max(worst, std::abs(gray[i] - luma));
  }
  EXPECT_LE(worst, 0.5 + 3 * 255 * 0.5 / 65536); // rounding, and that of three 16-bit coefficients
  EXPECT_EQ(source->GetNumberOfChannels(), 1u);
  const auto same = itk::GigapixelImageSource(color.GetPointer()).pixels;
  EXPECT_EQ(AdaptChannels(same, 3, "color"), same);
  EXPECT_REFUSAL(AdaptChannels(source, 3, "gray.png"), "E-MODEL-INPUT");
}

} // namespace

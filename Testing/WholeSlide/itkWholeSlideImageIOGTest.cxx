/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Which files are read and what is said of them: geometry, properties, choice of levels, refusals.
#include "ReaderTesting.h"
#include "RefusalCode.h"

#include "TestData.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFreeMemory.h"

#include "itkImage.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkImageIOFactory.h"
#include "itkMetaDataObject.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkRGBPixel.h"
#include "itkTIFFImageIO.h"
#include "itkTIFFImageIOFactory.h"
#include "itkWholeSlideImageIOFactory.h"

#include <array>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <openslide.h>

using namespace gigapixel_test;

namespace
{

std::string
GetProperty(const itk::WholeSlideImageIO & io, const std::string & name)
{
  std::string value;
  itk::ExposeMetaData<std::string>(io.GetMetaDataDictionary(), name, value);
  return value;
}

/** What SOURCES.md says that the reader must do with a file. */
struct Expectation
{
  const char *                              file;
  bool                                      claimed;
  const char *                              refusal; // its code; null: it opens
  std::vector<std::array<std::uint64_t, 2>> levels;
  double                                    mpp;
  unsigned                                  components;
  const char *                              decoder;
  unsigned                                  associated;
};

const std::vector<Expectation> expectations = {
  { "slides/cmu-1-small-region.svs", true, nullptr, { { 2220, 2967 } }, 0.499, 3, "tiles (JPEG)", 3 },
  { "slides/CMU-1-Small-Region.jpeg.tiff", true, nullptr, { { 2220, 2967 } }, 0, 3, "tiles (JPEG)", 0 },
  { "slides/CMU-1-Small-Region.webp.tiff", true, nullptr, { { 2220, 2967 } }, 0, 3, "tiles (WebP)", 0 },
  { "slides/fluorescence-dapi.ndpi",
    true,
    nullptr,
    { { 3968, 4864 }, { 1984, 2432 }, { 992, 1216 }, { 496, 608 }, { 248, 304 }, { 124, 152 }, { 62, 76 } },
    0.228,
    3,
    "tiles (JPEG)",
    1 },
  { "slides/camelyon_B_1152x700.tif", true, nullptr, { { 1152, 700 }, { 576, 350 } }, 0, 3, "tiles (deflate)", 0 },
  { "dicom/multi_frame_jpeg_camelyon_challenge_image.dcm",
    true,
    nullptr,
    { { 1152, 700 } },
    0,
    3,
    "tiles (JPEG), DICOM",
    0 },
  { "malformed/CMU-1-Small-Region.jp2.tiff", true, nullptr, { { 2220, 2967 } }, 0, 3, "tiles (JPEG 2000)", 0 },
  { "malformed/small.svs", true, nullptr, { { 16, 16 } }, 0.499, 3, "tiles (JPEG)", 1 },
  { "malformed/boxes.tiff",
    true,
    nullptr,
    { { 300, 250 }, { 150, 125 }, { 75, 62 }, { 37, 31 } },
    0,
    3,
    "tiles (deflate)",
    0 },
  { "malformed/unopenable.tiff", true, "E-TIFF-CODEC", {}, 0, 0, "", 0 },
  { "malformed/broken.svs", false, "E-SLIDE-FORMAT", {}, 0, 0, "", 0 },
  { "tiff-edge-cases/yb10kx5k.zstd.tiff",
    true,
    nullptr,
    { { 10000, 5000 }, { 5000, 2500 }, { 2500, 1250 }, { 1250, 625 }, { 625, 312 } },
    0,
    3,
    "tiles (zstd)",
    0 },
  { "tiff-edge-cases/grey10kx5k.tif", false, nullptr, { { 10000, 5000 } }, 0, 1, "strips (deflate)", 0 },
  { "tiff-edge-cases/rgba_geotiff.tiff", false, nullptr, { { 600, 600 }, { 300, 300 } }, 0, 3, "tiles (LZW)", 0 },
  { "tiff-edge-cases/small_la.tiff", false, "E-TIFF-CODEC", {}, 0, 0, "", 0 },
  { "tiff-edge-cases/zero_gi.tif", false, "E-TIFF-FORMAT", {}, 0, 0, "", 0 }
};

/** With the nine files that differ in the orientation tag only; 0 is invalid and means 1. */
std::vector<Expectation>
GetExpectations()
{
  static const char * const names[] = { "tiff-edge-cases/test_orient0.tif", "tiff-edge-cases/test_orient1.tif",
                                        "tiff-edge-cases/test_orient2.tif", "tiff-edge-cases/test_orient3.tif",
                                        "tiff-edge-cases/test_orient4.tif", "tiff-edge-cases/test_orient5.tif",
                                        "tiff-edge-cases/test_orient6.tif", "tiff-edge-cases/test_orient7.tif",
                                        "tiff-edge-cases/test_orient8.tif" };
  std::vector<Expectation>  all = expectations;
  for (const char * const name : names)
  {
    all.push_back({ name, true, nullptr, { { 120, 180 }, { 60, 90 }, { 30, 45 } }, 0, 1, "tiles (JPEG)", 0 });
  }
  return all;
}

class RealFile : public testing::TestWithParam<Expectation>
{
};

TEST_P(RealFile, DoesWhatItMust)
{
  const Expectation & expected = GetParam();
  GIGAPIXEL_REAL_SLIDE(path, expected.file);
  const auto io = itk::WholeSlideImageIO::New();
  EXPECT_EQ(io->CanReadFile(path.c_str()), expected.claimed);
  io->SetFileName(path);
  const gigapixel::Diagnostic refusal = FindRefusal([&io] { io->ReadImageInformation(); });
  if (expected.refusal != nullptr)
  {
    EXPECT_EQ(refusal.code, expected.refusal) << refusal.GetText();
    EXPECT_EQ(refusal.file, path);
    EXPECT_FALSE(refusal.remedy.empty());
    return;
  }
  ASSERT_EQ(refusal.code, "") << refusal.GetText();
  ASSERT_EQ(io->GetNumberOfLevels(), expected.levels.size());
  for (unsigned level = 0; level < expected.levels.size(); ++level)
  {
    EXPECT_EQ(io->GetLevelSize(level)[0], expected.levels[level][0]);
    EXPECT_EQ(io->GetLevelSize(level)[1], expected.levels[level][1]);
    EXPECT_EQ(io->GetLevelDownsample(level), 1u << level);
    ReadLevel(*io, level, 3);
  }
  EXPECT_NEAR(io->GetMicronsPerPixel(), expected.mpp, 0.0005);
  EXPECT_EQ(io->GetNumberOfComponents(), expected.components);
  EXPECT_EQ(io->GetDecoder().find(expected.decoder), 0u) << io->GetDecoder();
  EXPECT_EQ(io->GetAssociatedImageNames().size(), expected.associated);
}

INSTANTIATE_TEST_SUITE_P(WholeSlideImageIO, RealFile, testing::ValuesIn(GetExpectations()), [](const auto & info) {
  std::string name = info.param.file;
  for (char & c : name)
  {
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name;
});

TEST(WholeSlideImageIO, UnreadableFailsCleanlyAgainAndAgain)
{
  GIGAPIXEL_REAL_SLIDE(path, "malformed/unreadable.svs");
  const auto io = OpenSlideFile(path);
  for (int i = 0; i < 3; ++i)
  {
    const std::string failure = GetFailure([&io] { ReadLevel(*io, 0, 3); });
    EXPECT_EQ(failure.find(path + ": the tile at 0,0 of level 0 cannot be decoded"), 0u) << failure;
  }
}

TEST(WholeSlideImageIO, NeglectsTheOrientationTagAndSaysSo)
{
  GIGAPIXEL_REAL_SLIDE(upright, "tiff-edge-cases/test_orient1.tif");
  GIGAPIXEL_REAL_SLIDE(turned, "tiff-edge-cases/test_orient6.tif");
  GIGAPIXEL_REAL_SLIDE(invalid, "tiff-edge-cases/test_orient0.tif");
  const auto io = OpenSlideFile(turned);
  EXPECT_EQ(GetProperty(*io, "tiff.Orientation"), "6");
  EXPECT_EQ(GetProperty(*OpenSlideFile(upright), "tiff.Orientation"), "1");
  EXPECT_EQ(GetProperty(*OpenSlideFile(invalid), "tiff.Orientation"), "1");
  EXPECT_TRUE(ReadLevel(*io, 0, 1) == ReadWithLibTIFF(turned, 0));
}

TEST(WholeSlideImageIO, PropertiesAreOpenSlides)
{
  for (const char * const name :
       { "slides/cmu-1-small-region.svs", "slides/fluorescence-dapi.ndpi", "slides/CMU-1-Small-Region.jpeg.tiff" })
  {
    GIGAPIXEL_REAL_SLIDE(path, name);
    const auto          io = OpenSlideFile(path);
    openslide_t * const slide = openslide_open(path.c_str());
    for (const char * const * property = openslide_get_property_names(slide); *property != nullptr; ++property)
    {
      if (std::string(*property) == "openslide.quickhash-1")
      {
        continue; // of the pixels, which opening does not read
      }
      const std::string property_value = openslide_get_property_value(slide, *property);
      const std::string ours = GetProperty(*io, *property);
      if (std::string(*property).find(".downsample") == std::string::npos)
      {
        EXPECT_EQ(ours, property_value) << *property;
      }
      else
      {
        EXPECT_EQ(std::stod(ours), std::stod(property_value)) << *property;
      }
    }
    openslide_close(slide);
  }
}

TEST(WholeSlideImageIO, AperioPropertiesWithoutOpenSlide)
{
  // Aperio's words over a compression that OpenSlide does not know: the properties are ours.
  const std::string path = TemporaryFile("unknown-to-openslide.svs");
  WriteJPEG2000(path,
                MakePicture(64, 64, 3, 1),
                64,
                34712,
                PHOTOMETRIC_RGB,
                true,
                "Aperio Image Library v1\n64x64 (64x64)|AppMag = 40|MPP = 0.2520|Filename = a b");
  openslide_t * const slide = openslide_open(path.c_str());
  ASSERT_TRUE(slide == nullptr || openslide_get_error(slide) != nullptr);
  if (slide != nullptr)
  {
    openslide_close(slide);
  }
  const auto io = OpenSlideFile(path);
  EXPECT_EQ(io->GetVendor(), "aperio");
  EXPECT_EQ(GetProperty(*io, "aperio.AppMag"), "40");
  EXPECT_EQ(GetProperty(*io, "aperio.MPP"), "0.2520");
  EXPECT_EQ(GetProperty(*io, "aperio.Filename"), "a b");
  EXPECT_EQ(GetProperty(*io, "openslide.objective-power"), "40");
  EXPECT_EQ(std::stod(GetProperty(*io, "openslide.mpp-x")), 0.252);
  EXPECT_EQ(io->GetMicronsPerPixel(), 0.252);
}

TEST(WholeSlideImageIO, ColorProfileIsInTheDictionary)
{
  GIGAPIXEL_REAL_SLIDE(path, "malformed/boxes.tiff");
  const std::string profile = GetProperty(*OpenSlideFile(path), "ICCProfile");
  // 588 bytes (tiffinfo) in base64.
  EXPECT_EQ(profile.size(), (588 + 2) / 3 * 4u);
}

TEST(WholeSlideImageIO, GeometryIsInMillimetersAndCentered)
{
  PyramidOptions options;
  options.width = 701; // levels of 701, 350, 175: integers up to rounding
  options.height = 503;
  options.pixelsPerCentimeter = 40000;
  const std::string path = TemporaryFile("geometry.tif");
  WritePyramid(path, options);
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(path);
  for (unsigned level = 0; level < 3; ++level)
  {
    io->SetLevel(level);
    io->ReadImageInformation();
    const double downsample = 1u << level;
    EXPECT_EQ(io->GetNumberOfDimensions(), 2u);
    EXPECT_EQ(io->GetDimensions(0), 701u >> level);
    EXPECT_EQ(io->GetDimensions(1), 503u >> level);
    EXPECT_EQ(io->GetLevel(), level);
    for (unsigned axis = 0; axis < 2; ++axis)
    {
      EXPECT_DOUBLE_EQ(io->GetSpacing(axis), 0.00025 * downsample);
      EXPECT_DOUBLE_EQ(io->GetOrigin(axis), (downsample - 1) / 2 * 0.00025);
    }
    EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 0.25 * downsample);
  }
}

TEST(WholeSlideImageIO, ImplausibleResolutionIsUnknownUnlessStated)
{
  PyramidOptions options;
  options.pixelsPerCentimeter = 300;
  const std::string path = TemporaryFile("implausible.tif");
  WritePyramid(path, options);
  testing::internal::CaptureStderr();
  const auto        io = OpenSlideFile(path);
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_NE(warning.find("[W-SLIDE-RESOLUTION]"), std::string::npos) << warning;
  EXPECT_EQ(io->GetMicronsPerPixel(), 0.0);
  EXPECT_EQ(io->GetSpacing(0), 1.0);
  EXPECT_EQ(io->GetOrigin(0), 0.0);
  testing::internal::CaptureStderr();
  io->ReadImageInformation();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "warned twice";

  io->SetMicronsPerPixel(1.0);
  EXPECT_NE(GetFailure([&io] { io->ReadImageInformation(); }).find("SetLevelZeroMicronsPerPixel"), std::string::npos);
  io->SetLevelZeroMicronsPerPixel(0.5);
  io->ReadImageInformation();
  EXPECT_EQ(io->GetLevel(), 1u);
  EXPECT_DOUBLE_EQ(io->GetSpacing(1), 0.001);
}

TEST(WholeSlideImageIO, TheFilesPlausibleResolutionStays)
{
  const std::string path = TemporaryFile("stays.tif");
  WritePyramid(path, PyramidOptions()); // 0.5 micrometers
  const auto io = OpenSlideFile(path);
  io->SetLevelZeroMicronsPerPixel(0.25);
  io->ReadImageInformation();
  EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 0.5);
}

/** A mask of a part of a slide stands where it was cut out: our pyramids say it, since TIFF cannot. */
TEST(WholeSlideImageIO, ReadsTheOriginThatOurPyramidsTell)
{
  using ImageType = itk::Image<unsigned char, 2>;
  const auto image = ImageType::New();
  image->SetRegions(ImageType::SizeType{ { 600, 700 } });
  image->Allocate();
  image->FillBuffer(255);
  const double spacing[2] = { 0.004, 0.004 };
  const double origin[2] = { 1.2345678901234567, -0.25 };
  image->SetSpacing(spacing);
  image->SetOrigin(origin);
  const std::string path = TemporaryFile("origin.pyramid.tif");
  const auto        writer = itk::ImageFileWriter<ImageType>::New();
  writer->SetImageIO(itk::PyramidTIFFImageIO::New());
  writer->SetFileName(path);
  writer->SetInput(image);
  writer->Update();

  const auto io = OpenSlideFile(path);
  for (unsigned level = 0; level < 2; ++level)
  {
    io->SetLevel(level);
    io->ReadImageInformation();
    for (unsigned axis = 0; axis < 2; ++axis)
    {
      EXPECT_NEAR(io->GetOrigin(axis), origin[axis] + level * 0.002, 1e-12);
    }
  }
}

TEST(WholeSlideImageIO, ChoosesTheCoarsestLevelThatIsFineEnough)
{
  PyramidOptions options; // 0.5, 1, 2 micrometers
  options.levels = 3;
  const std::string path = TemporaryFile("choose.tif");
  WritePyramid(path, options);
  const auto io = OpenSlideFile(path);
  const auto choose = [&io] {
    io->ReadImageInformation();
    return io->GetLevel();
  };
  const struct
  {
    double   asked;
    unsigned level;
  } downsamples[] = { { 0.5, 0 }, { 1.0, 0 },  { 1.81, 0 }, { 1.82, 1 }, { 1.85, 1 },
                      { 2.0, 1 }, { 3.63, 1 }, { 3.64, 2 }, { 100, 2 } };
  for (const auto & downsample : downsamples)
  {
    io->SetDownsample(downsample.asked);
    EXPECT_EQ(choose(), downsample.level) << downsample.asked;
  }
  io->SetLevel(2);
  EXPECT_EQ(choose(), 2u);
  io->SetLevel(3);
  const gigapixel::Diagnostic refusal = FindRefusal(choose);
  EXPECT_EQ(refusal.code, "E-SLIDE-LEVEL");
  EXPECT_EQ(refusal.value, "3");
}

TEST(FreeMemory, FilesThatTheKernelKeepsAreFreeAndEveryGroupAboveBinds)
{
  const std::string root = TemporaryFile("machine") + '/';
  const auto        put = [&root](const std::string & name, const std::string & text) {
    std::filesystem::create_directories(std::filesystem::path(root + name).parent_path());
    std::ofstream(root + name) << text;
  };
  put("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n");
  put("proc/self/cgroup", "1:cpu:/else\n0::/outer/inner\n");
  EXPECT_EQ(gigapixel::GetFreeMemory(root), 8000u * 1024);
  const std::string inner = "sys/fs/cgroup/outer/inner/";
  put(inner + "memory.max", "1000000\n");
  put(inner + "memory.current", "900000\n");
  put(inner + "memory.stat", "anon 200000\nfile 700000\ninactive_file 400000\nactive_file 300000\n");
  EXPECT_EQ(gigapixel::GetFreeMemory(root), 800000u);
  put("sys/fs/cgroup/outer/memory.max", "500000\n");
  put("sys/fs/cgroup/outer/memory.current", "450000\n");
  EXPECT_EQ(gigapixel::GetFreeMemory(root), 50000u);
  put("sys/fs/cgroup/outer/memory.max", "max\n");
  EXPECT_EQ(gigapixel::GetFreeMemory(root), 800000u);
}

TEST(WholeSlideImageIO, RefusesWhatDoesNotFitMemory)
{
  // A million pixels a side, nothing of it stored: 3 TB in one piece, but any region of it can be read.
  const std::string path = TemporaryFile("huge.tif");
  TIFF * const      file = TIFFOpen(path.c_str(), "w8");
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 1000000);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, 1000000);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 3);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
  TIFFSetField(file, TIFFTAG_TILEWIDTH, 4096);
  TIFFSetField(file, TIFFTAG_TILELENGTH, 4096);
  TIFFWriteCheck(file, 1, "fixture");
  TIFFWriteDirectory(file);
  TIFFClose(file);

  using ImageType = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  const auto reader = itk::ImageFileReader<ImageType>::New();
  reader->SetFileName(path);
  reader->SetImageIO(itk::WholeSlideImageIO::New());
  EXPECT_REFUSAL(reader->Update(), "E-MEMORY");
  EXPECT_EQ(reader->GetOutput()->GetBufferPointer(), nullptr);

  const ImageType::RegionType region({ { 999000, 500000 } }, { { 1000, 100 } });
  reader->GetOutput()->SetRequestedRegion(region);
  reader->GetOutput()->Update();
  EXPECT_EQ(reader->GetOutput()->GetBufferedRegion(), region);
  EXPECT_EQ(reader->GetOutput()->GetPixel(region.GetIndex())[1], 255);
}

TEST(WholeSlideImageIO, RefusesRegionsOutsideTheLevel)
{
  const std::string path = TemporaryFile("outside.tif");
  WritePyramid(path, PyramidOptions());
  const auto                 io = OpenSlideFile(path);
  std::vector<unsigned char> pixels(100 * 100 * 3);
  EXPECT_REFUSAL(io->ReadRegion(0, 650, 0, 100, 100, 3, pixels.data()), "E-REGION");
  EXPECT_REFUSAL(io->ReadRegion(3, 0, 0, 1, 1, 3, pixels.data()), "E-SLIDE-LEVEL");
  io->SetAssociatedImage("label");
  EXPECT_REFUSAL(io->ReadImageInformation(), "E-SLIDE-IMAGE");
}

TEST(WholeSlideImageIO, AReplacedFileIsReadAnew)
{
  const std::string path = TemporaryFile("replaced.tif");
  PyramidOptions    options;
  options.levels = 1;
  WritePyramid(path, options);
  const auto before = OpenSlideFile(path);
  options.width = 500;
  WritePyramid(path + ".new", options);
  std::rename((path + ".new").c_str(), path.c_str());
  EXPECT_EQ(OpenSlideFile(path)->GetLevelSize(0)[0], 500u);
  EXPECT_EQ(ReadLevel(*before, 0, 3).width, 700u); // the open one stays as it was
}

template <typename TImage>
void
ExpectReadByITK(const typename TImage::SizeType & size)
{
  const std::string path = TemporaryFile("itk.tif");
  const auto        image = TImage::New();
  image->SetRegions(size);
  image->Allocate();
  auto * const pixels = image->GetBufferPointer();
  const auto   count = image->GetLargestPossibleRegion().GetNumberOfPixels();
  for (std::size_t i = 0; i < count; ++i)
  {
    pixels[i] = static_cast<typename TImage::PixelType>(i * 7 % 251);
  }
  const auto writer = itk::ImageFileWriter<TImage>::New();
  writer->SetImageIO(itk::TIFFImageIO::New());
  writer->SetInput(image);
  writer->SetFileName(path);
  writer->Update();

  EXPECT_FALSE(itk::WholeSlideImageIO::New()->CanReadFile(path.c_str()));
  const auto io = itk::ImageIOFactory::CreateImageIO(path.c_str(), itk::IOFileModeEnum::ReadMode);
  ASSERT_STREQ(io->GetNameOfClass(), "TIFFImageIO");
  io->SetFileName(path);
  io->ReadImageInformation();
  EXPECT_EQ(io->GetNumberOfDimensions(), TImage::ImageDimension);
  EXPECT_EQ(io->GetComponentType(), itk::ImageIOBase::MapPixelType<typename TImage::PixelType>::CType);
  const auto reader = itk::ImageFileReader<TImage>::New();
  reader->SetFileName(path);
  reader->Update();
  EXPECT_TRUE(std::equal(pixels, pixels + count, reader->GetOutput()->GetBufferPointer()));
}

TEST(WholeSlideImageIOFactory, LeavesITKsOwnTIFFsToITK)
{
  itk::TIFFImageIOFactory::RegisterOneFactory();
  itk::WholeSlideImageIOFactory::RegisterOneFactory();
  ExpectReadByITK<itk::Image<unsigned char, 3>>({ { 70, 50, 4 } });
  ExpectReadByITK<itk::Image<unsigned char, 2>>({ { 70, 50 } });
  ExpectReadByITK<itk::Image<unsigned short, 2>>({ { 70, 50 } });
  ExpectReadByITK<itk::Image<unsigned short, 3>>({ { 70, 50, 3 } });
  ExpectReadByITK<itk::Image<float, 2>>({ { 70, 50 } });
}

TEST(WholeSlideImageIOFactory, StacksAreReadByName)
{
  PyramidOptions options;
  options.levels = 1;
  const std::string path = TemporaryFile("stack.tif");
  TIFF * const      file = TIFFOpen(path.c_str(), "w");
  for (int page = 0; page < 2; ++page)
  {
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 64);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, 32);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(file, TIFFTAG_TILEWIDTH, 64);
    TIFFSetField(file, TIFFTAG_TILELENGTH, 32);
    std::vector<unsigned char> pixels(64 * 32, static_cast<unsigned char>(page + 1));
    TIFFWriteEncodedTile(file, 0, pixels.data(), 64 * 32);
    TIFFWriteDirectory(file);
  }
  TIFFClose(file);
  const auto io = OpenSlideFile(path);
  EXPECT_FALSE(io->CanReadFile(path.c_str()));
  EXPECT_EQ(io->GetNumberOfLevels(), 1u);
  EXPECT_EQ(ReadLevel(*io, 0, 1).pixels[0], 1);
  EXPECT_TRUE(io->GetAssociatedImageNames().empty());
  ASSERT_EQ(io->GetImages().size(), 2u);
  EXPECT_TRUE(io->GetImages().front().isRead);
  io->SetImage("2");
  io->ReadImageInformation();
  EXPECT_TRUE(io->GetImages().back().isRead);
  EXPECT_EQ(ReadLevel(*io, 0, 1).pixels[0], 2);
  io->SetImage("3");
  try
  {
    io->ReadImageInformation();
    FAIL() << "image 3 is read";
  }
  catch (const itk::ExceptionObject & error)
  {
    const gigapixel::Diagnostic diagnostic = gigapixel::Diagnostic::Of(error);
    EXPECT_EQ(diagnostic.code, "E-SLIDE-IMAGE");
    EXPECT_EQ(diagnostic.value, "3");
    EXPECT_EQ(diagnostic.file, path);
  }
}

TEST(WholeSlideImageIOFactory, ComesBeforeITKsReader)
{
  itk::TIFFImageIOFactory::RegisterOneFactory();
  itk::WholeSlideImageIOFactory::RegisterOneFactory();
  itk::WholeSlideImageIOFactory::RegisterOneFactory();
  const std::string path = TemporaryFile("front.tif");
  WritePyramid(path, PyramidOptions());
  const auto io = itk::ImageIOFactory::CreateImageIO(path.c_str(), itk::IOFileModeEnum::ReadMode);
  EXPECT_STREQ(io->GetNameOfClass(), "WholeSlideImageIO");
  unsigned registered = 0;
  for (const auto * factory : itk::ObjectFactoryBase::GetRegisteredFactories())
  {
    registered += std::string(factory->GetNameOfClass()) == "WholeSlideImageIOFactory" ? 1 : 0;
  }
  EXPECT_EQ(registered, 1u);
}

} // namespace

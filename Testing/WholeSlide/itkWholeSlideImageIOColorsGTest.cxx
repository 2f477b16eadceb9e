/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Gray by both of its definitions, and colors converted to sRGB, against closed forms.
#include "ReaderTesting.h"
#include "TestData.h"

#include "itkMetaDataObject.h"
#include "itkPyramidTIFFConverter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include <lcms2.h>

using namespace gigapixel_test;

namespace
{

/** Rec. 601 of RGB in 16-bit fixed point, rounded. */
Picture
MakeGray(const Picture & rgb)
{
  Picture gray{ rgb.width, rgb.height, 1, {} };
  for (std::size_t i = 0; i < rgb.pixels.size(); i += 3)
  {
    const double luma = (19595 * rgb.pixels[i] + 38470 * rgb.pixels[i + 1] + 7471 * rgb.pixels[i + 2]) / 65536.0;
    gray.pixels.push_back(static_cast<unsigned char>(std::floor(luma + 0.5)));
  }
  return gray;
}

int
GetLargestDifference(const Picture & a, const Picture & b)
{
  int largest = a.pixels.size() == b.pixels.size() ? 0 : 256;
  for (std::size_t i = 0; i < std::min(a.pixels.size(), b.pixels.size()); ++i)
  {
    largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  }
  return largest;
}

std::string
GetEntry(const itk::ImageIOBase & io, const std::string & key)
{
  std::string value;
  itk::ExposeMetaData<std::string>(io.GetMetaDataDictionary(), key, value);
  return value;
}

std::string
WriteYCbCrSlide(const std::string & name)
{
  PyramidOptions options;
  options.compression = COMPRESSION_JPEG;
  options.photometric = PHOTOMETRIC_YCBCR;
  options.levels = 1;
  std::string path = TemporaryFile(name);
  WritePyramid(path, options);
  return path;
}

/** sRGB's primaries and white, but light itself in place of its curve: each channel is converted alone. */
std::string
MakeLinearProfile()
{
  const cmsCIExyY       white{ 0.3127, 0.3290, 1.0 };
  const cmsCIExyYTRIPLE primaries{ { 0.64, 0.33, 1.0 }, { 0.30, 0.60, 1.0 }, { 0.15, 0.06, 1.0 } };
  cmsToneCurve *        line = cmsBuildGamma(nullptr, 1.0);
  cmsToneCurve *        curves[] = { line, line, line };
  void * const          profile = cmsCreateRGBProfile(&white, &primaries, curves);
  cmsUInt32Number       size = 0;
  cmsSaveProfileToMem(profile, nullptr, &size);
  std::string bytes(size, '\0');
  cmsSaveProfileToMem(profile, &bytes[0], &size);
  cmsCloseProfile(profile);
  cmsFreeToneCurve(line);
  return bytes;
}

/** IEC 61966-2-1: the code of an amount of light, both 0 to 255. */
double
EncodeSRGB(double light)
{
  const double x = light / 255.0;
  return 255.0 * (x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055);
}

std::string
WriteSlideWithProfile(const std::string & name, const std::string & profile)
{
  PyramidOptions options;
  options.leaveOutFirstTile = true;
  options.colorProfile = profile;
  std::string path = TemporaryFile(name);
  WritePyramid(path, options);
  return path;
}

} // namespace

TEST(WholeSlideImageIOColors, GrayFromRGBIsThatOfTheColorsThatAreRead)
{
  const auto io = OpenSlideFile(WriteYCbCrSlide("gray.tif"));
  ASSERT_EQ(io->GetNumberOfReducedLevels(), 3u);
  for (unsigned level = 0; level < 4; ++level)
  {
    io->GrayFromRGBOff();
    const Picture luma = ReadLevel(*io, level, 1);
    const Picture expected = MakeGray(ReadLevel(*io, level, 3));
    io->GrayFromRGBOn();
    EXPECT_TRUE(ReadLevel(*io, level, 1) == expected) << level;
    // The picture's colors are of all kinds: some lie outside of what RGB can hold; means do less.
    EXPECT_GT(GetLargestDifference(luma, expected), level == 0 ? 1 : -1);
  }
}

TEST(WholeSlideImageIOColors, GrayFromRGBIsTheSameInAnyRegion)
{
  const auto io = OpenSlideFile(WriteYCbCrSlide("gray-regions.tif"));
  io->GrayOn();
  io->GrayFromRGBOn();
  io->ReadImageInformation();
  const Picture      whole = ReadLevel(*io, 0, 1);
  Picture            part{ 301, 211, 1, std::vector<unsigned char>(301 * 211) };
  itk::ImageIORegion region(2);
  constexpr unsigned left = 67;
  constexpr unsigned top = 101;
  region.SetIndex(0, left);
  region.SetIndex(1, top);
  region.SetSize(0, part.width);
  region.SetSize(1, part.height);
  io->SetIORegion(region);
  io->Read(part.pixels.data());
  for (std::size_t y = 0; y < part.height; ++y)
  {
    EXPECT_TRUE(std::equal(part.pixels.begin() + static_cast<std::ptrdiff_t>(y * part.width),
                           part.pixels.begin() + static_cast<std::ptrdiff_t>((y + 1) * part.width),
                           whole.pixels.begin() + static_cast<std::ptrdiff_t>((top + y) * whole.width + left)))
      << y;
  }
}

/** What the class says of real slides. */
TEST(WholeSlideImageIOColors, LumaAndGrayFromRGBDifferByWhatIsDocumented)
{
  GIGAPIXEL_REAL_SLIDE(path, "slides/CMU-1-Small-Region.jpeg.tiff");
  const auto    io = OpenSlideFile(path);
  const Picture luma = ReadLevel(*io, 0, 1);
  io->GrayFromRGBOn();
  const Picture gray = ReadLevel(*io, 0, 1);
  std::size_t   equal = 0;
  for (std::size_t i = 0; i < luma.pixels.size(); ++i)
  {
    equal += luma.pixels[i] == gray.pixels[i] ? 1 : 0;
  }
  EXPECT_EQ(GetLargestDifference(luma, gray), 22);
  EXPECT_GT(static_cast<double>(equal) / static_cast<double>(luma.pixels.size()), 0.98);
}

TEST(WholeSlideImageIOColors, SRGBOfALinearProfileIsItsCurve)
{
  const std::string path = WriteSlideWithProfile("linear.tif", MakeLinearProfile());
  const auto        io = OpenSlideFile(path);
  EXPECT_FALSE(GetEntry(*io, "ICCProfile").empty());
  const Picture stored = ReadLevel(*io, 0, 3);
  io->ConvertToSRGBOn();
  io->ReadImageInformation();
  EXPECT_EQ(GetEntry(*io, "ICCProfile"), "");
  EXPECT_EQ(GetEntry(*io, "gigapixel.colors"), "sRGB");
  const Picture converted = ReadLevel(*io, 0, 3);
  double        worst = 0;
  for (std::size_t i = 0; i < stored.pixels.size(); ++i)
  {
    worst = std::max(worst, std::abs(converted.pixels[i] - EncodeSRGB(stored.pixels[i])));
  }
  // Little CMS rounds matrices and curves to 14 bit; near black sRGB's curve makes 13 of one step.
  EXPECT_LT(worst, 1.5);
  EXPECT_EQ(converted.pixels.front(), 255) << "what nobody scanned stays white";
  EXPECT_TRUE(ReadLevel(*io, 0, 1) == MakeGray(converted));
}

TEST(WholeSlideImageIOColors, WithoutProfileNothingIsConverted)
{
  const auto    io = OpenSlideFile(WriteSlideWithProfile("plain.tif", {}));
  const Picture stored = ReadLevel(*io, 0, 3);
  io->ConvertToSRGBOn();
  io->ReadImageInformation();
  EXPECT_TRUE(ReadLevel(*io, 0, 3) == stored);
  EXPECT_EQ(GetEntry(*io, "gigapixel.colors"), "");
}

TEST(WholeSlideImageIOColors, DamagedProfilesAreNamedWhereTheyMatterOnly)
{
  const std::string path = WriteSlideWithProfile("damaged.tif", "no profile at all, but bytes enough to be asked");
  const auto        io = OpenSlideFile(path);
  io->ConvertToSRGBOn();
  const std::string sentence = GetFailure([&] { io->ReadImageInformation(); });
  EXPECT_NE(sentence.find(path + ": its color profile is damaged; "), std::string::npos) << sentence;
}

TEST(WholeSlideImageIOColors, ConvertingASlideToSRGBCopiesNoTile)
{
  const auto slide = OpenSlideFile(WriteSlideWithProfile("convert.tif", MakeLinearProfile()));
  slide->ConvertToSRGBOn();
  slide->ReadImageInformation();
  const auto out = itk::PyramidTIFFImageIO::New();
  out->SetFileName(TemporaryFile("converted.tif"));
  const auto converter = itk::PyramidTIFFConverter::New();
  converter->SetSlide(slide);
  converter->SetImageIO(out);
  converter->Update();
  EXPECT_EQ(converter->GetNumberOfCopiedTiles(), 0u);
  const auto pyramid = OpenSlideFile(out->GetFileName());
  EXPECT_EQ(GetEntry(*pyramid, "ICCProfile"), "");
  EXPECT_TRUE(ReadLevel(*pyramid, 0, 3) == ReadLevel(*slide, 0, 3));
}

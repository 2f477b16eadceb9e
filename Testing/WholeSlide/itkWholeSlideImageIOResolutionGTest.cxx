/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Pixels of a resolution that no level has, against the plain formula: sums over all pixels that one covers.
#include "ReaderTesting.h"
#include "RefusalCode.h"

#include "itkImageFileWriter.h"
#include "itkPyramidTIFFImageIO.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

using itk::SizeValueType;

/** Edges of pixels in 1/1024 of the level's, or in whole ones where a pixel covers 250 or more. */
struct Edges
{
  std::int64_t              parts;
  std::vector<std::int64_t> at;

  Edges(std::uint32_t length, double factor)
    : parts(factor < 250 ? 1024 : 1)
  {
    const auto count = std::max(1.0, std::ceil(length / factor - 0.01));
    for (double pixel = 0; pixel <= count; ++pixel)
    {
      const auto edge = static_cast<std::int64_t>(std::nearbyint(pixel * factor * static_cast<double>(parts)));
      at.push_back(std::min(edge, length * parts));
    }
  }

  /** How much of a pixel of the level lies between two edges. */
  std::int64_t
  GetCover(std::size_t pixel, std::int64_t of) const
  {
    const std::int64_t begin = std::max(at[pixel], of * parts);
    return std::max<std::int64_t>(0, std::min(at[pixel + 1], (of + 1) * parts) - begin);
  }
};

Picture
Average(const Picture & level, double factorX, double factorY)
{
  const Edges x(level.width, factorX);
  const Edges y(level.height, factorY);
  Picture     result;
  result.width = static_cast<std::uint32_t>(x.at.size() - 1);
  result.height = static_cast<std::uint32_t>(y.at.size() - 1);
  result.channels = level.channels;
  for (std::size_t j = 0; j < result.height; ++j)
  {
    for (std::size_t i = 0; i < result.width; ++i)
    {
      for (unsigned channel = 0; channel < level.channels; ++channel)
      {
        std::int64_t       sum = 0;
        const std::int64_t area = (x.at[i + 1] - x.at[i]) * (y.at[j + 1] - y.at[j]);
        for (std::int64_t v = y.at[j] / y.parts; v * y.parts < y.at[j + 1]; ++v)
        {
          for (std::int64_t u = x.at[i] / x.parts; u * x.parts < x.at[i + 1]; ++u)
          {
            const auto place = static_cast<std::size_t>(v * level.width + u) * level.channels + channel;
            sum += x.GetCover(i, u) * y.GetCover(j, v) * level.pixels[place];
          }
        }
        result.pixels.push_back(static_cast<unsigned char>((2 * sum + area) / (2 * area))); // halves up
      }
    }
  }
  return result;
}

Picture
Read(itk::WholeSlideImageIO & io)
{
  Picture picture{ static_cast<std::uint32_t>(io.GetDimensions(0)),
                   static_cast<std::uint32_t>(io.GetDimensions(1)),
                   io.GetNumberOfComponents(),
                   {} };
  picture.pixels.resize(std::size_t{ picture.width } * picture.height * picture.channels);
  io.SetIORegion(itk::ImageIORegion(2));
  io.Read(picture.pixels.data());
  return picture;
}

TEST(WholeSlideResolution, EachPixelIsTheMeanOfItsArea)
{
  const std::string path = TemporaryFile("resolution.tif");
  WritePyramid(path, PyramidOptions()); // 700 x 500, of 0.5, 1 and 2 micrometers
  const auto io = OpenSlideFile(path);
  const struct
  {
    double   mpp;
    unsigned source;
  } cases[] = { { 0.46, 0 }, { 0.501, 0 }, { 0.7, 0 }, { 0.999, 0 }, { 1.25, 1 }, { 1.997, 1 },
                { 7.77, 2 }, { 40, 2 },    { 499, 2 }, { 600, 2 },   { 1e5, 2 } };
  for (const auto & one : cases)
  {
    SCOPED_TRACE(one.mpp);
    io->SetMicronsPerPixel(one.mpp);
    io->ReadImageInformation();
    ASSERT_TRUE(io->IsResampled());
    EXPECT_EQ(io->GetSourceLevel(), one.source);
    const double factor = one.mpp / (0.5 * (1u << one.source));
    EXPECT_TRUE(Read(*io) == Average(ReadWithLibTIFF(path, one.source), factor, factor));
    EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), one.mpp);
    EXPECT_DOUBLE_EQ(io->GetLevelDownsample(io->GetLevel()), one.mpp / 0.5);
    for (unsigned axis = 0; axis < 2; ++axis)
    {
      EXPECT_DOUBLE_EQ(io->GetSpacing(axis), one.mpp / 1000);
      EXPECT_NEAR(io->GetOrigin(axis) - io->GetSpacing(axis) / 2, -0.00025, 1e-12); // where the slide begins
    }
  }
}

TEST(WholeSlideResolution, ALevelOfTheResolutionIsReadAsItIs)
{
  const std::string path = TemporaryFile("of-level.tif");
  WritePyramid(path, PyramidOptions());
  const auto io = OpenSlideFile(path);
  for (unsigned level = 0; level < 3; ++level)
  {
    for (const double off : { 1.0, 1.0006, 0.9994 }) // less than half a pixel over 700
    {
      io->SetMicronsPerPixel(off * 0.5 * (1u << level));
      io->ReadImageInformation();
      EXPECT_FALSE(io->IsResampled());
      EXPECT_EQ(io->GetLevel(), level);
      EXPECT_TRUE(Read(*io) == ReadWithLibTIFF(path, level));
    }
  }
  for (const double mpp : { 0.95, 1.09 }) // to whom 10 % are little
  {
    io->SetMicronsPerPixel(mpp, 0.1);
    io->ReadImageInformation();
    EXPECT_EQ(io->GetLevel(), 1u) << mpp;
    EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 1.0);
  }
  io->SetMicronsPerPixel(1.5, 0.1);
  io->ReadImageInformation();
  EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 1.5);
}

/** Whatever is asked for in pieces: bands, rectangles in any order, by several readers. */
TEST(WholeSlideResolution, RegionsHaveThePixelsOfTheWhole)
{
  for (const bool strips : { false, true })
  {
    PyramidOptions options;
    options.width = 4500; // more than a piece that is averaged at a time
    options.height = 2600;
    options.levels = 1;
    options.strips = strips;
    options.compression = COMPRESSION_JPEG;
    options.photometric = PHOTOMETRIC_YCBCR;
    const std::string path = TemporaryFile("regions.tif");
    WritePyramid(path, options);
    for (const double mpp : { 0.7, 3.3 })
    {
      SCOPED_TRACE(mpp);
      const auto io = itk::WholeSlideImageIO::New();
      io->SetFileName(path);
      io->SetMicronsPerPixel(mpp);
      io->ReadImageInformation();
      const Picture whole = Read(*io);
      EXPECT_TRUE(whole == Average(ReadLevel(*io, 0, 3), mpp / 0.5, mpp / 0.5));
      std::mt19937 random(5);
      for (unsigned repeat = 0; repeat < 20; ++repeat)
      {
        const SizeValueType        x = random() % whole.width, y = random() % whole.height;
        const SizeValueType        width = 1 + random() % (whole.width - x), height = 1 + random() % (whole.height - y);
        std::vector<unsigned char> part(width * height * 3), expected;
        if (repeat % 2 == 0)
        {
          io->ReadRegion(io->GetLevel(), x, y, width, height, 3, part.data());
        }
        else
        {
          itk::ImageIORegion region(2);
          region.SetIndex({ static_cast<itk::IndexValueType>(x), static_cast<itk::IndexValueType>(y) });
          region.SetSize({ width, height });
          io->SetIORegion(region);
          io->Read(part.data());
        }
        for (SizeValueType row = y; row < y + height; ++row)
        {
          const auto begin = whole.pixels.begin() + static_cast<std::ptrdiff_t>((row * whole.width + x) * 3);
          expected.insert(expected.end(), begin, begin + static_cast<std::ptrdiff_t>(width * 3));
        }
        EXPECT_EQ(part, expected) << x << ',' << y << ',' << width << ',' << height;
      }
      std::vector<unsigned char> beyond(whole.pixels.size());
      EXPECT_REFUSAL(io->ReadRegion(io->GetLevel(), 1, 0, whole.width, 1, 3, beyond.data()), "E-REGION");
      // A thread keeps some rows, not the level.
      EXPECT_LT(io->GetDecodingBytes(io->GetLevel()), SizeValueType{ 4500 } * 2600 * 3 / 2);
    }
  }
}

TEST(WholeSlideResolution, GrayIsAveragedAsGray)
{
  PyramidOptions options;
  options.levels = 1;
  options.compression = COMPRESSION_JPEG;
  options.photometric = PHOTOMETRIC_YCBCR;
  const std::string path = TemporaryFile("gray.tif");
  WritePyramid(path, options);
  const auto io = OpenSlideFile(path);
  io->SetGray(true);
  io->SetMicronsPerPixel(0.8);
  io->ReadImageInformation();
  EXPECT_TRUE(Read(*io) == Average(ReadLevel(*io, 0, 1), 1.6, 1.6));
}

TEST(WholeSlideResolution, PixelsBecomeSquare)
{
  PyramidOptions options;
  options.levels = 1;
  const std::string path = TemporaryFile("flat.tif");
  WritePyramid(path, options);
  TIFF * const file = TIFFOpen(path.c_str(), "r+");
  TIFFSetField(file, TIFFTAG_YRESOLUTION, 10000.0); // 1 micrometer high
  TIFFRewriteDirectory(file);
  TIFFClose(file);
  const auto io = OpenSlideFile(path);
  ASSERT_DOUBLE_EQ(io->GetSpacing(0), 0.0005);
  ASSERT_DOUBLE_EQ(io->GetSpacing(1), 0.001);
  io->SetMicronsPerPixel(2.0);
  io->ReadImageInformation();
  EXPECT_TRUE(Read(*io) == Average(ReadLevel(*io, 0, 3), 4, 2));
  EXPECT_DOUBLE_EQ(io->GetSpacing(0), 0.002);
  EXPECT_DOUBLE_EQ(io->GetSpacing(1), 0.002);
  EXPECT_DOUBLE_EQ(io->GetOrigin(0), 1.5 * 0.0005);
  EXPECT_DOUBLE_EQ(io->GetOrigin(1), 0.5 * 0.001);
  EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 2.0);
  io->SetMicronsPerPixel(0.75); // finer than the pixels are high
  EXPECT_REFUSAL(io->ReadImageInformation(), "E-SLIDE-RESOLUTION");
}

TEST(WholeSlideResolution, WhatCannotBeIsRefused)
{
  PyramidOptions options;
  options.levels = 1;
  const std::string path = TemporaryFile("refused.tif");
  WritePyramid(path, options);
  const auto io = OpenSlideFile(path);
  for (const double none : { 0.0, -1.0, std::nan(""), HUGE_VAL })
  {
    EXPECT_REFUSAL(io->SetMicronsPerPixel(none), "E-OPTION-VALUE");
  }
  for (const double none : { -0.1, 1.0, std::nan(""), HUGE_VAL })
  {
    EXPECT_REFUSAL(io->SetMicronsPerPixel(1.0, none), "E-OPTION-VALUE");
  }
  io->SetMicronsPerPixel(0.45); // 0.5 is more than 10 % coarser
  EXPECT_REFUSAL(io->ReadImageInformation(), "E-SLIDE-RESOLUTION");
  options.pixelsPerCentimeter = 300;
  WritePyramid(path, options);
  io->SetMicronsPerPixel(2.0);
  EXPECT_REFUSAL(io->ReadImageInformation(), "E-SLIDE-RESOLUTION");
  io->SetLevelZeroMicronsPerPixel(0.5);
  io->ReadImageInformation();
  EXPECT_TRUE(Read(*io) == Average(ReadLevel(*io, 0, 3), 4, 4));
}

/** Labels have no mean: the pixel at the center is picked. */
TEST(WholeSlideResolution, LabelsArePicked)
{
  using ImageType = itk::Image<unsigned char, 2>;
  const auto image = ImageType::New();
  image->SetRegions(ImageType::SizeType{ { 300, 200 } });
  const double spacing[2] = { 0.0005, 0.0005 };
  image->SetSpacing(spacing);
  image->Allocate();
  std::mt19937 random(3);
  std::generate_n(image->GetBufferPointer(), 300 * 200, [&random] { return static_cast<unsigned char>(random() % 5); });
  const std::string path = TemporaryFile("labels.pyramid.tif");
  const auto        writer = itk::ImageFileWriter<ImageType>::New();
  writer->SetImageIO(itk::PyramidTIFFImageIO::New());
  writer->SetFileName(path);
  writer->SetInput(image);
  writer->Update();
  std::vector<unsigned char> expected;
  for (unsigned y = 0; y < 124; ++y)
  {
    for (unsigned x = 0; x < 185; ++x)
    {
      const unsigned atX = static_cast<unsigned>((x + 0.5) * 1.625), atY = static_cast<unsigned>((y + 0.5) * 1.625);
      expected.push_back(
        image->GetPixel({ { static_cast<long>(std::min(atX, 299u)), static_cast<long>(std::min(atY, 199u)) } }));
    }
  }
  const auto io = OpenSlideFile(path);
  io->SetMicronsPerPixel(0.8125); // 1.625 pixels
  for (const bool stored : { false, true })
  {
    io->SetStoredValues(stored);
    io->ReadImageInformation();
    ASSERT_EQ(io->GetDimensions(0), 185u);
    ASSERT_EQ(io->GetDimensions(1), 124u);
    ASSERT_EQ(io->GetSourceLevel(), 0u);
    EXPECT_EQ(Read(*io).pixels, expected);
  }
}

} // namespace

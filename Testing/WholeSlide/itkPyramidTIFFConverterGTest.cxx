/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What is not copied: the command's tests compare what is.
#include "ReaderTesting.h"

#include "itkPyramidTIFFConverter.h"

#include <cstring>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>
#include <openslide.h>

using namespace gigapixel_test;

// OpenSlide opens JPEG 2000 only in files that say to be Aperio's, which a pyramid is not: its tiles are compressed
// again. Deflate, so that pixels are those of the slide to the last bit.
TEST(PyramidTIFFConverter, MakesOfJPEG2000WhatOpenSlideOpens)
{
  const std::string path = TemporaryFile("jpeg2000.svs");
  WriteJPEG2000(path,
                MakePicture(300, 200, 3, 5),
                128,
                33005,
                PHOTOMETRIC_RGB,
                false,
                "Aperio Image Library v1\n300x200 (128x128) J2K|AppMag = 40|MPP = 0.25");
  const auto out = itk::PyramidTIFFImageIO::New();
  out->SetFileName(TemporaryFile("jpeg2000.pyramid.tif"));
  const auto converter = itk::PyramidTIFFConverter::New();
  const auto slide = OpenSlideFile(path);
  converter->SetSlide(slide);
  converter->SetImageIO(out);
  converter->Update();
  EXPECT_EQ(converter->GetNumberOfCopiedTiles(), 0u);
  EXPECT_TRUE(ReadLevel(*OpenSlideFile(out->GetFileName()), 0, 3) == MakePicture(300, 200, 3, 5));
  const std::unique_ptr<openslide_t, void (*)(openslide_t *)> opened(openslide_open(out->GetFileName()),
                                                                     openslide_close);
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(openslide_get_error(opened.get()), nullptr);
}

/** Keeps the process's cache to so many bytes. */
class CacheLimit
{
public:
  explicit CacheLimit(std::size_t bytes) { itk::WholeSlideImageIO::SetTileCacheLimit(bytes); }
  ~CacheLimit() { itk::WholeSlideImageIO::SetTileCacheLimit(m_Before); }
  CacheLimit(const CacheLimit &) = delete;
  CacheLimit & operator=(const CacheLimit &) = delete;

private:
  std::size_t m_Before{ itk::WholeSlideImageIO::GetTileCacheLimit() };
};

// Bands of 768 rows once decoded each of these tiles twice, and smaller ones those of wider slides more often.
TEST(PyramidTIFFConverter, DecodesTilesOnceOfWhichARowIsLargerThanTheCache)
{
  PyramidOptions options;
  options.width = 3200;
  options.height = 2500;
  options.tile = 1536;
  options.levels = 1;
  const std::string path = TemporaryFile("large-tiles.tif");
  WritePyramid(path, options);
  const CacheLimit limit(12 << 20); // a row of tiles has 20 MiB
  using Region = itk::PyramidTIFFConverter::RegionType;
  for (const Region & region : { Region{ { 0, 0, 0, 0 } }, Region{ { 100, 300, 3100, 2100 } } }) // both of six tiles
  {
    const auto slide = OpenSlideFile(path);
    const auto out = itk::PyramidTIFFImageIO::New();
    out->SetFileName(TemporaryFile("large-tiles.pyramid.tif"));
    const auto converter = itk::PyramidTIFFConverter::New();
    converter->SetSlide(slide);
    converter->SetImageIO(out);
    converter->SetRegion(region);
    converter->CopyTilesOff();
    const auto before = itk::WholeSlideImageIO::GetTileCacheStatistics().misses;
    converter->Update();
    EXPECT_LE(itk::WholeSlideImageIO::GetTileCacheStatistics().misses - before, 6u);
    const Picture all = MakePicture(3200, 2500, 3, 0), made = ReadLevel(*OpenSlideFile(out->GetFileName()), 0, 3);
    const auto    width = region[2] > 0 ? region[2] : all.width, height = region[3] > 0 ? region[3] : all.height;
    ASSERT_EQ(made.width, width);
    ASSERT_EQ(made.height, height);
    for (std::size_t y = 0; y < height; ++y)
    {
      ASSERT_EQ(
        std::memcmp(&made.pixels[y * width * 3], &all.pixels[((region[1] + y) * 3200 + region[0]) * 3], width * 3), 0)
        << "row " << y;
    }
  }
}

// Its pixels of 16 bit once went where those of 8 have room.
TEST(PyramidTIFFConverter, RefusesToKeepAnImageThatIsNoPicture)
{
  PyramidOptions options;
  options.levels = 1;
  const std::string path = TemporaryFile("label16.tif");
  WritePyramid(path, options);
  TIFF * const file = TIFFOpen(path.c_str(), "a");
  TIFFSetField(file, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
  TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION, "label");
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 300);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, 1);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 16);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 3);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  std::vector<std::uint16_t> row(300 * 3, 7);
  ASSERT_EQ(TIFFWriteScanline(file, row.data(), 0, 0), 1);
  TIFFClose(file);
  const auto slide = OpenSlideFile(path);
  ASSERT_EQ(slide->GetAssociatedImageNames(), std::vector<std::string>{ "label" });
  const auto out = itk::PyramidTIFFImageIO::New();
  out->SetFileName(TemporaryFile("label16.pyramid.tif"));
  const auto converter = itk::PyramidTIFFConverter::New();
  converter->SetSlide(slide);
  converter->SetImageIO(out);
  converter->KeepLabelOn();
  EXPECT_NE(GetFailure([&] { converter->Update(); }).find("[E-SLIDE-CHANNELS]"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(out->GetFileName()));
  converter->KeepLabelOff();
  converter->Update();
  EXPECT_TRUE(std::filesystem::exists(out->GetFileName()));
}

std::uint16_t
ReadPhotometric(const std::string & path)
{
  std::uint16_t photometric = 0;
  TIFF * const  file = TIFFOpen(path.c_str(), "r");
  EXPECT_EQ(TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &photometric), 1);
  TIFFClose(file);
  return photometric;
}

/** Values of a mask, whatever its colors. The slide that is given reads colors, and still does so afterwards. */
TEST(PyramidTIFFConverter, KeepsTheValuesOfMasks)
{
  using Region = itk::PyramidTIFFConverter::RegionType;
  for (const std::uint16_t photometric : { PHOTOMETRIC_PALETTE, PHOTOMETRIC_MINISWHITE })
  {
    PyramidOptions options;
    options.samples = 1;
    options.levels = 1;
    options.photometric = photometric;
    const std::string path = TemporaryFile("mask.tif");
    WritePyramid(path, options);
    const Picture stored = MakePicture(options.width, options.height, 1, 0);
    for (const Region & region : { Region{ { 0, 0, 0, 0 } }, Region{ { 3, 5, 500, 400 } } }) // copied, and decoded
    {
      const auto slide = OpenSlideFile(path);
      const auto out = itk::PyramidTIFFImageIO::New();
      out->SetFileName(TemporaryFile("mask.pyramid.tif"));
      const auto converter = itk::PyramidTIFFConverter::New();
      converter->SetSlide(slide);
      converter->SetImageIO(out);
      converter->SetRegion(region);
      converter->ChooseCompressor();
      EXPECT_TRUE(converter->HoldsLabels());
      converter->Update();
      EXPECT_EQ(converter->GetNumberOfCopiedTiles() > 0, region[2] == 0);
      EXPECT_FALSE(slide->GetStoredValues());
      const Picture made = ReadWithLibTIFF(out->GetFileName(), 0);
      ASSERT_EQ(made.width, region[2] > 0 ? region[2] : stored.width);
      for (std::size_t y = 0; y < made.height; ++y)
      {
        ASSERT_EQ(std::memcmp(&made.pixels[y * made.width],
                              &stored.pixels[(region[1] + y) * stored.width + region[0]],
                              made.width),
                  0)
          << "row " << y;
      }
      EXPECT_EQ(ReadPhotometric(out->GetFileName()), photometric); // other programs show the colors of before
    }
  }
}

TEST(PyramidTIFFConverter, GivesColorsOfMasksAsPictures)
{
  PyramidOptions options;
  options.samples = 1;
  options.levels = 1;
  options.photometric = PHOTOMETRIC_PALETTE;
  const std::string path = TemporaryFile("colors.tif");
  WritePyramid(path, options);
  const auto slide = OpenSlideFile(path);
  const auto out = itk::PyramidTIFFImageIO::New();
  out->SetFileName(TemporaryFile("colors.pyramid.tif"));
  out->SetContent(itk::PyramidTIFFImageIO::Content::Picture);
  const auto converter = itk::PyramidTIFFConverter::New();
  converter->SetSlide(slide);
  converter->SetImageIO(out);
  EXPECT_FALSE(converter->HoldsLabels());
  converter->Update();
  EXPECT_TRUE(ReadWithLibTIFF(out->GetFileName(), 0) == ReadLevel(*slide, 0, 3));
}

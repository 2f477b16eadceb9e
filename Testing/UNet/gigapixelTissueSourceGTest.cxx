/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "gigapixelTissueSource.h"
#include "UNetTestImages.h"
#include "itkExtractImageFilter.h"
#include "itkGlassValueImageFilter.h"
#include "itkImageRegionIteratorWithIndex.h"
#include "itkRGBPixel.h"
#include "itkStreamingImageFilter.h"

#include <gtest/gtest.h>

namespace
{
using gigapixel::Region;

constexpr gigapixel::Size ImageSize{ 37, 29 };

/** Two rectangles of tissue on a mask of a quarter of the image's resolution. */
bool
IsTissueInMask(std::int64_t x, std::int64_t y)
{
  return (x >= 2 && x < 4 && y >= 1 && y < 3) || (x == 8 && y == 7);
}

bool
IsTissue(std::int64_t x, std::int64_t y)
{
  return IsTissueInMask(x / 4, y / 4);
}

class MaskPixels : public gigapixel::PixelSource
{
public:
  explicit MaskPixels(std::uint8_t value)
    : m_Value(value)
  {}

  gigapixel::Size
  GetSize() const override
  {
    return { 10, 8 };
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return 1;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    for (std::int64_t y = region.y; y < region.y + region.height; ++y)
    {
      for (std::int64_t x = region.x; x < region.x + region.width; ++x)
      {
        *samples++ = IsTissueInMask(x, y) ? m_Value : 0;
      }
    }
  }

private:
  std::uint8_t m_Value;
};

std::uint8_t
GetSample(std::int64_t x, std::int64_t y, std::int64_t channel)
{
  return static_cast<std::uint8_t>(7 * x + 13 * y + 50 * channel);
}

/** Color pixels that remember what was read of them. */
class ColorPixels : public gigapixel::PixelSource
{
public:
  gigapixel::Size
  GetSize() const override
  {
    return ImageSize;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return 3;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    last = region;
    ++reads;
    for (std::int64_t y = region.y; y < region.y + region.height; ++y)
    {
      for (std::int64_t x = region.x; x < region.x + region.width; ++x)
      {
        for (std::int64_t channel = 0; channel < 3; ++channel)
        {
          *samples++ = GetSample(x, y, channel);
        }
      }
    }
  }

  Region last;
  int    reads{ 0 };
};

class ThreeEverywhere : public gigapixel::LabelSource
{
public:
  gigapixel::Size
  GetSize() const override
  {
    return ImageSize;
  }

  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    std::fill_n(classes, region.width * region.height, 3);
  }
};

std::shared_ptr<const gigapixel::TissueMask>
MakeTissue(gigapixel::Size size = ImageSize, std::uint8_t value = 255)
{
  gigapixel::PhysicalImage mask;
  mask.name = "mask";
  mask.pixels = std::make_shared<MaskPixels>(value);
  mask.grid.size = mask.pixels->GetSize();
  gigapixel::Grid grid;
  grid.size = size;
  return std::make_shared<const gigapixel::TissueMask>(mask, grid, "image");
}

const Region Everything{ 0, 0, ImageSize.width, ImageSize.height };
const Region Glass{ 0, 13, 20, 14 };
const Region AcrossBorders{ 9, 3, 26, 25 };
} // namespace

TEST(TissueSource, GlassIsWhiteAndIgnored)
{
  const auto tissue = MakeTissue();
  const auto pixels = gigapixel::PaintGlass(std::make_shared<ColorPixels>(), tissue, 255);
  const auto labels = gigapixel::IgnoreGlass(std::make_shared<ThreeEverywhere>(), tissue);
  ASSERT_EQ(pixels->GetNumberOfChannels(), 3u);
  for (const Region & region : { Everything, Glass, AcrossBorders })
  {
    std::vector<std::uint8_t> samples(region.width * region.height * 3);
    std::vector<std::uint8_t> classes(region.width * region.height);
    pixels->Read(region, samples.data());
    labels->Read(region, classes.data());
    for (std::int64_t i = 0; i < region.width * region.height; ++i)
    {
      const std::int64_t x = region.x + i % region.width;
      const std::int64_t y = region.y + i / region.width;
      ASSERT_EQ(classes[i], IsTissue(x, y) ? 3 : gigapixel::LabelSource::Ignored) << x << ", " << y;
      for (std::int64_t channel = 0; channel < 3; ++channel)
      {
        ASSERT_EQ(samples[3 * i + channel], IsTissue(x, y) ? GetSample(x, y, channel) : 255) << x << ", " << y;
      }
    }
  }
}

TEST(TissueSource, ReadsNothingButTheRectangleOfTheTissue)
{
  const auto                color = std::make_shared<ColorPixels>();
  const auto                pixels = gigapixel::PaintGlass(color, MakeTissue(), 255);
  std::vector<std::uint8_t> samples(Everything.width * Everything.height * 3);
  pixels->Read(Glass, samples.data());
  EXPECT_EQ(color->reads, 0);
  pixels->Read({ 0, 0, 20, 20 }, samples.data());
  EXPECT_EQ(color->reads, 1);
  EXPECT_EQ(color->last.x, 8);
  EXPECT_EQ(color->last.y, 4);
  EXPECT_EQ(color->last.width, 8);
  EXPECT_EQ(color->last.height, 8);
}

TEST(GlassValueImageFilter, IsTheSameInPiecesAndAsksForTissueOnly)
{
  using ImageType = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  const auto image = ImageType::New();
  // The first pixel has another index than (0, 0), as that of a region of a slide.
  image->SetRegions(ImageType::RegionType({ { 100, -7 } }, { { 37, 29 } }));
  image->Allocate();
  for (itk::ImageRegionIteratorWithIndex<ImageType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    const auto          x = it.GetIndex()[0] - 100;
    const auto          y = it.GetIndex()[1] + 7;
    const unsigned char color[] = { GetSample(x, y, 0), GetSample(x, y, 1), GetSample(x, y, 2) };
    it.Set(ImageType::PixelType(color));
  }
  const auto filter = itk::GlassValueImageFilter<ImageType>::New();
  filter->SetInput(image);
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
  filter->SetTissue(MakeTissue());
  const unsigned char gray[] = { 9, 9, 9 };
  filter->SetGlassValue(gray);
  const auto streamer = itk::StreamingImageFilter<ImageType, ImageType>::New();
  streamer->SetInput(filter->GetOutput());
  streamer->SetNumberOfStreamDivisions(5); // of rows: the fifth has nothing but glass, but for one pixel of the mask
  streamer->Update();
  const ImageType * found = streamer->GetOutput();
  for (itk::ImageRegionConstIteratorWithIndex<ImageType> it(found, found->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    const auto                 x = it.GetIndex()[0] - 100;
    const auto                 y = it.GetIndex()[1] + 7;
    const unsigned char        color[] = { GetSample(x, y, 0), GetSample(x, y, 1), GetSample(x, y, 2) };
    const ImageType::PixelType expected(IsTissue(x, y) ? color : gray);
    ASSERT_EQ(it.Get(), expected) << x << ", " << y;
  }
  const ImageType::RegionType asked({ { 100, -7 } }, { { 20, 20 } });
  filter->GetOutput()->SetRequestedRegion(asked);
  filter->GetOutput()->PropagateRequestedRegion();
  EXPECT_EQ(image->GetRequestedRegion(), ImageType::RegionType({ { 108, -3 } }, { { 8, 8 } }));
  filter->AskForGlassOn();
  filter->GetOutput()->SetRequestedRegion(asked);
  filter->GetOutput()->PropagateRequestedRegion();
  EXPECT_EQ(image->GetRequestedRegion(), asked);
}

TEST(GlassValueImageFilter, AsksForOnePixelOfGlassOfAnInputThatHasBecomeSmaller)
{
  using ImageType = gigapixel_test::GrayImage;
  const auto extract = itk::ExtractImageFilter<ImageType, ImageType>::New();
  extract->SetInput(gigapixel_test::NoiseImage(37, 29));
  extract->SetExtractionRegion({ { { 0, 0 } }, { { 37, 29 } } });
  const auto filter = itk::GlassValueImageFilter<ImageType>::New();
  filter->SetInput(extract->GetOutput());
  filter->SetTissue(MakeTissue());
  filter->SetGlassValue(9);
  filter->Update();

  extract->SetExtractionRegion({ { { 0, 0 } }, { { 20, 16 } } });
  filter->SetTissue(MakeTissue({ 20, 16 }));
  const ImageType::RegionType glass({ { 1, 8 } }, { { 10, 6 } });
  filter->GetOutput()->SetRequestedRegion(glass);
  filter->GetOutput()->Update();
  EXPECT_EQ(extract->GetOutput()->GetRequestedRegion(), ImageType::RegionType({ { 1, 8 } }, { { 1, 1 } }));
  for (itk::ImageRegionConstIterator<ImageType> it(filter->GetOutput(), glass); !it.IsAtEnd(); ++it)
  {
    ASSERT_EQ(it.Get(), 9);
  }
}

TEST(GlassValueImageFilter, RefusesAMaskOfAnotherImageAndOneThatIsNone)
{
  using ImageType = gigapixel_test::GrayImage;
  const auto read = [](const std::shared_ptr<const gigapixel::TissueMask> & tissue, bool askForGlass) {
    const auto filter = itk::GlassValueImageFilter<ImageType>::New();
    filter->SetInput(gigapixel_test::NoiseImage(37, 29));
    filter->SetTissue(tissue);
    filter->SetAskForGlass(askForGlass);
    filter->Update();
  };
  EXPECT_REFUSAL(read(MakeTissue({ 20, 16 }), false), "E-MASK-GRID");
  EXPECT_THROW(read(MakeTissue(ImageSize, 7), false), itk::ExceptionObject);
  EXPECT_THROW(read(MakeTissue(ImageSize, 7), true), itk::ExceptionObject); // read first for the pixels
}

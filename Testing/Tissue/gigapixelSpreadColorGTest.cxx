/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSpreadColor.h"

#include "MaskImages.h"
#include "itkStreamingImageFilter.h"
#include "itkTissueThresholdImageFilter.h"

#include <cmath>

using namespace gigapixel_test;

namespace
{
constexpr int Glass = 240;

/** How much darker than glass, Rec. 601, as floating point. */
int
MeasureDarkness(const ColorType * image, long x, long y)
{
  const auto   color = image->GetPixel({ { x, y } });
  const double gray = (77 * color[0] + 150 * color[1] + 29 * color[2]) / 256.0;
  return std::max(0, static_cast<int>(std::floor(Glass - gray + 0.5)));
}

/** The definitions, pixel by pixel. */
bool
IsCleared(const ColorType * image, long x, long y)
{
  const auto size = image->GetLargestPossibleRegion().GetSize();
  int        lightest = 255;
  int        lightestBeside = 255;
  int        darkest = 0;
  for (long dy = -2; dy <= 2; ++dy)
  {
    for (long dx = -2; dx <= 2; ++dx)
    {
      const bool inside = x + dx >= 0 && y + dy >= 0 && x + dx < long(size[0]) && y + dy < long(size[1]);
      if (inside)
      {
        const int darkness = MeasureDarkness(image, x + dx, y + dy);
        darkest = std::max(darkest, darkness);
        lightest = std::min(lightest, darkness);
        lightestBeside = std::abs(dx) <= 1 && std::abs(dy) <= 1 ? std::min(lightestBeside, darkness) : lightestBeside;
      }
    }
  }
  const int  own = MeasureDarkness(image, x, y);
  const bool isSpread = lightestBeside <= 3 && darkest >= 32 && 5 * own < darkest;
  const bool isHaze = own <= 40 && darkest - lightest <= 8;
  return isSpread || isHaze;
}

ColorType::PixelType
MakeColor(int red, int green, int blue)
{
  ColorType::PixelType color;
  color[0] = static_cast<unsigned char>(red);
  color[1] = static_cast<unsigned char>(green);
  color[2] = static_cast<unsigned char>(blue);
  return color;
}

/** Glass with blobs of eosin, both noisy, and their color, faint, on every tenth pixel of the glass. */
ColorType::Pointer
MakeStainedImage(itk::SizeValueType width, itk::SizeValueType height)
{
  const auto   blobs = MakeBlobs(width, height, 30);
  auto         image = MakeImage<ColorType>(width, height);
  std::mt19937 random(31);
  for (itk::ImageRegionIteratorWithIndex<ColorType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    const int noise = static_cast<int>(random() % 3) - 1;
    const int strength = blobs->GetPixel(it.GetIndex()) != 0
                           ? static_cast<int>(20 + random() % 100)
                           : (random() % 10 == 0 ? static_cast<int>(random() % 30) : 0);
    it.Set(MakeColor(Glass + noise - strength / 5, Glass + noise - strength, Glass + noise - strength / 2));
  }
  return image;
}
} // namespace

// Every part of an image, with no more of it than is needed, gives what the definition says of the whole.
TEST(SpreadColor, EqualsItsDefinitionInEveryPart)
{
  const auto            image = MakeStainedImage(90, 70);
  gigapixel::TissueRule rule;
  rule.glass = { { Glass, Glass, Glass } };
  int cleared = 0;
  for (const itk::ImageRegion<2> & part : { itk::ImageRegion<2>({ { 0, 0 } }, { { 90, 70 } }),
                                            itk::ImageRegion<2>({ { 1, 1 } }, { { 88, 5 } }),
                                            itk::ImageRegion<2>({ { 40, 67 } }, { { 50, 3 } }),
                                            itk::ImageRegion<2>({ { 33, 20 } }, { { 1, 1 } }) })
  {
    auto block = part;
    block.PadByRadius(gigapixel::SpreadReach);
    block.Crop(image->GetBufferedRegion());
    std::vector<unsigned char> mask(part.GetNumberOfPixels(), 255);
    gigapixel::ClearSpreadColor(
      rule,
      { &image->GetPixel(block.GetIndex())[0], 3 * std::size_t{ 90 }, block.GetSize(0), block.GetSize(1) },
      { std::size_t(part.GetIndex(0) - block.GetIndex(0)),
        std::size_t(part.GetIndex(1) - block.GetIndex(1)),
        part.GetSize(0),
        part.GetSize(1) },
      mask.data(),
      part.GetSize(0));
    const unsigned char * pixel = mask.data();
    for (itk::ImageRegionIteratorWithIndex<ColorType> it(image, part); !it.IsAtEnd(); ++it, ++pixel)
    {
      const bool expected = IsCleared(image, it.GetIndex()[0], it.GetIndex()[1]);
      cleared += expected ? 1 : 0;
      ASSERT_EQ(*pixel, expected ? 0 : 255) << it.GetIndex() << " of " << part;
    }
  }
  EXPECT_GT(cleared, 100);
}

// What it is for: the rim goes, and so does haze; pale tissue, which has structure, and the membrane of a fat cell
// stay.
TEST(SpreadColor, OnlyWhatLiesBetweenGlassAndStainedTissueGoes)
{
  auto image = MakeImage<ColorType>(400, 9);
  image->FillBuffer(MakeColor(Glass, Glass, Glass));
  const auto paint = [&](int begin, int end, int strength) {
    for (int x = begin; x < end; ++x)
    {
      for (int y = 0; y < 9; ++y)
      {
        image->SetPixel({ { x, y } }, MakeColor(Glass - strength / 5, Glass - strength, Glass - strength / 2));
      }
    }
  };
  paint(20, 40, 90); // tissue ...
  paint(40, 42, 12); // ... and its color on the glass
  for (int x = 100; x < 120; x += 2)
  {
    paint(x, x + 1, 12); // pale tissue
    paint(x + 1, x + 2, 40);
  }
  paint(150, 170, 12); // haze
  paint(200, 201, 25); // a membrane
  auto filter = itk::TissueThresholdImageFilter<ColorType>::New();
  filter->SetInput(image);
  filter->SetMethod(gigapixel::TissueMethod::Stain);
  filter->Update();
  for (int x = 0; x < 400; ++x)
  {
    const bool isTissue = (x >= 20 && x < 40) || (x >= 100 && x < 120) || x == 200;
    // The inner of the two columns has no glass beside it: half of the blur is the tissue's.
    EXPECT_EQ(filter->GetOutput()->GetPixel({ { x, 4 } }), isTissue || x == 40 ? 255 : 0) << x;
  }
}

TEST(SpreadColor, StreamedEqualsWhole)
{
  const auto image = MakeStainedImage(120, 200);
  const auto threshold = [&](unsigned divisions) {
    auto filter = itk::TissueThresholdImageFilter<ColorType>::New();
    filter->SetInput(image);
    filter->SetMethod(gigapixel::TissueMethod::Stain);
    auto streamer = itk::StreamingImageFilter<MaskType, MaskType>::New();
    streamer->SetInput(filter->GetOutput());
    streamer->SetNumberOfStreamDivisions(divisions);
    streamer->Update();
    return MaskType::Pointer(streamer->GetOutput());
  };
  const auto whole = threshold(1);
  for (const unsigned divisions : { 2, 7, 200 })
  {
    ExpectEqual<MaskType>(threshold(divisions), whole, std::to_string(divisions) + " divisions");
  }
}

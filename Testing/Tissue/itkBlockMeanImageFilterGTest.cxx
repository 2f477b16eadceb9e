/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "MaskImages.h"

#include "itkBlockMeanImageFilter.h"
#include "itkNearestUpsampleImageFilter.h"
#include "itkRegionOfInterestImageFilter.h"
#include "itkStreamingImageFilter.h"

using namespace gigapixel_test;

namespace
{

ColorType::Pointer
MakeColors(itk::SizeValueType width, itk::SizeValueType height, unsigned seed)
{
  auto         image = MakeImage<ColorType>(width, height);
  std::mt19937 random(seed);
  for (itk::ImageRegionIterator<ColorType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    ColorType::PixelType pixel;
    for (unsigned c = 0; c < 3; ++c)
    {
      pixel[c] = static_cast<unsigned char>(random());
    }
    it.Set(pixel);
  }
  const double spacing[2] = { 0.00025, 0.0005 };
  const double origin[2] = { 3.0, -7.0 };
  image->SetSpacing(spacing);
  image->SetOrigin(origin);
  return image;
}

/** The definition, pixel by pixel: the mean of the real pixels of a block, rounded half up. */
itk::RGBPixel<unsigned char>
MeanOfBlock(const ColorType * image, itk::IndexValueType blockX, itk::IndexValueType blockY, int factor)
{
  const auto whole = image->GetLargestPossibleRegion();
  unsigned   sum[3] = { 0, 0, 0 };
  unsigned   count = 0;
  for (int y = 0; y < factor; ++y)
  {
    for (int x = 0; x < factor; ++x)
    {
      const ColorType::IndexType index{ { whole.GetIndex(0) + blockX * factor + x,
                                          whole.GetIndex(1) + blockY * factor + y } };
      if (whole.IsInside(index))
      {
        ++count;
        for (unsigned c = 0; c < 3; ++c)
        {
          sum[c] += image->GetPixel(index)[c];
        }
      }
    }
  }
  itk::RGBPixel<unsigned char> mean;
  for (unsigned c = 0; c < 3; ++c)
  {
    mean[c] = static_cast<unsigned char>(std::floor(static_cast<double>(sum[c]) / count + 0.5));
  }
  return mean;
}

} // namespace

TEST(BlockMeanImageFilter, EqualsItsDefinitionOnAnySizeAndFactor)
{
  for (const auto & [width, height] :
       std::vector<std::pair<int, int>>{ { 1, 1 }, { 7, 8 }, { 8, 8 }, { 9, 17 }, { 65, 33 }, { 200, 90 } })
  {
    for (const int factor : { 1, 2, 3, 8, 16, 100 })
    {
      const auto image = MakeColors(width, height, 40 + factor);
      auto       filter = itk::BlockMeanImageFilter<ColorType>::New();
      filter->SetInput(image);
      filter->SetShrinkFactor(factor);
      filter->Update();
      const auto region = filter->GetOutput()->GetLargestPossibleRegion();
      ASSERT_EQ(region.GetSize(0), static_cast<itk::SizeValueType>((width + factor - 1) / factor));
      ASSERT_EQ(region.GetSize(1), static_cast<itk::SizeValueType>((height + factor - 1) / factor));
      itk::ImageRegionConstIteratorWithIndex<ColorType> it(filter->GetOutput(), region);
      for (; !it.IsAtEnd(); ++it)
      {
        ASSERT_EQ(it.Get(), MeanOfBlock(image, it.GetIndex()[0], it.GetIndex()[1], factor))
          << width << " x " << height << ", factor " << factor << " at " << it.GetIndex();
      }
    }
  }
}

TEST(BlockMeanImageFilter, SpacingIsExactAndTheOriginIsTheCenterOfTheFirstBlock)
{
  auto                     image = MakeColors(83, 41, 50);
  ColorType::DirectionType direction;
  direction.SetIdentity();
  direction[0][0] = 0;
  direction[0][1] = -1;
  direction[1][0] = 1;
  direction[1][1] = 0;
  image->SetDirection(direction);
  auto filter = itk::BlockMeanImageFilter<ColorType>::New();
  filter->SetInput(image);
  filter->Update();
  const auto * output = filter->GetOutput();
  EXPECT_EQ(output->GetSpacing()[0], 8 * 0.00025);
  EXPECT_EQ(output->GetSpacing()[1], 8 * 0.0005);
  EXPECT_EQ(output->GetDirection(), image->GetDirection());
  // The center of block (2, 3) lies between its pixels 3 and 4.
  ColorType::PointType            center;
  ColorType::PointType            expected;
  itk::ContinuousIndex<double, 2> between;
  between[0] = 2 * 8 + 3.5;
  between[1] = 3 * 8 + 3.5;
  output->TransformIndexToPhysicalPoint({ { 2, 3 } }, center);
  image->TransformContinuousIndexToPhysicalPoint(between, expected);
  EXPECT_NEAR(center[0], expected[0], 1e-12);
  EXPECT_NEAR(center[1], expected[1], 1e-12);
}

// A crop's largest region does not begin at 0; its blocks begin where the crop begins.
TEST(BlockMeanImageFilter, ACropWithItsOwnIndexHasItsOwnBlocks)
{
  auto image = ColorType::New();
  image->SetRegions(ColorType::RegionType({ { -5, 12 } }, { { 50, 30 } }));
  image->Allocate();
  std::mt19937 random(51);
  for (itk::ImageRegionIterator<ColorType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    ColorType::PixelType pixel;
    pixel.Fill(static_cast<unsigned char>(random()));
    it.Set(pixel);
  }
  auto filter = itk::BlockMeanImageFilter<ColorType>::New();
  filter->SetInput(image);
  filter->Update();
  EXPECT_EQ(filter->GetOutput()->GetLargestPossibleRegion(), ColorType::RegionType({ { 0, 0 } }, { { 7, 4 } }));
  itk::ImageRegionConstIteratorWithIndex<ColorType> it(filter->GetOutput(), filter->GetOutput()->GetBufferedRegion());
  for (; !it.IsAtEnd(); ++it)
  {
    ASSERT_EQ(it.Get(), MeanOfBlock(image, it.GetIndex()[0], it.GetIndex()[1], 8)) << it.GetIndex();
  }
  EXPECT_EQ(filter->GetOutput()->GetOrigin()[0], -5 + 3.5);
  EXPECT_EQ(filter->GetOutput()->GetOrigin()[1], 12 + 3.5);
}

TEST(BlockMeanImageFilter, StripsAndStreamDivisionsGiveTheSameBits)
{
  const auto image = MakeColors(333, 1111, 52);
  auto       whole = itk::BlockMeanImageFilter<ColorType>::New();
  whole->SetInput(image);
  whole->Update();
  for (const unsigned divisions : { 1, 3, 64 })
  {
    for (const itk::SizeValueType bytes : { 1, 30000, 400000 })
    {
      auto filter = itk::BlockMeanImageFilter<ColorType>::New();
      filter->SetInput(image);
      filter->SetStripBytes(bytes);
      auto streamer = itk::StreamingImageFilter<ColorType, ColorType>::New();
      streamer->SetInput(filter->GetOutput());
      streamer->SetNumberOfStreamDivisions(divisions);
      streamer->Update();
      ExpectEqual<ColorType>(streamer->GetOutput(), whole->GetOutput(), std::to_string(divisions) + " divisions");
      // The last strip asked for is within the limit, or one row of blocks.
      EXPECT_LE(image->GetRequestedRegion().GetNumberOfPixels() * 3, std::max<itk::SizeValueType>(bytes, 333 * 8 * 3));
    }
  }
}

TEST(NearestUpsampleImageFilter, IsTheWayBackToTheGridThatWasShrunk)
{
  for (const unsigned factor : { 1u, 3u, 8u })
  {
    auto         image = MakeNoise(131, 67, 0.5, 60);
    const double spacing[2] = { 0.0005, 0.0005 };
    image->SetSpacing(spacing);
    auto shrink = itk::BlockMeanImageFilter<MaskType>::New();
    shrink->SetInput(image);
    shrink->SetShrinkFactor(factor);
    auto enlarge = itk::NearestUpsampleImageFilter<MaskType>::New();
    enlarge->SetInput(shrink->GetOutput());
    enlarge->SetFactor(factor);
    enlarge->SetOutputSize({ { 131, 67 } });
    enlarge->Update();
    ASSERT_EQ(enlarge->GetOutput()->GetLargestPossibleRegion(), image->GetLargestPossibleRegion());
    for (unsigned d = 0; d < 2; ++d)
    {
      EXPECT_NEAR(enlarge->GetOutput()->GetSpacing()[d], spacing[d], 1e-15);
      EXPECT_NEAR(enlarge->GetOutput()->GetOrigin()[d], 0.0, 1e-15);
    }
    itk::ImageRegionConstIteratorWithIndex<MaskType> it(enlarge->GetOutput(), image->GetLargestPossibleRegion());
    for (; !it.IsAtEnd(); ++it)
    {
      const MaskType::IndexType block{ { it.GetIndex()[0] / factor, it.GetIndex()[1] / factor } };
      ASSERT_EQ(it.Get(), shrink->GetOutput()->GetPixel(block)) << it.GetIndex();
    }
    // Regions that begin and end inside blocks.
    std::mt19937 random(61);
    for (int i = 0; i < 30; ++i)
    {
      MaskType::RegionType region;
      for (unsigned d = 0; d < 2; ++d)
      {
        const auto length = image->GetBufferedRegion().GetSize(d);
        region.SetIndex(d, random() % length);
        region.SetSize(d, 1 + random() % (length - region.GetIndex(d)));
      }
      auto part = itk::NearestUpsampleImageFilter<MaskType>::New();
      part->SetInput(shrink->GetOutput());
      part->SetFactor(factor);
      part->SetOutputSize({ { 131, 67 } });
      part->UpdateOutputInformation();
      part->GetOutput()->SetRequestedRegion(region);
      part->Update();
      itk::ImageRegionConstIterator<MaskType> is(part->GetOutput(), region);
      itk::ImageRegionConstIterator<MaskType> expected(enlarge->GetOutput(), region);
      for (; !is.IsAtEnd(); ++is, ++expected)
      {
        ASSERT_EQ(is.Get(), expected.Get()) << region;
      }
    }
  }
}

TEST(NearestUpsampleImageFilter, RefusesASizeThatIsNotThatOfTheImageThatWasShrunk)
{
  auto filter = itk::NearestUpsampleImageFilter<MaskType>::New();
  filter->SetInput(MakeNoise(10, 10, 0.5, 62));
  filter->SetOutputSize({ { 81, 80 } });
  EXPECT_REFUSAL(filter->Update(), "E-OPTION-VALUE");
  filter->SetOutputSize({ { 73, 80 } });
  EXPECT_NO_THROW(filter->Update());
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "MaskImages.h"

#include "itkBinaryDiscDilateImageFilter.h"
#include "itkBinaryDiscErodeImageFilter.h"
#include "itkBinaryMajorityImageFilter.h"

#include "itkBinaryBallStructuringElement.h"
#include "itkBinaryDilateImageFilter.h"
#include "itkBinaryErodeImageFilter.h"
#include "itkFlatStructuringElement.h"
#include "itkGrayscaleDilateImageFilter.h"
#include "itkGrayscaleErodeImageFilter.h"
#include "itkMedianImageFilter.h"
#include "itkStreamingImageFilter.h"

using namespace gigapixel_test;

namespace
{

struct Size
{
  itk::SizeValueType width, height;
};

/** Around the 64 pixels of a word and the 512 of a group, thin, tiny, and taller than a band of 128 rows. */
const std::vector<Size> Sizes{ { 1, 1 },   { 1, 40 },  { 40, 1 },  { 2, 3 },   { 63, 20 },  { 64, 20 },
                               { 65, 20 }, { 127, 9 }, { 129, 9 }, { 513, 7 }, { 100, 300 } };

std::vector<MaskType::Pointer>
MakeMasks(const Size & size)
{
  return { MakeNoise(size.width, size.height, 0.5, 1),
           MakeNoise(size.width, size.height, 0.03, 2),
           MakeNoise(size.width, size.height, 0.97, 3),
           MakeBlobs(size.width, size.height, 4) };
}

template <typename TFilter>
MaskType::Pointer
Apply(const MaskType::Pointer & mask, unsigned radius)
{
  auto filter = TFilter::New();
  filter->SetInput(mask);
  filter->SetRadius(radius);
  filter->Update();
  return filter->GetOutput();
}

/** What the three filters make of a mask. */
struct Windows
{
  Windows(const MaskType::Pointer & mask, unsigned radius)
    : majority(Apply<itk::BinaryMajorityImageFilter<MaskType>>(mask, radius))
    , eroded(Apply<itk::BinaryDiscErodeImageFilter<MaskType>>(mask, radius))
    , dilated(Apply<itk::BinaryDiscDilateImageFilter<MaskType>>(mask, radius))
  {}
  MaskType::Pointer majority, eroded, dilated;
};

/** Compares with a reference made by make(mask, radius) on all sizes, masks and radii. */
template <typename TFilter, typename TMake>
void
CompareWith(TMake make, const std::vector<unsigned> & radii)
{
  for (const Size & size : Sizes)
  {
    for (const MaskType::Pointer & mask : MakeMasks(size))
    {
      for (const unsigned radius : radii)
      {
        const auto reference = make(mask, radius);
        ExpectEqual<MaskType>(Apply<TFilter>(mask, radius),
                              reference,
                              std::to_string(size.width) + " x " + std::to_string(size.height) + ", radius " +
                                std::to_string(radius));
        if (testing::Test::HasFatalFailure())
        {
          return;
        }
      }
    }
  }
}

const std::vector<unsigned> Radii{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };

template <typename TFilter, typename TKernel>
MaskType::Pointer
ApplyMorphology(const MaskType * mask, const TKernel & kernel)
{
  auto filter = TFilter::New();
  filter->SetInput(mask);
  filter->SetKernel(kernel);
  // The other algorithms that it may choose are wrong on images one pixel wide.
  filter->SetAlgorithm(itk::MathematicalMorphologyEnums::Algorithm::BASIC);
  filter->Update();
  return filter->GetOutput();
}

using BallType = itk::FlatStructuringElement<2>;

BallType
MakeBall(unsigned radius)
{
  return BallType::Ball(BallType::RadiusType{ { radius, radius } });
}

/** The filter streamed in any number of divisions gives what it gives whole. */
template <typename TFilter>
void
ExpectStreamedEqualsWhole(unsigned radius)
{
  const auto mask = MakeBlobs(203, 157, 5);
  auto       whole = TFilter::New();
  whole->SetInput(mask);
  whole->SetRadius(radius);
  whole->Update();
  for (const unsigned divisions : { 1, 2, 3, 5, 16, 64, 157 })
  {
    auto filter = TFilter::New();
    filter->SetInput(mask);
    filter->SetRadius(radius);
    auto streamer = itk::StreamingImageFilter<MaskType, MaskType>::New();
    streamer->SetInput(filter->GetOutput());
    streamer->SetNumberOfStreamDivisions(divisions);
    streamer->Update();
    ExpectEqual<MaskType>(streamer->GetOutput(), whole->GetOutput(), std::to_string(divisions) + " divisions");
  }
}

/** Regions anywhere inside give what the whole gives there; nothing but the padded region is asked for. */
template <typename TFilter>
void
ExpectRegionsEqualWhole(unsigned radius)
{
  const auto mask = MakeNoise(203, 157, 0.5, 6);
  auto       whole = TFilter::New();
  whole->SetInput(mask);
  whole->SetRadius(radius);
  whole->Update();
  std::mt19937 random(7);
  for (int i = 0; i < 40; ++i)
  {
    MaskType::RegionType region;
    for (unsigned d = 0; d < 2; ++d)
    {
      const auto length = mask->GetBufferedRegion().GetSize(d);
      region.SetIndex(d, random() % length);
      region.SetSize(d, 1 + random() % (length - region.GetIndex(d)));
    }
    auto filter = TFilter::New();
    filter->SetInput(mask);
    filter->SetRadius(radius);
    filter->UpdateOutputInformation();
    filter->GetOutput()->SetRequestedRegion(region);
    filter->Update();
    auto needed = region;
    needed.PadByRadius(radius);
    needed.Crop(mask->GetBufferedRegion());
    ASSERT_EQ(mask->GetRequestedRegion(), needed);
    ASSERT_EQ(filter->GetOutput()->GetBufferedRegion(), region);
    itk::ImageRegionConstIterator<MaskType> it(filter->GetOutput(), region);
    itk::ImageRegionConstIterator<MaskType> expected(whole->GetOutput(), region);
    for (; !it.IsAtEnd(); ++it, ++expected)
    {
      ASSERT_EQ(it.Get(), expected.Get());
    }
  }
}

} // namespace

TEST(BinaryMajorityImageFilter, EqualsITKsMedian)
{
  CompareWith<itk::BinaryMajorityImageFilter<MaskType>>(
    [](const MaskType * mask, unsigned radius) {
      auto median = itk::MedianImageFilter<MaskType, MaskType>::New();
      median->SetInput(mask);
      median->SetRadius(radius);
      median->Update();
      return MaskType::Pointer(median->GetOutput());
    },
    Radii);
}

TEST(BinaryDiscErodeImageFilter, EqualsITKsErosionByABall)
{
  CompareWith<itk::BinaryDiscErodeImageFilter<MaskType>>(
    [](const MaskType * mask, unsigned radius) {
      return ApplyMorphology<itk::GrayscaleErodeImageFilter<MaskType, MaskType, BallType>>(mask, MakeBall(radius));
    },
    Radii);
}

TEST(BinaryDiscDilateImageFilter, EqualsITKsDilationByABall)
{
  CompareWith<itk::BinaryDiscDilateImageFilter<MaskType>>(
    [](const MaskType * mask, unsigned radius) {
      return ApplyMorphology<itk::GrayscaleDilateImageFilter<MaskType, MaskType, BallType>>(mask, MakeBall(radius));
    },
    Radii);
}

TEST(BinaryDiscErodeImageFilter, EqualsITKsBinaryErosionByABinaryBall)
{
  using KernelType = itk::BinaryBallStructuringElement<unsigned char, 2>;
  CompareWith<itk::BinaryDiscErodeImageFilter<MaskType>>(
    [](const MaskType * mask, unsigned radius) {
      auto filter = itk::BinaryErodeImageFilter<MaskType, MaskType, KernelType>::New();
      filter->SetInput(mask);
      KernelType kernel;
      kernel.SetRadius(radius);
      kernel.CreateStructuringElement();
      filter->SetKernel(kernel);
      filter->SetForegroundValue(255);
      filter->Update();
      return MaskType::Pointer(filter->GetOutput());
    },
    { 1, 3, 6 });
}

TEST(BinaryDiscDilateImageFilter, EqualsITKsBinaryDilationByABinaryBall)
{
  using KernelType = itk::BinaryBallStructuringElement<unsigned char, 2>;
  CompareWith<itk::BinaryDiscDilateImageFilter<MaskType>>(
    [](const MaskType * mask, unsigned radius) {
      auto filter = itk::BinaryDilateImageFilter<MaskType, MaskType, KernelType>::New();
      filter->SetInput(mask);
      KernelType kernel;
      kernel.SetRadius(radius);
      kernel.CreateStructuringElement();
      filter->SetKernel(kernel);
      filter->SetForegroundValue(255);
      filter->Update();
      return MaskType::Pointer(filter->GetOutput());
    },
    { 1, 3, 6 });
}

// Radii past one word and past the image.
TEST(BinaryWindowImageFilter, WideWindowsEqualTheirDefinition)
{
  const auto mask = MakeBlobs(150, 70, 8);
  for (const int radius : { 31, 32, 63, 64, 65, 90 })
  {
    const Windows windows(mask, radius);
    for (int sample = 0; sample < 60; ++sample)
    {
      const int x = (sample * 37) % 150;
      const int y = (sample * 29) % 70;
      int       foreground = 0;
      bool      all = true;
      bool      any = false;
      for (int dy = -radius; dy <= radius; ++dy)
      {
        for (int dx = -radius; dx <= radius; ++dx)
        {
          const MaskType::IndexType nearest{ { std::clamp(x + dx, 0, 149), std::clamp(y + dy, 0, 69) } };
          const bool                inside = nearest[0] == x + dx && nearest[1] == y + dy;
          const bool                value = mask->GetPixel(nearest) != 0;
          foreground += value ? 1 : 0;
          if (inside && dx * dx + dy * dy <= (radius + 0.5) * (radius + 0.5))
          {
            all = all && value;
            any = any || value;
          }
        }
      }
      const MaskType::IndexType index{ { x, y } };
      const int                 half = (2 * radius + 1) * (2 * radius + 1) / 2;
      ASSERT_EQ(windows.majority->GetPixel(index), foreground > half ? 255 : 0) << radius << " at " << index;
      ASSERT_EQ(windows.eroded->GetPixel(index), all ? 255 : 0) << radius << " at " << index;
      ASSERT_EQ(windows.dilated->GetPixel(index), any ? 255 : 0) << radius << " at " << index;
    }
  }
}

// Windows that hold the whole image, to a radius whose square no longer fits into 32 bits: a pixel of the border counts
// for all beyond it.
TEST(BinaryWindowImageFilter, WindowsWiderThanTheImageEqualTheirDefinition)
{
  for (const unsigned seed : { 11u, 12u, 13u })
  {
    const auto mask = MakeNoise(13, 9, 0.5, seed);
    for (const long radius : { 11, 12, 13, 15, 40, 1000000 })
    {
      const Windows windows(mask, static_cast<unsigned>(radius));
      // How many pixels of the window's row or column have pixel i as their nearest.
      const auto count = [radius](long center, long i, long last) {
        const long begin = i == 0 ? center - radius : std::max(i, center - radius);
        const long end = i == last ? center + radius : std::min(i, center + radius);
        return std::max(0L, end - begin + 1);
      };
      for (long y = 0; y < 9; ++y)
      {
        for (long x = 0; x < 13; ++x)
        {
          long long foreground = 0;
          bool      all = true;
          bool      any = false;
          for (long v = 0; v < 9; ++v)
          {
            for (long u = 0; u < 13; ++u)
            {
              const bool value = mask->GetPixel({ { u, v } }) != 0;
              const bool inDisc = (u - x) * (u - x) + (v - y) * (v - y) <= radius * radius + radius;
              foreground += value ? 1LL * count(x, u, 12) * count(y, v, 8) : 0;
              all = all && (value || !inDisc);
              any = any || (value && inDisc);
            }
          }
          const MaskType::IndexType index{ { x, y } };
          const long long           half = (2LL * radius + 1) * (2LL * radius + 1) / 2;
          ASSERT_EQ(windows.majority->GetPixel(index), foreground > half ? 255 : 0) << radius << " at " << index;
          ASSERT_EQ(windows.eroded->GetPixel(index), all ? 255 : 0) << radius << " at " << index;
          ASSERT_EQ(windows.dilated->GetPixel(index), any ? 255 : 0) << radius << " at " << index;
        }
      }
    }
  }
}

TEST(BinaryWindowImageFilter, StreamedEqualsWhole)
{
  for (const unsigned radius : { 0, 3, 8 })
  {
    ExpectStreamedEqualsWhole<itk::BinaryMajorityImageFilter<MaskType>>(radius);
    ExpectStreamedEqualsWhole<itk::BinaryDiscErodeImageFilter<MaskType>>(radius);
    ExpectStreamedEqualsWhole<itk::BinaryDiscDilateImageFilter<MaskType>>(radius);
  }
}

TEST(BinaryWindowImageFilter, AnyRegionEqualsTheWholeThere)
{
  ExpectRegionsEqualWhole<itk::BinaryMajorityImageFilter<MaskType>>(4);
  ExpectRegionsEqualWhole<itk::BinaryDiscErodeImageFilter<MaskType>>(1);
  ExpectRegionsEqualWhole<itk::BinaryDiscDilateImageFilter<MaskType>>(4);
}

// A mask of 0 and 1, as other programs write it, is the same mask.
TEST(BinaryWindowImageFilter, AnyNonzeroPixelIsForegroundAndGeometryIsKept)
{
  auto mask = MakeNoise(70, 30, 0.5, 9);
  for (itk::ImageRegionIterator<MaskType> it(mask, mask->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    it.Set(it.Get() != 0 ? 1 : 0);
  }
  const double spacing[2] = { 0.004, 0.005 };
  const double origin[2] = { 1.0, -2.0 };
  mask->SetSpacing(spacing);
  mask->SetOrigin(origin);
  auto filter = itk::BinaryDiscDilateImageFilter<MaskType>::New();
  filter->SetInput(mask);
  filter->SetRadius(0);
  filter->Update();
  EXPECT_EQ(filter->GetOutput()->GetSpacing(), mask->GetSpacing());
  EXPECT_EQ(filter->GetOutput()->GetOrigin(), mask->GetOrigin());
  itk::ImageRegionConstIterator<MaskType> it(filter->GetOutput(), mask->GetBufferedRegion());
  itk::ImageRegionConstIterator<MaskType> expected(mask, mask->GetBufferedRegion());
  for (; !it.IsAtEnd(); ++it, ++expected)
  {
    ASSERT_EQ(it.Get(), 255 * expected.Get());
  }
}

TEST(BinaryWindowImageFilter, ReportsProgressAndStopsWhenAborted)
{
  auto filter = itk::BinaryMajorityImageFilter<MaskType>::New();
  filter->SetInput(MakeNoise(300, 3000, 0.5, 10));
  filter->SetRadius(3);
  std::vector<float> progress;
  const auto         observer = filter->AddObserver(
    itk::ProgressEvent(), [&](const itk::EventObject &) { progress.push_back(filter->GetProgress()); });
  filter->Update();
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_GT(progress.size(), 3u);
  EXPECT_NEAR(filter->GetProgress(), 1.0, 1e-3);

  filter->RemoveObserver(observer);
  filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { filter->AbortGenerateDataOn(); });
  filter->Modified();
  EXPECT_THROW(filter->Update(), itk::ProcessAborted);
}

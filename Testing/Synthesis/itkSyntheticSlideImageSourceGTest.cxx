/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BasicObjectMethods.h"
#include "RefusalCode.h"
#include "itkSyntheticSlideImageSource.h"
#include "itkSyntheticSlideTruthImageSource.h"

#include "itkImageRegionConstIterator.h"
#include "itkImageRegionConstIteratorWithIndex.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace
{
using Slide = itk::SyntheticSlideImageSource;
using Truth = itk::SyntheticSlideTruthImageSource;
using Region = itk::ImageRegion<2>;

struct Settings
{
  itk::SizeValueType width{ 1500 }, height{ 1100 };
  unsigned           seed{ 1 };
  double             mpp{ 0.5 };
  bool               artifacts{ false };
  bool               brown{ false };
  double             focusShare{ 0.0 };
  bool               decoys{ false };
};

template <typename TSource>
typename TSource::Pointer
MakeSource(const Settings & settings)
{
  auto source = TSource::New();
  source->SetSize(settings.width, settings.height);
  source->SetSeed(settings.seed);
  source->SetMicronsPerPixel(settings.mpp);
  source->SetArtifacts(settings.artifacts);
  source->SetBrown(settings.brown);
  source->SetFocusShare(settings.focusShare);
  source->SetDecoys(settings.decoys);
  return source;
}

template <typename TSource>
typename TSource::OutputImageType::Pointer
Draw(const Settings & settings)
{
  auto source = MakeSource<TSource>(settings);
  source->Update();
  typename TSource::OutputImageType::Pointer image = source->GetOutput();
  image->DisconnectPipeline();
  return image;
}

/** Pixels in which a region drawn alone differs from the whole. */
template <typename TSource>
long
CountDifferences(const Settings & settings, const typename TSource::OutputImageType * whole, const Region & region)
{
  using Image = typename TSource::OutputImageType;
  auto source = MakeSource<TSource>(settings);
  source->UpdateOutputInformation();
  source->GetOutput()->SetRequestedRegion(region);
  source->GetOutput()->Update();
  EXPECT_EQ(source->GetOutput()->GetBufferedRegion(), region);
  itk::ImageRegionConstIterator<Image> part(source->GetOutput(), region);
  itk::ImageRegionConstIterator<Image> all(whole, region);
  long                                 differences = 0;
  for (; !part.IsAtEnd(); ++part, ++all)
  {
    differences += part.Get() != all.Get();
  }
  return differences;
}

template <typename TSource>
void
CheckRegions(const Settings & settings)
{
  const auto   whole = Draw<TSource>(settings);
  std::mt19937 random(7);
  const auto   below = [&](itk::SizeValueType limit) { return random() % limit; };
  for (int i = 0; i < 12; ++i)
  {
    Region region;
    region.SetIndex(0, static_cast<itk::IndexValueType>(below(settings.width)));
    region.SetIndex(1, static_cast<itk::IndexValueType>(below(settings.height)));
    for (const unsigned axis : { 0, 1 })
    {
      const auto rest =
        (axis == 0 ? settings.width : settings.height) - static_cast<itk::SizeValueType>(region.GetIndex(axis));
      region.SetSize(axis, 1 + below(std::min<itk::SizeValueType>(rest, 400)));
    }
    EXPECT_EQ(CountDifferences<TSource>(settings, whole, region), 0) << region;
  }
}

double
GetShare(const Truth::OutputImageType * truth)
{
  const auto * begin = truth->GetBufferPointer();
  const auto   size = truth->GetBufferedRegion().GetNumberOfPixels();
  return static_cast<double>(std::count(begin, begin + size, 255)) / static_cast<double>(size);
}

/** Intersection over union with the truth of what is not glass by its brightness: at 1/8, mean of RGB up to 230. */
double
GetThresholdOverlap(const Settings & settings)
{
  const auto slide = Draw<Slide>(settings);
  const auto truth = Draw<Truth>(settings);
  long       both = 0;
  long       either = 0;
  for (itk::SizeValueType top = 0; top + 8 <= settings.height; top += 8)
  {
    for (itk::SizeValueType left = 0; left + 8 <= settings.width; left += 8)
    {
      long sum = 0;
      long tissue = 0;
      for (itk::SizeValueType i = 0; i < 64; ++i)
      {
        const Slide::OutputImageType::IndexType index{ { static_cast<long>(left + i % 8),
                                                         static_cast<long>(top + i / 8) } };
        const auto &                            pixel = slide->GetPixel(index);
        sum += pixel[0] + pixel[1] + pixel[2];
        tissue += truth->GetPixel(index) == 255;
      }
      const bool stained = sum <= 230 * 3 * 64;
      both += stained ? tissue : 0;
      either += stained ? 64 : tissue;
    }
  }
  return static_cast<double>(both) / static_cast<double>(either);
}
} // namespace

TEST(SyntheticSlide, BasicObjectMethods)
{
  EXPECT_BASIC_OBJECT_METHODS(SyntheticSlideImageSource, SyntheticSlideSource, itk::SyntheticSlideImageSource);
  EXPECT_BASIC_OBJECT_METHODS(
    SyntheticSlideTruthImageSource, SyntheticSlideSource, itk::SyntheticSlideTruthImageSource);
}

TEST(SyntheticSlide, AnyRegionIsTheCropOfTheWhole)
{
  CheckRegions<Slide>({ 1500, 1100, 1, 0.5 });
  CheckRegions<Slide>({ 900, 1333, 4, 0.26 });
  CheckRegions<Slide>({ 700, 500, 3, 4.0 });
  CheckRegions<Slide>({ 1100, 900, 2, 1.0, true });
  CheckRegions<Slide>({ 1100, 900, 2, 1.0, false, false, 0.05 });
  CheckRegions<Slide>({ 1100, 900, 2, 0.5, false, false, 0.05, true });
}

TEST(SyntheticSlideTruth, AnyRegionIsTheCropOfTheWhole)
{
  CheckRegions<Truth>({ 1500, 1100, 1, 0.5 });
  CheckRegions<Truth>({ 900, 1333, 4, 0.26 });
  CheckRegions<Truth>({ 1100, 900, 2, 1.0, true });
}

TEST(SyntheticSlide, ThreadsDoNotMatter)
{
  const Settings settings;
  const auto     whole = Draw<Slide>(settings);
  auto           alone = MakeSource<Slide>(settings);
  alone->GetMultiThreader()->SetMaximumNumberOfThreads(1);
  alone->SetNumberOfWorkUnits(1);
  alone->Update();
  const auto size = whole->GetBufferedRegion().GetNumberOfPixels();
  EXPECT_TRUE(
    std::equal(whole->GetBufferPointer(), whole->GetBufferPointer() + size, alone->GetOutput()->GetBufferPointer()));
}

/** 34 to 53 % of the area lie in the outlines; holes, tears and pen take some of that. */
TEST(SyntheticSlideTruth, ShareOfTissue)
{
  double sum = 0.0;
  for (unsigned seed = 1; seed <= 8; ++seed)
  {
    for (const auto & size :
         { std::pair<itk::SizeValueType, itk::SizeValueType>{ 1000, 4000 }, { 1024, 1024 }, { 512, 512 } })
    {
      const double share = GetShare(Draw<Truth>({ size.first, size.second, seed, 0.5 }));
      EXPECT_GE(share, 0.25) << seed << ": " << size.first << " x " << size.second;
      EXPECT_LE(share, 0.60) << seed << ": " << size.first << " x " << size.second;
      sum += share / 24.0;
    }
  }
  EXPECT_NEAR(sum, 0.40, 0.05);
}

/** Hard enough that a threshold does not do, easy enough that it is a slide: pale tissue, fat, lumina and pen. */
TEST(SyntheticSlide, ThresholdingIsNearlyRight)
{
  for (unsigned seed = 1; seed <= 5; ++seed)
  {
    const double overlap = GetThresholdOverlap({ 2000, 4000, seed, 0.5 });
    EXPECT_GE(overlap, 0.85) << seed;
    EXPECT_LE(overlap, 0.97) << seed;
  }
}

/** The ink of seed 1 is green: no stain of H&E has green above red and blue, so such pixels are pen, and no tissue. */
TEST(SyntheticSlideTruth, PenIsNoTissue)
{
  const Settings settings{ 2000, 2000, 1, 0.5 };
  const auto     slide = Draw<Slide>(settings);
  const auto     truth = Draw<Truth>(settings);
  long           pen = 0;
  long           wrong = 0;
  for (itk::ImageRegionConstIteratorWithIndex<Slide::OutputImageType> at(slide, slide->GetBufferedRegion());
       !at.IsAtEnd();
       ++at)
  {
    const auto pixel = at.Get();
    if (pixel[1] > pixel[0] + 25 && pixel[1] > pixel[2] + 10)
    {
      ++pen;
      wrong += truth->GetPixel(at.GetIndex()) != 0;
    }
  }
  EXPECT_GT(pen, 5000);
  EXPECT_EQ(wrong, 0);
}

/** What the truth calls tissue is darker than glass on the whole; what is neither tissue nor pen nor debris is glass.
 */
TEST(SyntheticSlideTruth, TissueIsStained)
{
  const Settings settings{ 1600, 1600, 2, 0.5 };
  const auto     slide = Draw<Slide>(settings);
  const auto     truth = Draw<Truth>(settings);
  double         sum[2] = { 0.0, 0.0 };
  double         count[2] = { 0.0, 0.0 };
  for (itk::ImageRegionConstIteratorWithIndex<Slide::OutputImageType> at(slide, slide->GetBufferedRegion());
       !at.IsAtEnd();
       ++at)
  {
    const int tissue = truth->GetPixel(at.GetIndex()) == 255;
    sum[tissue] += at.Get()[1];
    count[tissue] += 1.0;
  }
  EXPECT_GT(sum[0] / count[0], 225.0);
  EXPECT_LT(sum[1] / count[1], 190.0);
}

/** Each of the artifacts is there, and what hides tissue is none in the truth. */
TEST(SyntheticSlide, ArtifactsAreDrawn)
{
  const Settings plain{ 1500, 1500, 5, 2.0 };
  Settings       with = plain;
  with.artifacts = true;
  const auto before = Draw<Slide>(plain);
  const auto after = Draw<Slide>(with);
  const auto truth = Draw<Truth>(with);
  long       black = 0;
  long       unscanned = 0;
  long       hiding = 0;
  long       blue = 0;
  long       red = 0;
  long       orange = 0;
  long       grayOnGlass = 0;
  for (itk::ImageRegionConstIteratorWithIndex<Slide::OutputImageType> at(after, after->GetBufferedRegion());
       !at.IsAtEnd();
       ++at)
  {
    const auto pixel = at.Get();
    const auto least = std::min({ pixel[0], pixel[1], pixel[2] });
    const auto most = std::max({ pixel[0], pixel[1], pixel[2] });
    const bool isBeyond = most == 0 || least == 255;
    black += most == 0;
    unscanned += least == 255;
    hiding += isBeyond && truth->GetPixel(at.GetIndex()) != 0;
    blue += pixel[2] > pixel[0] + 100;
    red += pixel[0] > pixel[1] + 110 && pixel[2] < 130;
    orange += pixel[0] > pixel[2] + 130;
    grayOnGlass += most < 150 && most - least < 12 && before->GetPixel(at.GetIndex())[1] > 235; // bubbles' rings, edge
  }
  const long area = 1500 * 1500;
  EXPECT_GT(black, area * 2 / 100);
  EXPECT_GT(unscanned, area / 300);
  EXPECT_EQ(hiding, 0);
  EXPECT_GT(blue, 1000);
  EXPECT_GT(red, 1000);
  EXPECT_GT(orange, 1000);
  EXPECT_GT(grayOnGlass, 500);
}

/** Diaminobenzidine absorbs blue most, eosin green. */
TEST(SyntheticSlide, BrownIsBrown)
{
  Settings settings{ 800, 800, 2, 1.0 };
  for (const bool brown : { false, true })
  {
    settings.brown = brown;
    const auto slide = Draw<Slide>(settings);
    const auto truth = Draw<Truth>(settings);
    double     green = 0.0;
    double     blue = 0.0;
    for (itk::ImageRegionConstIteratorWithIndex<Slide::OutputImageType> at(slide, slide->GetBufferedRegion());
         !at.IsAtEnd();
         ++at)
    {
      if (truth->GetPixel(at.GetIndex()) == 255)
      {
        green += at.Get()[1];
        blue += at.Get()[2];
      }
    }
    EXPECT_EQ(blue < green, brown);
  }
}

TEST(SyntheticSlide, AnotherSeedIsAnotherSpecimen)
{
  const auto first = Draw<Truth>({ 800, 800, 1, 0.5 });
  const auto second = Draw<Truth>({ 800, 800, 2, 0.5 });
  const auto size = first->GetBufferedRegion().GetNumberOfPixels();
  long       differing = 0;
  for (itk::SizeValueType i = 0; i < size; ++i)
  {
    differing += first->GetBufferPointer()[i] != second->GetBufferPointer()[i];
  }
  EXPECT_GT(differing, static_cast<long>(size / 20));
}

TEST(SyntheticSlide, GeometryAndLimits)
{
  auto source = MakeSource<Slide>({ 40, 30, 1, 0.25 });
  source->Update();
  EXPECT_DOUBLE_EQ(source->GetOutput()->GetSpacing()[1], 0.00025);
  EXPECT_EQ(source->GetOutput()->GetOrigin()[0], 0.0);
  EXPECT_NO_THROW(Draw<Slide>({ 1, 1, 1, 0.5 }));
  EXPECT_NO_THROW(Draw<Truth>({ 3, 900, 1, 0.5 }));
  EXPECT_REFUSAL((Draw<Slide>({ 0, 10, 1, 0.5 })), "E-OPTION-VALUE");
  EXPECT_REFUSAL((Draw<Truth>({ 10, 10, 1, 0.01 })), "E-OPTION-VALUE");
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "MaskImages.h"

#include "itkNearestUpsampleImageFilter.h"
#include "itkTissueLabelImageFilter.h"

#include "itkBinaryFillholeImageFilter.h"
#include "itkBinaryThresholdImageFilter.h"
#include "itkFlatStructuringElement.h"
#include "itkGrayscaleDilateImageFilter.h"
#include "itkGrayscaleErodeImageFilter.h"
#include "itkMedianImageFilter.h"
#include "itkRegionOfInterestImageFilter.h"
#include "itkStreamingImageFilter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

using namespace gigapixel_test;

namespace
{

using LabelFilter = itk::TissueLabelImageFilter<ColorType>;

/** Pink and violet blobs with holes on noisy glass, level 0 at 0.5 um: sizes that 8 does not divide. */
ColorType::Pointer
MakeSlide(itk::SizeValueType width, itk::SizeValueType height, unsigned seed)
{
  const auto   tissue = MakeBlobs((width + 7) / 8, (height + 7) / 8, seed);
  auto         image = MakeImage<ColorType>(width, height);
  std::mt19937 random(seed);
  for (itk::ImageRegionIteratorWithIndex<ColorType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    const bool           stained = tissue->GetPixel({ { it.GetIndex()[0] / 8, it.GetIndex()[1] / 8 } }) != 0;
    const int            noise = static_cast<int>(random() % 21) - 10;
    const int            colors[2][3] = { { 243, 241, 244 }, { 205, 130, 190 } };
    ColorType::PixelType pixel;
    for (unsigned c = 0; c < 3; ++c)
    {
      pixel[c] = static_cast<unsigned char>(std::clamp(colors[stained ? 1 : 0][c] + noise, 0, 255));
    }
    it.Set(pixel);
  }
  const double spacing[2] = { 0.0005, 0.0005 };
  image->SetSpacing(spacing);
  return image;
}

/** Semi-axes of the ellipse of MakeEllipse(), in pixels. */
constexpr double EllipseX = 420.3;
constexpr double EllipseY = 291.7;

/** An ellipse of 0.5 um pixels, stained on noisy glass or bright on dark, symmetric about no grid. Stained tissue is
 * darker where waves meet: what has no texture at all may be pen to a network. */
ColorType::Pointer
MakeEllipse(itk::SizeValueType width, itk::SizeValueType height, bool isDark)
{
  auto         image = MakeImage<ColorType>(width, height);
  std::mt19937 random(17);
  for (itk::ImageRegionIteratorWithIndex<ColorType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    const double x = (static_cast<double>(it.GetIndex()[0]) - 0.57 * static_cast<double>(width)) / EllipseX;
    const double y = (static_cast<double>(it.GetIndex()[1]) - 0.46 * static_cast<double>(height)) / EllipseY;
    const bool   isTissue = x * x + y * y < 1.0;
    const auto   wave = [&](double frequency) {
      return std::sin(frequency * static_cast<double>(it.GetIndex()[0])) *
             std::sin(1.4 * frequency * static_cast<double>(it.GetIndex()[1]));
    };
    const int texture =
      isTissue && !isDark ? static_cast<int>(30 * wave(0.02) + 30 * wave(0.05)) - (wave(0.15) > 0.3 ? 60 : 0) : 0;
    const int            noise = static_cast<int>(random() % 13) - 6 + texture;
    const int            colors[4][3] = { { 243, 241, 244 }, { 205, 130, 190 }, { 8, 8, 9 }, { 60, 90, 200 } };
    ColorType::PixelType pixel;
    for (unsigned c = 0; c < 3; ++c)
    {
      const int color = colors[(isDark ? 2 : 0) + (isTissue ? 1 : 0)][c];
      pixel[c] = static_cast<unsigned char>(std::clamp(color + noise, 0, 255));
    }
    it.Set(pixel);
  }
  const double spacing[2] = { 0.0005, 0.0005 };
  image->SetSpacing(spacing);
  return image;
}

/** The share of a mask's pixels that are tissue. */
double
GetTissueShare(const MaskType * mask, unsigned char tissue)
{
  const auto * const pixels = mask->GetBufferPointer();
  const auto         all = static_cast<std::ptrdiff_t>(mask->GetBufferedRegion().GetNumberOfPixels());
  return static_cast<double>(std::count(pixels, pixels + all, tissue)) / static_cast<double>(all);
}

/** The published chain by ITK's own filters, from the mean of the blocks on. */
MaskType::Pointer
LabelWithITK(const MaskType * thresholded, unsigned medianRadius, unsigned erosionRadius, unsigned dilationRadius)
{
  using BallType = itk::FlatStructuringElement<2>;
  auto median = itk::MedianImageFilter<MaskType, MaskType>::New();
  median->SetInput(thresholded);
  median->SetRadius(medianRadius);
  auto erode = itk::GrayscaleErodeImageFilter<MaskType, MaskType, BallType>::New();
  erode->SetInput(median->GetOutput());
  erode->SetKernel(BallType::Ball(BallType::RadiusType{ { erosionRadius, erosionRadius } }));
  auto dilate = itk::GrayscaleDilateImageFilter<MaskType, MaskType, BallType>::New();
  dilate->SetInput(erode->GetOutput());
  dilate->SetKernel(BallType::Ball(BallType::RadiusType{ { dilationRadius, dilationRadius } }));
  auto fill = itk::BinaryFillholeImageFilter<MaskType>::New();
  fill->SetInput(dilate->GetOutput());
  fill->SetForegroundValue(255);
  fill->Update();
  return fill->GetOutput();
}

MaskType::Pointer
StreamLabels(LabelFilter * filter, unsigned divisions)
{
  auto streamer = itk::StreamingImageFilter<MaskType, MaskType>::New();
  streamer->SetInput(filter->GetOutput());
  streamer->SetNumberOfStreamDivisions(divisions);
  streamer->Update();
  MaskType::Pointer mask = streamer->GetOutput();
  mask->DisconnectPipeline();
  return mask;
}

} // namespace

TEST(TissueLabelImageFilter, ThePublishedChainEqualsITKsFilters)
{
  const auto slide = MakeSlide(1003, 1501, 80);
  auto       filter = LabelFilter::New();
  filter->SetInput(slide);
  filter->SetPreset("remedios2023");
  filter->SetMedianRadiusInMicrometers(12.0);
  filter->SetErosionRadiusInMicrometers(8.0);
  filter->SetDilationRadiusInMicrometers(16.0);
  filter->Update();
  EXPECT_TRUE(filter->GetMicronsPerPixelIsKnown());
  EXPECT_DOUBLE_EQ(filter->GetLabelMicronsPerPixel(), 4.0);

  auto blocks = itk::BlockMeanImageFilter<ColorType>::New();
  blocks->SetInput(slide);
  blocks->Update();
  auto thresholded = MakeImage<MaskType>(126, 188);
  for (itk::ImageRegionIteratorWithIndex<MaskType> it(thresholded, thresholded->GetBufferedRegion()); !it.IsAtEnd();
       ++it)
  {
    const auto color = blocks->GetOutput()->GetPixel(it.GetIndex());
    it.Set(color[0] + color[1] + color[2] > 3 * 230 ? 0 : 255);
  }
  ExpectEqual<MaskType>(filter->GetOutput(), LabelWithITK(thresholded, 3, 2, 4), "published chain");
  EXPECT_EQ(filter->GetOutput()->GetSpacing()[0], 8 * 0.0005);
  EXPECT_NEAR(filter->GetOutput()->GetOrigin()[0], 3.5 * 0.0005, 1e-15);
  const auto first = filter->GetOutput()->GetBufferPointer();
  const auto tissue = std::count(first, first + 126 * 188, 255);
  EXPECT_GT(tissue, 2000);
  EXPECT_EQ(tissue + std::count(first, first + 126 * 188, 0), 126 * 188);
}

TEST(TissueLabelImageFilter, ClosingEqualsITKsFilters)
{
  const auto slide = MakeSlide(403, 601, 87);
  auto       filter = LabelFilter::New();
  filter->SetInput(slide);
  filter->SetPreset("remedios2023");
  filter->SetShrinkFactor(1);
  filter->SetMedianRadiusInMicrometers(0.0);
  filter->SetErosionRadiusInMicrometers(0.0);
  filter->SetDilationRadiusInMicrometers(0.0);
  filter->SetClosingRadiusInMicrometers(2.5);
  filter->Update();

  auto threshold = itk::TissueThresholdImageFilter<ColorType>::New();
  threshold->SetInput(slide);
  using BallType = itk::FlatStructuringElement<2>;
  const auto ball = BallType::Ball(BallType::RadiusType{ { 5, 5 } });
  auto       dilate = itk::GrayscaleDilateImageFilter<MaskType, MaskType, BallType>::New();
  dilate->SetInput(threshold->GetOutput());
  dilate->SetKernel(ball);
  auto erode = itk::GrayscaleErodeImageFilter<MaskType, MaskType, BallType>::New();
  erode->SetInput(dilate->GetOutput());
  erode->SetKernel(ball);
  auto fill = itk::BinaryFillholeImageFilter<MaskType>::New();
  fill->SetInput(erode->GetOutput());
  fill->SetForegroundValue(255);
  fill->Update();
  ExpectEqual<MaskType>(filter->GetOutput(), fill->GetOutput(), "closing");
}

TEST(TissueLabelImageFilter, StreamedEqualsWholeForEveryPreset)
{
  const auto slide = MakeSlide(1003, 2203, 81);
  for (const std::string & preset : LabelFilter::GetPresets())
  {
    auto whole = LabelFilter::New();
    whole->SetInput(slide);
    whole->SetPreset(preset);
    whole->Update();
    for (const unsigned divisions : { 2, 5, 64 })
    {
      auto filter = LabelFilter::New();
      filter->SetInput(slide);
      filter->SetPreset(preset);
      filter->SetNumberOfWorkUnits(1 + divisions % 3);
      const auto mask = StreamLabels(filter, divisions);
      ExpectEqual<MaskType>(mask, whole->GetOutput(), preset + ", " + std::to_string(divisions) + " divisions");
    }
  }
}

TEST(TissueLabelImageFilter, ChoosesThePresetForTheInput)
{
  const auto robust = LabelFilter::New();
  robust->SetInput(MakeSlide(999, 777, 5));
  robust->SetPreset("robust");
  const auto automatic = LabelFilter::New();
  automatic->SetInput(MakeSlide(999, 777, 5));
  automatic->SetPreset("rules");
  EXPECT_EQ(std::string(automatic->GetChosenPreset()), "rules");
  ExpectEqual<MaskType>(StreamLabels(automatic, 3), StreamLabels(robust, 1), "rules");
  EXPECT_EQ(std::string(automatic->GetPreset()), "rules");
  EXPECT_EQ(std::string(automatic->GetChosenPreset()), "robust");

  const auto dark = MakeImage<ColorType>(999, 777); // with a few nuclei
  dark->FillBuffer(ColorType::PixelType());
  for (itk::IndexValueType i = 0; i < 40 * 40; ++i)
  {
    dark->GetPixel({ { 300 + i % 40, 200 + i / 40 } }).Set(20, 30, 220);
  }
  automatic->SetInput(dark);
  automatic->Update();
  EXPECT_EQ(std::string(automatic->GetChosenPreset()), "fluorescence");
  EXPECT_EQ(automatic->GetMethod(), gigapixel::TissueMethod::BrightOnDark);
}

TEST(TissueLabelImageFilter, TheDefaultIsTheNetworkWhereItWasBuilt)
{
  const auto filter = LabelFilter::New();
  filter->SetInput(MakeSlide(999, 777, 5));
  EXPECT_EQ(std::string(filter->GetPreset()), LabelFilter::GetPresets().front());
  filter->Update();
  const auto named = LabelFilter::New();
  named->SetInput(MakeSlide(999, 777, 5));
  named->SetPreset(gigapixel::TissueNetwork::IsBuilt() ? "model" : "robust");
  EXPECT_EQ(std::string(filter->GetChosenPreset()), named->GetPreset());
  ExpectEqual<MaskType>(StreamLabels(filter, 1), StreamLabels(named, 1), "default");
}

TEST(TissueLabelImageFilter, ShrinksAsABlockMeanBeforeItAlsoWhereTheResolutionIsUnknown)
{
  auto         slide = MakeSlide(1041, 1041, 9); // a thousandth is 16 blocks of 64 pixels, and 17 label pixels
  const double unknown[2] = { 1.0, 1.0 };
  slide->SetSpacing(unknown);
  for (const std::string & preset : LabelFilter::GetPresets())
  {
    const auto own = LabelFilter::New();
    own->SetInput(slide);
    own->SetPreset(preset);
    const auto blocks = itk::BlockMeanImageFilter<ColorType>::New();
    blocks->SetInput(slide);
    blocks->SetShrinkFactor(8);
    const auto after = LabelFilter::New();
    after->SetInput(blocks->GetOutput());
    after->SetPreset(preset);
    after->SetShrinkFactor(1);
    ExpectEqual<MaskType>(StreamLabels(own, 1), StreamLabels(after, 1), preset);
  }
}

TEST(TissueLabelImageFilter, JudgesPixelsOfNominalSizeOrFiner)
{
  using gigapixel::GetJudgedPixelsPerSide;
  EXPECT_EQ(GetJudgedPixelsPerSide(8, 4.0), 1u);
  EXPECT_EQ(GetJudgedPixelsPerSide(8, 5.99), 1u);
  EXPECT_EQ(GetJudgedPixelsPerSide(8, 6.0), 2u);
  EXPECT_EQ(GetJudgedPixelsPerSide(32, 16.0), 4u); // 3 is no divisor
  EXPECT_EQ(GetJudgedPixelsPerSide(7, 14.0), 7u);
  EXPECT_EQ(GetJudgedPixelsPerSide(4, 160.0), 4u); // there is nothing finer
  EXPECT_EQ(GetJudgedPixelsPerSide(1, 160.0), 1u);
}

TEST(TissueLabelImageFilter, AMajorityMakesALabelPixel)
{
  constexpr std::size_t stride = 53;
  std::mt19937          random(3);
  for (int trial = 0; trial < 400; ++trial)
  {
    const auto                 side = static_cast<unsigned>(random() % 5 + 2);
    const std::size_t          width = random() % (stride - side) + side;
    const std::size_t          rows = random() % side + 1;
    std::vector<unsigned char> pixels(stride * side);
    std::generate(pixels.begin(), pixels.end(), [&] { return static_cast<unsigned char>(random() % 4); });
    const std::size_t          blocks = (width + side - 1) / side;
    std::vector<unsigned char> reduced(blocks + 1, 99);
    gigapixel::ReduceToMajority(pixels.data(), stride, width, rows, side, 1, reduced.data());
    EXPECT_EQ(reduced[blocks], 99);
    for (std::size_t block = 0; block < blocks; ++block)
    {
      std::vector<int>  counts(4);
      const std::size_t first = block * side;
      const std::size_t columns = std::min<std::size_t>(side, width - first);
      for (std::size_t i = 0; i < rows * columns; ++i)
      {
        ++counts[pixels[i / columns * stride + first + i % columns]];
      }
      const int  rest = counts[0] + counts[2] + counts[3];
      const bool center = pixels[rows / 2 * stride + first + columns / 2] == 1;
      const bool isTissue = counts[1] > rest || (counts[1] == rest && center);
      ASSERT_EQ(reduced[block] == 1, isTissue);
      if (!isTissue)
      {
        EXPECT_EQ(counts[reduced[block]], std::max({ counts[0], counts[2], counts[3] }));
      }
    }
  }
}

// The closed form is the ellipse's area; coarse pixels on its outline are mixtures of tissue and glass.
TEST(TissueLabelImageFilter, CoarseGridsHoldAsMuchTissueAsFineOnes)
{
  constexpr itk::SizeValueType width = 1536;
  constexpr itk::SizeValueType height = 1152;
  const double                 share = itk::Math::pi * EllipseX * EllipseY / (width * height);
  const double                 unknown[2] = { 1.0, 1.0 };
  for (const std::string & preset : LabelFilter::GetPresets())
  {
    for (const bool isKnown : { true, false })
    {
      const auto slide = MakeEllipse(width, height, preset == "fluorescence");
      if (!isKnown)
      {
        slide->SetSpacing(unknown);
      }
      for (const unsigned shrinkFactor : { 4u, 8u, 12u, 16u, 24u, 32u, 48u, 64u })
      {
        const auto filter = LabelFilter::New();
        filter->SetInput(slide);
        filter->SetPreset(preset);
        filter->SetShrinkFactor(shrinkFactor);
        filter->Update();
        // Three label pixels, and what the network is off by on the finest grid (0.0045).
        const double tolerance = 0.006 + 3.0 * shrinkFactor * shrinkFactor / (width * height);
        EXPECT_NEAR(GetTissueShare(filter->GetOutput(), 255), share, tolerance)
          << preset << ", downsample " << shrinkFactor << (isKnown ? "" : ", resolution unknown");
        const auto grid = itk::BlockMeanImageFilter<ColorType>::New();
        grid->SetInput(slide);
        grid->SetShrinkFactor(shrinkFactor);
        grid->UpdateOutputInformation();
        EXPECT_EQ(filter->GetOutput()->GetSpacing(), grid->GetOutput()->GetSpacing());
        EXPECT_EQ(filter->GetOutput()->GetOrigin(), grid->GetOutput()->GetOrigin());
        EXPECT_EQ(filter->GetOutput()->GetBufferedRegion(), grid->GetOutput()->GetLargestPossibleRegion());
      }
    }
  }
}

TEST(TissueLabelImageFilter, StreamedEqualsWholeOnACoarseGrid)
{
  const auto slide = MakeSlide(1003, 2203, 88);
  for (const std::string & preset : LabelFilter::GetPresets())
  {
    for (const bool classes : { false, true })
    {
      const auto make = [&] {
        auto filter = LabelFilter::New();
        filter->SetInput(slide);
        filter->SetPreset(preset);
        filter->SetShrinkFactor(24);
        filter->SetOutputClasses(classes);
        return filter;
      };
      const auto whole = make();
      whole->Update();
      ExpectEqual<MaskType>(StreamLabels(make(), 5), whole->GetOutput(), preset);
    }
  }
}

TEST(TissueLabelImageFilter, ReadsTheSlideOnceForAnyNumberOfDivisions)
{
  // A streaming stage in front of which we can see what is asked for.
  const auto slide = MakeSlide(1003, 4003, 82);
  auto       crop = itk::RegionOfInterestImageFilter<ColorType, ColorType>::New();
  crop->SetInput(slide);
  crop->SetRegionOfInterest(ColorType::RegionType({ { 3, 1 } }, { { 1000, 4001 } }));
  unsigned long executions = 0;
  crop->AddObserver(itk::EndEvent(), [&executions](const itk::EventObject &) { ++executions; });
  auto filter = LabelFilter::New();
  filter->SetInput(crop->GetOutput());
  filter->SetPreset("remedios2023");
  const auto first = StreamLabels(filter, 32);
  const auto once = executions;
  EXPECT_LE(once, 3u);
  filter->GetOutput()->ReleaseData();
  const auto second = StreamLabels(filter, 7);
  EXPECT_LE(executions, once + 1);
  ExpectEqual<MaskType>(second, first, "second pass");
  const auto twice = executions;

  crop->SetRegionOfInterest(ColorType::RegionType({ { 0, 0 } }, { { 500, 300 } }));
  const auto cropped = StreamLabels(filter, 2);
  EXPECT_EQ(cropped->GetLargestPossibleRegion().GetSize(0), 63u);
  EXPECT_GT(executions, twice);
}

// What comes after may overwrite the output's pixels; asking again gives the mask, not what was made of it.
TEST(TissueLabelImageFilter, AskedAgainAfterItsPixelsWereOverwritten)
{
  auto filter = LabelFilter::New();
  filter->SetInput(MakeSlide(403, 303, 83));
  filter->Update();
  const auto        size = filter->GetOutput()->GetBufferedRegion().GetNumberOfPixels();
  const std::string before(reinterpret_cast<char *>(filter->GetOutput()->GetBufferPointer()), size);
  filter->GetOutput()->FillBuffer(7);
  filter->GetOutput()->ReleaseData();
  filter->Update();
  const std::string after(reinterpret_cast<char *>(filter->GetOutput()->GetBufferPointer()), size);
  EXPECT_TRUE(before == after);
}

TEST(TissueLabelImageFilter, NoTissueIsAnEmptyMask)
{
  auto                 glass = MakeImage<ColorType>(321, 200);
  ColorType::PixelType white;
  white.Fill(255);
  glass->FillBuffer(white);
  for (const char * preset : { "remedios2023", "robust", "auto" })
  {
    auto filter = LabelFilter::New();
    filter->SetInput(glass);
    filter->SetPreset(preset);
    filter->Update();
    const auto * pixels = filter->GetOutput()->GetBufferPointer();
    EXPECT_EQ(std::count(pixels, pixels + 41 * 25, 0), 41 * 25) << preset;
  }
}

TEST(TissueLabelImageFilter, MicrometersBecomePixelsByTheSpacingWhereItIsPlausible)
{
  auto slide = MakeSlide(64, 64, 84);
  auto filter = LabelFilter::New();
  filter->SetInput(slide);
  const auto expect = [&](double millimeters, bool known, double label) {
    const double spacing[2] = { millimeters, millimeters };
    slide->SetSpacing(spacing);
    filter->UpdateOutputInformation();
    EXPECT_EQ(filter->GetMicronsPerPixelIsKnown(), known) << millimeters;
    EXPECT_NEAR(filter->GetLabelMicronsPerPixel(), label, 1e-9) << millimeters;
  };
  expect(0.00025, true, 2.0);
  expect(0.02, true, 160.0);
  expect(1.0, false, 4.0);
  expect(0.02897, false, 4.0);
  expect(0.000005, false, 4.0);
  filter->SetMicronsPerPixel(0.25);
  expect(1.0, true, 2.0);
  filter->SetShrinkFactor(1);
  expect(1.0, true, 0.25);
}

// A thumbnail without a resolution: its tissue is small in pixels, and yet no debris.
TEST(TissueLabelImageFilter, WithoutAResolutionWhatFillsAThousandthOfThePictureStays)
{
  auto                 thumbnail = MakeImage<ColorType>(200, 200);
  ColorType::PixelType color;
  color.Fill(240);
  thumbnail->FillBuffer(color);
  color[1] = 150;
  for (int y = 90; y < 110; ++y)
  {
    for (int x = 90; x < 110; ++x)
    {
      thumbnail->SetPixel({ { x, y } }, color);
    }
  }
  auto filter = LabelFilter::New();
  filter->SetInput(thumbnail);
  filter->SetPreset("robust");
  filter->SetShrinkFactor(1);
  filter->Update();
  EXPECT_EQ(filter->GetOutput()->GetPixel({ { 100, 100 } }), 255);
  // 400 pixels of 4 um are 6400 um^2: debris, if that is the resolution.
  filter->SetMicronsPerPixel(4.0);
  filter->Update();
  EXPECT_EQ(filter->GetOutput()->GetPixel({ { 100, 100 } }), 0);
}

TEST(TissueLabelImageFilter, SaysWhichPresetsThereAreAndWhichRadiusIsTooLarge)
{
  auto       filter = LabelFilter::New();
  const auto refused = gigapixel_test::FindRefusal([&] { filter->SetPreset("best"); });
  EXPECT_EQ(refused.code, "E-TISSUE-PRESET");
  EXPECT_EQ(refused.value, "best");
  for (const std::string & name : gigapixel::GetTissuePresetNames())
  {
    EXPECT_NE(refused.why.find(name), std::string::npos) << name;
  }
  filter->SetInput(MakeSlide(64, 64, 85));
  filter->SetMedianRadiusInMicrometers(5000.0);
  EXPECT_REFUSAL(filter->UpdateOutputInformation(), "E-OPTION-VALUE");
}

TEST(TissueLabelImageFilter, WhatIsNoNumberIsRefused)
{
  const auto                                            nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::function<void(LabelFilter &)>> setters{
    [nan](LabelFilter & filter) { filter.SetMedianRadiusInMicrometers(nan); },
    [nan](LabelFilter & filter) { filter.SetClosingRadiusInMicrometers(nan); },
    [nan](LabelFilter & filter) { filter.SetMaximumHoleAreaInSquareMicrometers(nan); },
    [nan](LabelFilter & filter) { filter.SetMinimumAreaInSquareMicrometers(nan); },
    [nan](LabelFilter & filter) { filter.SetMicronsPerPixel(nan); }
  };
  for (const auto & set : setters)
  {
    auto filter = LabelFilter::New();
    filter->SetInput(MakeSlide(64, 64, 87));
    set(*filter);
    const auto refused = gigapixel_test::FindRefusal([&] { filter->UpdateOutputInformation(); });
    EXPECT_EQ(refused.code, "E-OPTION-VALUE");
    EXPECT_EQ(refused.value, "nan");
  }
}

TEST(TissueLabelImageFilter, ReportsProgressAndStopsWhenAborted)
{
  for (const std::string & preset : LabelFilter::GetPresets())
  {
    auto filter = LabelFilter::New();
    filter->SetShrinkFactor(1);
    filter->SetMicronsPerPixel(4.0);
    filter->SetInput(MakeSlide(2003, 2503, 86));
    filter->SetPreset(preset);
    std::vector<float> progress;
    const auto         observer = filter->AddObserver(
      itk::ProgressEvent(), [&](const itk::EventObject &) { progress.push_back(filter->GetProgress()); });
    filter->Update();
    EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end())) << preset;
    EXPECT_GE(progress.size(), 5u) << preset;
    EXPECT_EQ(progress.back(), 1.0f) << preset;

    filter->RemoveObserver(observer);
    filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
      if (filter->GetProgress() > 0.2f)
      {
        filter->AbortGenerateDataOn();
      }
    });
    const_cast<ColorType *>(filter->GetInput())->Modified();
    EXPECT_THROW(filter->Update(), itk::ProcessAborted) << preset;
  }
}

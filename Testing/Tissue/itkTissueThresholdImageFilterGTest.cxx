/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "MaskImages.h"

#include "gigapixelTissuePresets.h"
#include "gigapixelTissueNetwork.h"
#include "itkTissueThresholdImageFilter.h"

#include "itkImageToHistogramFilter.h"
#include "itkOtsuThresholdCalculator.h"
#include "itkStreamingImageFilter.h"

#include <cmath>

using namespace gigapixel_test;
using gigapixel::TissueMethod;

namespace
{

/** The published rule in its own words, in floating point. */
int
PublishedRule(int red, int green, int blue)
{
  if ((red + green + blue) / 3.0 > 230.0)
  {
    red = green = blue = 0;
  }
  const double gray = 0.299 * red + 0.587 * green + 0.114 * blue;
  return std::floor(gray + 0.5) != 0.0 ? 255 : 0;
}

MaskType::Pointer
Threshold(const ColorType * image, TissueMethod method)
{
  auto filter = itk::TissueThresholdImageFilter<ColorType>::New();
  filter->SetInput(image);
  filter->SetMethod(method);
  filter->Update();
  return filter->GetOutput();
}

} // namespace

// All colors within reach of the two borders of the rule, and a grid over the rest.
TEST(TissueThresholdImageFilter, MeanBelowIsThePublishedRule)
{
  std::vector<ColorType::PixelType> colors;
  const auto                        add = [&colors](int red, int green, int blue) {
    ColorType::PixelType color;
    color[0] = static_cast<unsigned char>(red);
    color[1] = static_cast<unsigned char>(green);
    color[2] = static_cast<unsigned char>(blue);
    colors.push_back(color);
  };
  for (int red = 0; red < 256; ++red)
  {
    for (int green = 0; green < 256; ++green)
    {
      for (int blue = 0; blue < 256; ++blue)
      {
        const bool nearWhite = std::abs(red + green + blue - 690) <= 2 && (red * 7 + green) % 5 == 0;
        const bool nearBlack = red + green + blue <= 12;
        if (nearWhite || nearBlack || (red % 15 == 0 && green % 15 == 0 && blue % 15 == 0))
        {
          add(red, green, blue);
        }
      }
    }
  }
  auto image = MakeImage<ColorType>(colors.size(), 1);
  std::copy(colors.begin(), colors.end(), image->GetBufferPointer());
  const auto mask = Threshold(image, TissueMethod::MeanBelow);
  for (std::size_t i = 0; i < colors.size(); ++i)
  {
    ASSERT_EQ(mask->GetBufferPointer()[i], PublishedRule(colors[i][0], colors[i][1], colors[i][2])) << colors[i];
  }
}

TEST(TissueThresholdImageFilter, GrayIsThreeEqualChannels)
{
  auto gray = MakeImage<MaskType>(256, 1);
  for (int value = 0; value < 256; ++value)
  {
    gray->GetBufferPointer()[value] = static_cast<unsigned char>(value);
  }
  auto filter = itk::TissueThresholdImageFilter<MaskType>::New();
  filter->SetInput(gray);
  filter->Update();
  for (int value = 0; value < 256; ++value)
  {
    EXPECT_EQ(filter->GetOutput()->GetBufferPointer()[value], PublishedRule(value, value, value)) << value;
  }
}

TEST(TissueRule, OtsuEqualsITKsCalculator)
{
  std::mt19937 random(70);
  for (int trial = 0; trial < 30; ++trial)
  {
    auto                           image = MakeImage<MaskType>(200, 20);
    std::normal_distribution<>     dark(40 + trial, 5 + trial % 7);
    std::normal_distribution<>     bright(150 + 2 * trial, 12);
    std::array<std::uint64_t, 256> histogram{};
    for (itk::ImageRegionIterator<MaskType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
    {
      const double value = random() % 10 < 6u ? dark(random) : bright(random);
      it.Set(static_cast<unsigned char>(std::clamp(value, 0.0, 255.0)));
      ++histogram[it.Get()];
    }
    using HistogramFilter = itk::Statistics::ImageToHistogramFilter<MaskType>;
    auto counter = HistogramFilter::New();
    counter->SetInput(image);
    HistogramFilter::HistogramSizeType size(1);
    size.Fill(256);
    HistogramFilter::HistogramMeasurementVectorType low(1), high(1);
    low.Fill(-0.5);
    high.Fill(255.5);
    counter->SetHistogramSize(size);
    counter->SetHistogramBinMinimum(low);
    counter->SetHistogramBinMaximum(high);
    counter->AutoMinimumMaximumOff();
    counter->Update();
    auto otsu = itk::OtsuThresholdCalculator<HistogramFilter::HistogramType>::New();
    otsu->SetInput(counter->GetOutput());
    otsu->Update();
    // ITK's threshold is the upper edge of the last dark bin (b - 1/2 + 1); where many values are equally good it may
    // return their middle, so that only the separation is compared.
    const double separator = otsu->GetThreshold();
    const auto   countBelow = [&](double limit) {
      std::uint64_t count = 0;
      for (int value = 0; value < 256 && value < limit; ++value)
      {
        count += histogram[value];
      }
      return count;
    };
    EXPECT_EQ(countBelow(gigapixel::OtsuThreshold(histogram)), countBelow(separator)) << trial;
  }
}

TEST(TissueRule, OneColorIsNothingToSeparate)
{
  auto                 image = MakeImage<ColorType>(40, 40);
  ColorType::PixelType color;
  for (const unsigned char value : { 0, 128, 255 })
  {
    color.Fill(value);
    image->FillBuffer(color);
    for (const TissueMethod method : { TissueMethod::Stain, TissueMethod::BrownStain, TissueMethod::BrightOnDark })
    {
      const auto mask = Threshold(image, method);
      EXPECT_EQ(std::count(mask->GetBufferPointer(), mask->GetBufferPointer() + 1600, 255), 0) << int(value);
    }
  }
}

// Colors as they lie on slides, on glass with a cast and a little noise.
TEST(TissueRule, StainIsToldFromPenDustAndShadow)
{
  struct Sample
  {
    const char * what;
    int          color[3];
    int          expected;
  };
  const std::vector<Sample> samples{
    { "glass", { 238, 236, 240 }, 0 },        { "eosin", { 225, 150, 190 }, 255 },
    { "pale eosin", { 235, 222, 236 }, 255 }, { "strong eosin", { 205, 80, 120 }, 255 },
    { "hematoxylin", { 95, 70, 150 }, 255 },  { "blood", { 170, 60, 80 }, 255 },
    { "dust", { 120, 118, 121 }, 0 },         { "shadow", { 200, 198, 202 }, 0 },
    { "black frame", { 0, 0, 0 }, 0 },        { "not scanned", { 255, 255, 255 }, 0 },
    { "green pen", { 60, 150, 95 }, 0 },      { "blue pen", { 50, 100, 190 }, 0 },
    { "red pen", { 220, 60, 75 }, 0 },        { "black pen", { 30, 28, 35 }, 0 },
    { "yellow paper", { 220, 200, 120 }, 0 }, { "mounting medium", { 235, 229, 228 }, 0 },
    { "brown", { 165, 125, 90 }, 0 }
  };
  auto         image = MakeImage<ColorType>(1000, 1);
  std::mt19937 random(72);
  for (int i = 0; i < 1000; ++i)
  {
    const bool isSample = i < static_cast<int>(samples.size());
    for (unsigned c = 0; c < 3; ++c)
    {
      const int glass = samples[0].color[c] + static_cast<int>(random() % 3) - 1;
      image->GetBufferPointer()[i][c] = static_cast<unsigned char>(isSample ? samples[i].color[c] : glass);
    }
  }
  const auto mask = Threshold(image, TissueMethod::Stain);
  for (std::size_t i = 0; i < 1000; ++i)
  {
    const bool isSample = i < samples.size();
    EXPECT_EQ(mask->GetBufferPointer()[i], isSample ? samples[i].expected : 0)
      << (isSample ? samples[i].what : "noise");
  }
}

// Seen on real slides: the same colors in every picture, judged by its own glass.
TEST(TissueRule, PaleEosinBrownSectionsAndWhatIsBrighterThanTheGlass)
{
  using Color = std::array<unsigned char, 3>;
  const auto countTissue = [](TissueMethod method, Color ground, int grounds, Color other, int others) {
    auto image = MakeImage<ColorType>(grounds + others, 1);
    for (int i = 0; i < grounds + others; ++i)
    {
      const Color & color = i < grounds ? ground : other;
      std::copy(color.begin(), color.end(), image->GetBufferPointer()[i].GetDataPointer());
    }
    const auto mask = Threshold(image, method);
    return std::count(mask->GetBufferPointer(), mask->GetBufferPointer() + grounds + others, 255);
  };
  // Frozen cortex: eosin that absorbs blue nearly as much as green, but far less than red pen does.
  EXPECT_EQ(countTissue(TissueMethod::Stain, { 242, 242, 242 }, 700, { 230, 166, 182 }, 300), 300);
  // Areas that were not scanned, on a slide whose glass is yellowish: brighter than the glass.
  EXPECT_EQ(countTissue(TissueMethod::Stain, { 251, 252, 244 }, 300, { 255, 255, 254 }, 200), 0);
  // A brown section on ground that was cleaned to white: white is the glass there.
  EXPECT_EQ(countTissue(TissueMethod::BrownStain, { 255, 255, 255 }, 700, { 210, 180, 130 }, 300), 300);
}

// JPEG keeps color at half the resolution (4:2:0), luma at the full one: what is as bright as glass is glass, though
// the color of the tissue beside it lies on it. Outlines at every offset to the blocks of color come out within a
// quarter of a pixel of where they are.
TEST(TissueRule, ColorThatJPEGSpreadOverTheOutlineIsNoTissue)
{
  constexpr int                            width = 640;
  const std::array<double, 3>              glass{ { 238, 236, 240 } }, eosin{ { 225, 150, 190 } };
  std::array<double, width>                tissue{};
  std::array<double, width>                luma{};
  std::array<std::array<double, width>, 3> color{};
  for (int x = 0; x < width; ++x)
  {
    tissue[x] = x % 13 < 6 ? 1.0 : 0.0;
    const auto mix = [&](std::size_t c) { return glass[c] + tissue[x] * (eosin[c] - glass[c]); };
    luma[x] = 0.299 * mix(0) + 0.587 * mix(1) + 0.114 * mix(2);
    for (std::size_t c = 0; c < 3; ++c)
    {
      color[c][x] = mix(c) - luma[x];
    }
  }
  auto image = MakeImage<ColorType>(width, 1);
  for (int x = 0; x < width; ++x)
  {
    const int block = x / 2 * 2;
    const int beside = std::clamp(x % 2 == 0 ? block - 2 : block + 2, 0, width - 2);
    for (unsigned c = 0; c < 3; ++c)
    {
      const auto   mean = [&](int from) { return 0.5 * (color[c][from] + color[c][from + 1]); };
      const double value = luma[x] + 0.75 * mean(block) + 0.25 * mean(beside); // as libjpeg interpolates
      image->GetBufferPointer()[x][c] = static_cast<unsigned char>(std::lround(std::clamp(value, 0.0, 255.0)));
    }
  }
  const auto mask = Threshold(image, TissueMethod::Stain);
  double     wrong = 0.0;
  for (int x = 0; x < width; ++x)
  {
    wrong += std::abs(mask->GetBufferPointer()[x] / 255.0 - tissue[x]);
  }
  EXPECT_LT(wrong, 0.25 * 2 * width / 13);
}

// Beer and Lambert: light through densities of diaminobenzidine and hematoxylin as they were measured (Ruifrok and
// Johnston, 2001), from pale to dark, is tissue; pens and the cast of a mounting medium are not.
TEST(TissueRule, BrownStainIsTissueInEveryStrength)
{
  const std::array<int, 3>    glass{ { 238, 236, 240 } };
  const std::array<double, 3> brown{ { 0.268, 0.570, 0.776 } };
  const std::array<double, 3> violet{ { 0.650, 0.704, 0.286 } };
  auto                        image = MakeImage<ColorType>(1000, 1);
  std::mt19937                random(73);
  for (int i = 0; i < 1000; ++i)
  {
    for (unsigned c = 0; c < 3; ++c)
    {
      image->GetBufferPointer()[i][c] = static_cast<unsigned char>(glass[c] + static_cast<int>(random() % 3) - 1);
    }
  }
  int next = 0;
  for (const double share : { 0.0, 0.3, 0.7, 1.0 })
  {
    for (const double strength : { 0.15, 0.3, 0.6, 1.0, 1.5 })
    {
      for (unsigned c = 0; c < 3; ++c)
      {
        const double density = strength * (share * brown[c] + (1.0 - share) * violet[c]);
        image->GetBufferPointer()[next][c] = static_cast<unsigned char>(std::lround(glass[c] * std::exp(-density)));
      }
      ++next;
    }
  }
  const int stained = next;
  for (const auto & other : std::vector<std::array<int, 3>>{
         { 60, 150, 95 }, { 50, 100, 190 }, { 220, 60, 75 }, { 30, 28, 35 }, { 236, 170, 66 }, { 235, 229, 228 } })
  {
    for (unsigned c = 0; c < 3; ++c)
    {
      image->GetBufferPointer()[next][c] = static_cast<unsigned char>(other[c]);
    }
    ++next;
  }
  const auto mask = Threshold(image, TissueMethod::BrownStain);
  for (int i = 0; i < 1000; ++i)
  {
    EXPECT_EQ(mask->GetBufferPointer()[i], i < stained ? 255 : 0) << i;
  }
}

TEST(TissuePresets, SuggestedByGroundAndStain)
{
  const auto sample = [](const std::vector<std::pair<std::array<unsigned char, 3>, int>> & colors) {
    gigapixel::TissueSample made;
    for (const auto & [color, count] : colors)
    {
      for (int i = 0; i < count; ++i)
      {
        made.pixels.insert(made.pixels.end(), color.begin(), color.end());
      }
    }
    return made;
  };
  const auto suggest = [&](const std::vector<std::pair<std::array<unsigned char, 3>, int>> & colors) {
    return gigapixel::SuggestTissuePreset(sample(colors)).name;
  };
  const std::array<unsigned char, 3> glass{ { 240, 240, 241 } }, pink{ { 225, 150, 190 } }, brown{ { 165, 125, 90 } },
    black{ { 0, 0, 0 } }, blue{ { 2, 3, 210 } };
  EXPECT_EQ(suggest({ { glass, 600 }, { pink, 400 } }), "robust");
  EXPECT_EQ(suggest({ { glass, 600 }, { pink, 370 }, { brown, 30 } }), "robust");
  EXPECT_EQ(suggest({ { glass, 600 }, { pink, 200 }, { brown, 200 } }), "ihc");
  EXPECT_EQ(suggest({ { glass, 1000 } }), "robust");
  EXPECT_EQ(suggest({ { black, 700 }, { blue, 300 } }), "fluorescence");
  EXPECT_EQ(suggest({ { black, 700 }, { glass, 200 }, { pink, 100 } }), "robust"); // a black frame

  const auto stained = sample({ { glass, 600 }, { pink, 200 }, { brown, 200 } });
  const auto shining = sample({ { black, 700 }, { blue, 300 } });
  EXPECT_EQ(gigapixel::ChooseTissuePreset("rules", stained).name, "ihc");
  EXPECT_EQ(gigapixel::ChooseTissuePreset("robust", stained).name, "robust");
  EXPECT_EQ(gigapixel::ChooseTissuePreset("auto", stained).name, gigapixel::TissueNetwork::IsBuilt() ? "model" : "ihc");
  EXPECT_EQ(gigapixel::IsAutomaticTissuePreset("auto"), !gigapixel::TissueNetwork::IsBuilt());
  EXPECT_EQ(gigapixel::ChooseTissuePreset("rules", shining).name, "fluorescence");
  EXPECT_EQ(gigapixel::ChooseTissuePreset("auto", shining).name,
            gigapixel::TissueNetwork::IsBuilt() ? "model" : "fluorescence");
}

// A gray slide has no color: there, darkness decides.
TEST(TissueRule, InGrayStainIsWhatIsDarkerThanTheGlass)
{
  auto gray = MakeImage<MaskType>(400, 1);
  gray->FillBuffer(240);
  gray->GetBufferPointer()[7] = 180;
  gray->GetBufferPointer()[8] = 238;
  auto filter = itk::TissueThresholdImageFilter<MaskType>::New();
  filter->SetInput(gray);
  filter->SetMethod(TissueMethod::Stain);
  filter->Update();
  EXPECT_EQ(filter->GetOutput()->GetBufferPointer()[7], 255);
  EXPECT_EQ(std::count(filter->GetOutput()->GetBufferPointer(), filter->GetOutput()->GetBufferPointer() + 400, 255), 1);
}

// From Python, methods are numbers.
TEST(TissueThresholdImageFilter, WhatIsNoMethodIsRefused)
{
  auto filter = itk::TissueThresholdImageFilter<ColorType>::New();
  for (const int number : { -1, 4 })
  {
    const auto refused = gigapixel_test::FindRefusal([&] { filter->SetMethod(static_cast<TissueMethod>(number)); });
    EXPECT_EQ(refused.code, "E-OPTION-VALUE");
    EXPECT_EQ(refused.value, std::to_string(number));
  }
  EXPECT_EQ(filter->GetMethod(), TissueMethod::MeanBelow);
}

// The thresholds are those of the whole image, whatever region is asked for.
TEST(TissueThresholdImageFilter, StreamedEqualsWholeForDataDrivenThresholds)
{
  auto         image = MakeImage<ColorType>(97, 301);
  std::mt19937 random(71);
  for (itk::ImageRegionIteratorWithIndex<ColorType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    ColorType::PixelType color;
    for (unsigned c = 0; c < 3; ++c)
    {
      // Each band of the image has its own contrast: a threshold per region would differ.
      const auto y = it.GetIndex()[1];
      color[c] = static_cast<unsigned char>(random() % (20 + y / 2) + (c == 1 ? 20 : 60));
    }
    it.Set(color);
  }
  for (const TissueMethod method :
       { TissueMethod::MeanBelow, TissueMethod::Stain, TissueMethod::BrownStain, TissueMethod::BrightOnDark })
  {
    const auto whole = Threshold(image, method);
    for (const unsigned divisions : { 2, 7, 64 })
    {
      auto filter = itk::TissueThresholdImageFilter<ColorType>::New();
      filter->SetInput(image);
      filter->SetMethod(method);
      auto streamer = itk::StreamingImageFilter<MaskType, MaskType>::New();
      streamer->SetInput(filter->GetOutput());
      streamer->SetNumberOfStreamDivisions(divisions);
      streamer->Update();
      ExpectEqual<MaskType>(streamer->GetOutput(), whole, std::to_string(divisions) + " divisions");
    }
  }
}

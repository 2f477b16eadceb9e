/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Lesions and decoys of them: where they are, that colors and amounts do not tell them apart, and that patterns do.
#include "RefusalCode.h"
#include "itkSyntheticSlideImageSource.h"
#include "itkSyntheticSlideTruthImageSource.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace
{
using Slide = itk::SyntheticSlideImageSource;
using Truth = itk::SyntheticSlideTruthImageSource;
using Polygon = std::vector<std::array<double, 2>>;

constexpr itk::SizeValueType Side = 700;

enum class Foci
{
  None,
  Lesions,
  Decoys
};

template <typename TSource>
typename TSource::Pointer
MakeSource(unsigned seed, Foci foci, double share)
{
  auto source = TSource::New();
  source->SetSize(Side, Side);
  source->SetSeed(seed);
  source->SetMicronsPerPixel(1.0);
  source->SetFocusShare(foci == Foci::None ? 0.0 : share);
  source->SetDecoys(foci == Foci::Decoys);
  return source;
}

template <typename TSource>
typename TSource::OutputImageType::Pointer
Draw(unsigned seed, Foci foci, double share)
{
  auto source = MakeSource<TSource>(seed, foci, share);
  source->Update();
  typename TSource::OutputImageType::Pointer image = source->GetOutput();
  image->DisconnectPipeline();
  return image;
}

std::vector<Polygon>
GetOutlines(unsigned seed, Foci foci, double share)
{
  auto source = MakeSource<Slide>(seed, foci, share);
  source->UpdateOutputInformation();
  return source->GetFocusOutlines();
}

double
GetArea(const Polygon & polygon)
{
  double twice = 0.0;
  for (std::size_t i = 0; i < polygon.size(); ++i)
  {
    const auto & a = polygon[i];
    const auto & b = polygon[(i + 1) % polygon.size()];
    twice += a[0] * b[1] - a[1] * b[0];
  }
  return std::abs(twice) / 2.0;
}

/** The pixels whose centers lie in the polygons by the even-odd rule, row by row. */
std::vector<bool>
Fill(const std::vector<Polygon> & polygons)
{
  std::vector<bool> filled(Side * Side);
  for (std::size_t row = 0; row < Side; ++row)
  {
    const double        y = static_cast<double>(row) + 0.5;
    std::vector<double> crossings;
    for (const Polygon & polygon : polygons)
    {
      for (std::size_t i = 0; i < polygon.size(); ++i)
      {
        const auto & a = polygon[i];
        const auto & b = polygon[(i + 1) % polygon.size()];
        if ((a[1] > y) != (b[1] > y))
        {
          crossings.push_back(a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0]));
        }
      }
    }
    std::sort(crossings.begin(), crossings.end());
    for (std::size_t i = 0; i + 1 < crossings.size(); i += 2)
    {
      for (std::size_t x = 0; x < Side; ++x)
      {
        const double center = static_cast<double>(x) + 0.5;
        filled[row * Side + x] = filled[row * Side + x] || (center > crossings[i] && center < crossings[i + 1]);
      }
    }
  }
  return filled;
}

/** What the foci of many slides show. */
struct Look
{
  std::array<double, 16> histogram{}; // of red, as shares
  double                 contrast{};  // mean difference of red between pixels that are 4 micrometers apart
};

Look
GetLook(Foci foci)
{
  Look   look;
  double pixels = 0.0;
  for (unsigned seed = 1; seed <= 40; ++seed)
  {
    const auto slide = Draw<Slide>(seed, foci, 0.03);
    const auto inside = Fill(GetOutlines(seed, foci, 0.03));
    for (std::size_t i = 0; i + 4 < inside.size(); ++i) // foci keep clear of the slide's edges
    {
      if (inside[i] && inside[i + 4])
      {
        const int red = slide->GetBufferPointer()[i][0];
        look.histogram[static_cast<std::size_t>(red) / 16] += 1.0;
        look.contrast += std::abs(red - slide->GetBufferPointer()[i + 4][0]);
        pixels += 1.0;
      }
    }
  }
  look.contrast /= pixels;
  for (double & share : look.histogram)
  {
    share /= pixels;
  }
  return look;
}

/** Pixels outside of the outlines that nuclei darken. */
double
CountDark(const Slide::OutputImageType * slide, const std::vector<Polygon> & outlines)
{
  const auto inside = Fill(outlines);
  double     dark = 0.0;
  for (std::size_t i = 0; i < inside.size(); ++i)
  {
    dark += !inside[i] && slide->GetBufferPointer()[i][0] < 150 ? 1.0 : 0.0;
  }
  return dark;
}
} // namespace

TEST(SyntheticFoci, OutlinesHaveTheWantedArea)
{
  for (unsigned seed = 1; seed <= 10; ++seed)
  {
    for (const double share : { 0.003, 0.02, 0.05 })
    {
      double area = 0.0;
      for (const Polygon & polygon : GetOutlines(seed, Foci::Lesions, share))
      {
        area += GetArea(polygon);
      }
      // A polygon of 64 corners on a circle has 0.9984 of its area.
      EXPECT_NEAR(area / (Side * Side * share), 0.998, 0.003) << seed;
    }
  }
}

TEST(SyntheticFoci, LieInTissue)
{
  double tissue = 0.0;
  double all = 0.0;
  for (unsigned seed = 1; seed <= 20; ++seed)
  {
    const auto truth = Draw<Truth>(seed, Foci::Lesions, 0.01);
    const auto inside = Fill(GetOutlines(seed, Foci::Lesions, 0.01));
    for (std::size_t i = 0; i < inside.size(); ++i)
    {
      all += inside[i] ? 1.0 : 0.0;
      tissue += inside[i] && truth->GetBufferPointer()[i] == 255 ? 1.0 : 0.0;
    }
  }
  EXPECT_GT(tissue / all, 0.99);
}

TEST(SyntheticFoci, OfOneSeedHaveTheSameOutlines)
{
  EXPECT_EQ(GetOutlines(3, Foci::Lesions, 0.01), GetOutlines(3, Foci::Decoys, 0.01));
  EXPECT_NE(GetOutlines(3, Foci::Lesions, 0.01), GetOutlines(4, Foci::Lesions, 0.01));
  EXPECT_TRUE(GetOutlines(3, Foci::None, 0.0).empty());
}

/** The histograms differ by what chance leaves of some 1000 enlarged nuclei; the patterns by their scale. */
TEST(SyntheticFoci, ColorsAreTheSameAndPatternsAreNot)
{
  const Look lesions = GetLook(Foci::Lesions);
  const Look decoys = GetLook(Foci::Decoys);
  double     difference = 0.0;
  for (std::size_t i = 0; i < lesions.histogram.size(); ++i)
  {
    difference += 0.5 * std::abs(lesions.histogram[i] - decoys.histogram[i]);
  }
  EXPECT_LT(difference, 0.03);
  EXPECT_LT(lesions.contrast, 0.85 * decoys.contrast);
}

/** What nuclei darken, foci and all else together, is the same with lesions and with decoys, to 5 % where foci take a
 * twentieth of the slide, far more than they mostly do. Foci alone make it more by tens of percents. */
TEST(SyntheticFoci, SlidesHaveTheSameAmountOfNuclei)
{
  constexpr double share = 0.05;
  double           plain = 0.0;
  double           decoys = 0.0;
  double           decoysOutside = 0.0;
  double           lesions = 0.0;
  double           lesionsOutside = 0.0;
  for (unsigned seed = 1; seed <= 12; ++seed)
  {
    const auto outlines = GetOutlines(seed, Foci::Decoys, share);
    const auto withDecoys = Draw<Slide>(seed, Foci::Decoys, share);
    const auto withLesions = Draw<Slide>(seed, Foci::Lesions, share);
    plain += CountDark(Draw<Slide>(seed, Foci::None, share), outlines);
    decoys += CountDark(withDecoys, {});
    decoysOutside += CountDark(withDecoys, outlines);
    lesions += CountDark(withLesions, {});
    lesionsOutside += CountDark(withLesions, outlines);
  }
  EXPECT_NEAR(lesions / decoys, 1.0, 0.05);
  EXPECT_GT(lesionsOutside, 1.2 * plain);
  EXPECT_GT(decoysOutside, 1.2 * plain);
}

TEST(SyntheticFoci, ImpossibleSharesAreRefused)
{
  EXPECT_REFUSAL(Draw<Slide>(1, Foci::Lesions, 0.06), "E-OPTION-VALUE");
  EXPECT_REFUSAL(Draw<Slide>(1, Foci::Lesions, -0.01), "E-OPTION-VALUE");
  EXPECT_REFUSAL(Slide::New()->GetFocusOutlines(), "E-CALL-ORDER");
}

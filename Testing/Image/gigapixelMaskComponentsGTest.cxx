/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMaskComponents.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using gigapixel::ComponentFigures;
using gigapixel::Connectivity;
using gigapixel::MaskComponents;
using gigapixel::ValueCounts;
using gigapixel::ValueSummary;

namespace
{
using Drawing = std::vector<std::string>;

/** A digit is a label, everything else background. \param band rows after which components may end */
template <typename TLabel = std::uint8_t>
MaskComponents
Measure(const Drawing & drawing, Connectivity connectivity, std::size_t band = 1)
{
  MaskComponents components(drawing.front().size(), connectivity);
  for (std::size_t y = 0; y < drawing.size(); ++y)
  {
    std::vector<TLabel> row;
    for (const char c : drawing[y])
    {
      row.push_back(static_cast<TLabel>(c >= '0' && c <= '9' ? c - '0' : 0));
    }
    components.AppendRow(row.data());
    if (y % band == 0)
    {
      components.EndRows();
    }
  }
  components.Finish();
  return components;
}

void
ExpectEqual(const ComponentFigures & a, const ComponentFigures & b)
{
  EXPECT_EQ(a.label, b.label);
  EXPECT_EQ(a.area, b.area);
  EXPECT_EQ(a.sumX, b.sumX);
  EXPECT_EQ(a.sumY, b.sumY);
  EXPECT_EQ(a.left, b.left);
  EXPECT_EQ(a.top, b.top);
  EXPECT_EQ(a.right, b.right);
  EXPECT_EQ(a.bottom, b.bottom);
  EXPECT_EQ(a.holes, b.holes);
  EXPECT_EQ(a.borderSteps, b.borderSteps);
}
} // namespace

TEST(MaskComponents, Rectangle)
{
  for (const Connectivity connectivity : { Connectivity::Four, Connectivity::Eight })
  {
    for (const std::size_t width : { 2, 7, 8, 9, 64, 200 })
    {
      constexpr std::size_t height = 5;
      constexpr double      left = 3;
      const Drawing         drawing(height, std::string(3, '.') + std::string(width, '1') + std::string(11, '.'));
      const auto            components = Measure(drawing, connectivity);
      ASSERT_EQ(components.GetComponents().size(), 1u);
      const ComponentFigures & figures = components.GetComponents().front();
      EXPECT_EQ(figures.area, width * height);
      EXPECT_EQ(figures.GetCentroid()[0], left + (static_cast<double>(width) - 1) / 2);
      EXPECT_EQ(figures.GetCentroid()[1], 2);
      EXPECT_EQ(figures.left, 3u);
      EXPECT_EQ(figures.right, 3u + width);
      EXPECT_EQ(figures.top, 0u);
      EXPECT_EQ(figures.bottom, height);
      EXPECT_EQ(figures.holes, 0u);
      // The line through the centers of the outermost pixels.
      const double steps = static_cast<double>(width) - 1;
      EXPECT_DOUBLE_EQ(figures.GetPerimeter(), 2 * (steps + 4));
      EXPECT_DOUBLE_EQ(figures.GetPerimeter(0.5, 0.25), 2 * (steps * 0.5 + 4 * 0.25));
    }
  }
}

TEST(MaskComponents, LabelsOf32BitAreMeasuredAsBytes)
{
  const Drawing drawing{ "1111111111111111.2222222222222222",
                         "1111111111111111.2.22222222.22222",
                         "11...33333....11......3333333.222" };
  for (const Connectivity connectivity : { Connectivity::Four, Connectivity::Eight })
  {
    const auto bytes = Measure(drawing, connectivity).GetComponents();
    const auto wide = Measure<std::uint32_t>(drawing, connectivity).GetComponents();
    ASSERT_EQ(bytes.size(), wide.size());
    for (std::size_t i = 0; i < bytes.size(); ++i)
    {
      ExpectEqual(bytes[i], wide[i]);
    }
  }
}

TEST(MaskComponents, DiagonalLine)
{
  Drawing drawing;
  for (std::size_t y = 0; y < 9; ++y)
  {
    drawing.push_back(std::string(y, '.') + '1' + std::string(8 - y, '.'));
  }
  const auto whole = Measure(drawing, Connectivity::Eight);
  ASSERT_EQ(whole.GetComponents().size(), 1u);
  EXPECT_DOUBLE_EQ(whole.GetComponents().front().GetPerimeter(), 7 * std::sqrt(2.0)); // but for its ends
  EXPECT_DOUBLE_EQ(whole.GetComponents().front().GetPerimeter(3, 4), 7 * 5);
  const auto pieces = Measure(drawing, Connectivity::Four);
  EXPECT_EQ(pieces.GetComponents().size(), 9u);
  EXPECT_EQ(pieces.GetClasses().at(1).area, 9u);
  EXPECT_EQ(pieces.GetClasses().at(1).GetPerimeter(), 0);
}

TEST(MaskComponents, HolesWithinHoles)
{
  const auto components = Measure({ "11111111111",
                                    "1.........1",
                                    "1.1111111.1",
                                    "1.1..1..1.1",
                                    "1.1..1..1.1",
                                    "1.1111111.1",
                                    "1.........1",
                                    "11111111111" },
                                  Connectivity::Eight);
  ASSERT_EQ(components.GetComponents().size(), 2u);
  EXPECT_EQ(components.GetComponents()[0].holes, 1u); // whatever lies in it
  EXPECT_EQ(components.GetComponents()[1].holes, 2u);
  EXPECT_EQ(components.GetClasses().at(1).holes, 3u);
}

TEST(MaskComponents, AHoleThatIsOpenAtACorner)
{
  const Drawing drawing{ ".111", "1..1", "1..1", "1111" };
  const auto    closed = Measure(drawing, Connectivity::Eight);
  ASSERT_EQ(closed.GetComponents().size(), 1u);
  EXPECT_EQ(closed.GetComponents().front().holes, 1u);
  const auto open = Measure(drawing, Connectivity::Four); // where background is connected over corners
  ASSERT_EQ(open.GetComponents().size(), 1u);
  EXPECT_EQ(open.GetComponents().front().holes, 0u);
}

TEST(MaskComponents, TeethThatMeetBelowAreOneComponent)
{
  const auto comb = Measure({ "1.1.1.1", "1.1.1.1", "1111111" }, Connectivity::Four);
  ASSERT_EQ(comb.GetComponents().size(), 1u);
  EXPECT_EQ(comb.GetComponents().front().area, 15u);
  EXPECT_EQ(comb.GetComponents().front().holes, 0u);
}

TEST(MaskComponents, LabelsThatTouchAreApart)
{
  const auto components = Measure({ "1122", "1122", "3331", "3331" }, Connectivity::Eight);
  ASSERT_EQ(components.GetComponents().size(), 4u);
  const std::vector<int> labels{ 1, 2, 3, 1 }; // by their first pixels
  for (std::size_t i = 0; i < labels.size(); ++i)
  {
    EXPECT_EQ(components.GetComponents()[i].label, labels[i]);
  }
  EXPECT_EQ(components.GetClasses().at(1).area, 6u);
  EXPECT_EQ(components.GetClasses().at(1).right, 4u);
  EXPECT_EQ(components.GetClasses().at(1).bottom, 4u);
}

TEST(MaskComponents, NothingInIt)
{
  const auto components = Measure({ "....", "...." }, Connectivity::Eight);
  EXPECT_TRUE(components.GetComponents().empty());
  EXPECT_TRUE(components.GetClasses().empty());
}

/** A corner's pixels belong to one component where another way leads from the one to the other. */
TEST(MaskComponents, CornersOfOneComponent)
{
  const auto closed = Measure({ "11.", "1.1", "111" }, Connectivity::Four);
  const auto open = Measure({ "11.", "1.1", "1.1" }, Connectivity::Four);
  ASSERT_EQ(closed.GetComponents().size(), 1u);
  ASSERT_EQ(open.GetComponents().size(), 2u);
  // All seven pixels are border. From the two beside the missing corner it goes on over that corner.
  EXPECT_DOUBLE_EQ(closed.GetComponents().front().GetPerimeter(), 5 + 2 * (1 + std::sqrt(2.0)) / 2);
}

TEST(MaskComponents, WhenRowsEndDoesNotMatter)
{
  std::mt19937 random(1);
  Drawing      drawing(60, std::string(90, '.'));
  for (std::string & row : drawing)
  {
    for (char & pixel : row)
    {
      pixel = static_cast<char>('0' + random() % 3);
    }
  }
  for (const Connectivity connectivity : { Connectivity::Four, Connectivity::Eight })
  {
    const auto often = Measure(drawing, connectivity);
    const auto once = Measure(drawing, connectivity, 1000);
    ASSERT_EQ(often.GetComponents().size(), once.GetComponents().size());
    ASSERT_GT(often.GetComponents().size(), 10u);
    for (std::size_t i = 0; i < often.GetComponents().size(); ++i)
    {
      ExpectEqual(often.GetComponents()[i], once.GetComponents()[i]);
    }
  }
}

/** Two pieces get values before it is known that they are one. */
TEST(MaskComponents, ValuesOfPiecesThatBecomeOne)
{
  MaskComponents                  components(3, Connectivity::Eight, 2);
  const std::vector<std::uint8_t> apart{ 1, 0, 1 };
  const std::vector<std::uint8_t> together{ 1, 1, 1 };
  const auto                      first = components.AppendRow(apart.data());
  const std::vector<std::uint8_t> left{ 10, 1 };
  const std::vector<std::uint8_t> right{ 20, 2 };
  components.AddValues(first[0].component, left.data(), 1);
  components.AddValues(first[1].component, right.data(), 1);
  components.EndRows();
  const auto                      second = components.AppendRow(together.data());
  const std::vector<std::uint8_t> below{ 30, 3, 40, 4, 50, 5 };
  components.AddValues(second[0].component, below.data(), 3);
  components.EndRows();
  components.Finish();
  ASSERT_EQ(components.GetComponents().size(), 1u);
  const auto & values = components.GetComponents().front().values;
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].count, 5u);
  EXPECT_DOUBLE_EQ(values[0].mean, 30);
  EXPECT_DOUBLE_EQ(values[1].mean, 3);
  EXPECT_DOUBLE_EQ(values[1].deviation, std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(values[1].percentiles[0], 1.2);
  EXPECT_DOUBLE_EQ(components.GetClasses().at(1).values[0].mean, 30);
}

/** 0 to n - 1, each as often: mean, deviation and percentiles have closed forms, whether samples are kept or counted.
 */
TEST(ValueCounts, UniformValues)
{
  for (const std::size_t copies : { 1, 2, 1000 })
  {
    constexpr std::size_t     number = 101;
    std::vector<std::uint8_t> samples;
    for (std::size_t i = 0; i < number; ++i)
    {
      samples.push_back(static_cast<std::uint8_t>(number - 1 - i));
    }
    ValueCounts counts(256);
    for (std::size_t i = 0; i < copies; ++i)
    {
      counts.Add(samples.data(), samples.size());
    }
    const ValueSummary summary = counts.Summarize();
    EXPECT_EQ(summary.count, number * copies);
    EXPECT_DOUBLE_EQ(summary.mean, 50);
    EXPECT_DOUBLE_EQ(summary.deviation, std::sqrt((number * number - 1) / 12.0));
    for (std::size_t i = 0; copies == 1 && i < ValueSummary::Percents.size(); ++i)
    {
      EXPECT_DOUBLE_EQ(summary.percentiles[i], ValueSummary::Percents[i]);
    }
    EXPECT_DOUBLE_EQ(summary.percentiles[2], 50);
  }
}

TEST(ValueCounts, SumsOfCountsAreCountsOfAll)
{
  std::mt19937               random(2);
  std::vector<std::uint16_t> samples(100000);
  for (std::uint16_t & sample : samples)
  {
    sample = static_cast<std::uint16_t>(random());
  }
  ValueCounts all(65536);
  all.Add(samples.data(), samples.size());
  for (const std::size_t cut : { 0, 100, 90000 })
  {
    ValueCounts first(65536);
    ValueCounts second(65536);
    first.Add(samples.data(), cut);
    second.Add(samples.data() + cut, samples.size() - cut);
    first.Add(second);
    EXPECT_EQ(first.Summarize().count, samples.size());
    EXPECT_EQ(first.Summarize().mean, all.Summarize().mean);
    EXPECT_EQ(first.Summarize().deviation, all.Summarize().deviation);
    EXPECT_EQ(first.Summarize().percentiles, all.Summarize().percentiles);
  }
}

TEST(ValueCounts, NoSamples)
{
  const ValueSummary summary = ValueCounts(256).Summarize();
  EXPECT_EQ(summary.count, 0u);
  EXPECT_TRUE(std::isnan(summary.mean));
  EXPECT_TRUE(std::isnan(summary.percentiles[2]));
}

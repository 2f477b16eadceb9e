/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Random networks of all operations on images of odd sizes, in tiles, against autograd on the whole image.
// 50 of images and 75 of volumes, with Utilities/test --all (GIGAPIXEL_TEST_ALL) 500 of each, with
// GIGAPIXEL_RANDOM_GRAPHS=N so many.
#include "TestDevice.h"
#include "MemorySources.h"
#include "RandomGraph.h"
#include "TemporaryFolder.h"
#include "execute/gigapixelStreamedNetwork.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** Operations that the output is computed from. */
void
Count(const NetworkGraph & graph, const Extent & image, std::map<std::string, int> & counts)
{
  const GraphGeometry        geometry(graph, image);
  const auto                 boxes = geometry.GetRequired(geometry.GetOutput(), MakeWhole(image));
  std::map<std::string, int> found;
  for (std::size_t i = 0; i < boxes.size(); ++i)
  {
    found[graph.operations[i].type] += boxes[i].has_value();
  }
  for (const auto & item : found)
  {
    counts[item.first] += item.second > 0;
  }
}

/** 1e-12, or, where gradients are small differences of great sums, eight times what the last bits of the parameters
 * change in autograd's, the most of twelve draws: as of a norm of a map that is constant. \param least see Compare() */
double
GetTolerance(const NetworkDescription & network,
             std::vector<double>        parameters,
             const LabeledImage &       image,
             const GraphResult &        reference,
             double                     difference,
             double                     least = 1e-4)
{
  double tolerance = 1e-12;
  for (unsigned seed = 0; seed < 12 && difference > tolerance; ++seed)
  {
    std::mt19937 random(seed);
    std::for_each(parameters.begin(), parameters.end(), [&](double & value) {
      value = std::nextafter(value, random() % 2 ? 1e300 : -1e300);
    });
    const GraphResult other = ComputeReference(network, parameters, image, at::kDouble);
    tolerance = std::max(tolerance, 8 * Compare(network.graph, other, reference, least).gradient);
  }
  return tolerance;
}

/** \param axes of volumes there are more: their transposed convolutions are drawn rarely */
unsigned
GetNumberOfGraphs(int axes)
{
  const char * const number = std::getenv("GIGAPIXEL_RANDOM_GRAPHS");
  const unsigned     usual = std::getenv("GIGAPIXEL_TEST_ALL") ? 500 : axes == 2 ? 50 : 75;
  return number ? static_cast<unsigned>(std::stoul(number)) : usual;
}

/** Odd and even ones. */
Size
DrawSize(std::mt19937 & random, int axes)
{
  const auto draw = [&] { return static_cast<std::int64_t>(axes == 2 ? 17 + random() % 30 : 7 + random() % 6); };
  Size       size;
  size.width = draw();
  size.height = draw();
  size.depth = axes == 2 ? 1 : draw();
  return size;
}

/** Of a tile. */
std::int64_t
DrawSide(std::mt19937 & random, int axes)
{
  return static_cast<std::int64_t>(axes == 2 ? 3 + random() % 20 : 4 + random() % 6);
}

Extent
DrawTile(std::mt19937 & random, int axes)
{
  Extent tile(axes);
  std::generate(tile.begin(), tile.end(), [&] { return DrawSide(random, axes); });
  return tile;
}

/** \param draws of operations whose maps are kept, and those that have to be */
std::vector<SegmentPlan>
DrawSegments(std::mt19937 & random, const GraphGeometry & geometry, unsigned draws)
{
  const std::vector<Operation> & operations = geometry.GetGraph().operations;
  std::vector<int>               kept;
  for (; draws > 0; --draws)
  {
    kept.push_back(static_cast<int>(random() % operations.size()));
  }
  std::vector<SegmentPlan> plan;
  for (const int operation : FindKept(geometry, kept))
  {
    plan.push_back({ operations[operation].name, DrawSide(random, geometry.GetNumberOfAxes()) });
  }
  plan.push_back({ geometry.GetGraph().output, DrawSide(random, geometry.GetNumberOfAxes()) });
  return plan;
}

/** Graphs are drawn for one size; some cannot be computed for images of others, and are no networks for slides. */
bool
IsOfAnySize(const NetworkDescription & network)
{
  try
  {
    network.Validate();
    return true;
  }
  catch (const std::invalid_argument &)
  {
    return false;
  }
}

class RandomGraphs : public testing::TestWithParam<int>
{
};

} // namespace

TEST_P(RandomGraphs, InTilesAreTheWholeImage)
{
  const int                  axes = GetParam();
  const unsigned             graphs = GetNumberOfGraphs(axes);
  std::map<std::string, int> counts;
  double                     worst = 0;
  for (unsigned seed = 0; seed < graphs; ++seed)
  {
    std::mt19937                 random(seed);
    const GraphOperatorsForTests chosen(static_cast<GraphOperators>(seed % 3));
    const Size                   size = DrawSize(random, axes);
    const NetworkDescription     network = MakeNetwork(RandomGraph(seed, size).Get());
    SCOPED_TRACE("seed " + std::to_string(seed) + ", image " + ToText(size) + ": " + network.graph.ToJSON());
    Count(network.graph, ToExtent(size, network.graph.GetNumberOfAxes()), counts);
    const std::vector<double> parameters = MakeParameters(network.graph, seed);
    const LabeledImage image = MakeImage(size, network.channels, std::max(network.graph.GetOutputChannels(), 2), seed);
    const GraphResult  reference = ComputeReference(network, parameters, image, at::kDouble);
    const Extent       tile = DrawTile(random, axes);
    const GraphResult  result = ComputeInTiles(network, parameters, image, Precision::Double, tile);
    const Difference   difference = Compare(network.graph, result, reference);
    worst = std::max(worst, difference.gradient);
    EXPECT_LE(difference.loss, 1e-12) << "tiles of " << ToText(tile);
    EXPECT_LE(difference.gradient, GetTolerance(network, parameters, image, reference, difference.gradient))
      << difference.array << ", tiles of " << ToText(tile);
    EXPECT_LE(difference.probability, 1e-6) << "tiles of " << ToText(tile);
    if (testing::Test::HasFailure())
    {
      return;
    }
  }
  std::cout << graphs << " graphs; worst gradient " << worst << "; graphs with an operation:";
  for (const auto & item : counts)
  {
    std::cout << ' ' << item.first << ' ' << item.second;
    EXPECT_GE(item.second, static_cast<int>(graphs / 25)) << item.first;
  }
  std::cout << std::endl;
  const auto & all = OperationSchema::GetAll();
  EXPECT_EQ(static_cast<std::ptrdiff_t>(counts.size()),
            std::count_if(
              all.begin(), all.end(), [axes](const auto & schema) { return schema.axes == 0 || schema.axes == axes; }));
}

TEST_P(RandomGraphs, InSegmentsAreTheWholeImage)
{
  const int             axes = GetParam();
  constexpr std::size_t MostKept = 4;
  constexpr double      Least = 1e-2; // the gradients of a map that is subtracted from itself cancel
  const unsigned        graphs = GetNumberOfGraphs(axes);
  std::vector<int>      counts(MostKept + 1);
  double                worst = 0;
  unsigned              seen = 0, spoiled = 0; // of maps that lack a row
  for (unsigned seed = 0; seed < graphs; ++seed)
  {
    std::mt19937                 random(seed);
    const GraphOperatorsForTests chosen(static_cast<GraphOperators>(seed % 3));
    const Size                   size = DrawSize(random, axes);
    const NetworkDescription     network = MakeNetwork(RandomGraph(seed, size).Get());
    const GraphGeometry          geometry(network.graph, ToExtent(size, network.graph.GetNumberOfAxes()));
    const std::size_t            wanted = seed % (MostKept + 1);
    std::vector<int>             kept;
    for (int draws = 0; draws < 20 && kept.size() < wanted; ++draws)
    {
      kept.push_back(static_cast<int>(random() % network.graph.operations.size()));
      kept = FindKept(geometry, kept);
    }
    ++counts[kept.size()];
    const Extent tile = DrawTile(random, axes);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", image " + ToText(size) + ", tiles of " + ToText(tile) + ", " +
                 std::to_string(kept.size()) + " maps kept: " + network.graph.ToJSON());
    const std::vector<double> parameters = MakeParameters(network.graph, seed);
    const LabeledImage image = MakeImage(size, network.channels, std::max(network.graph.GetOutputChannels(), 2), seed);
    const GraphResult  reference = ComputeReference(network, parameters, image, at::kDouble);
    const GraphResult  result = ComputeInSegments(network, parameters, image, Precision::Double, kept, tile);
    const Difference   difference = Compare(network.graph, result, reference, Least);
    worst = std::max(worst, difference.gradient);
    ASSERT_LE(difference.loss, 1e-12);
    ASSERT_LE(difference.gradient, GetTolerance(network, parameters, image, reference, difference.gradient, Least))
      << difference.array;
    if (!kept.empty())
    {
      const GraphResult lacking = ComputeInSegments(network, parameters, image, Precision::Double, kept, tile, 1);
      const Difference  found = Compare(network.graph, lacking, reference, Least);
      ++spoiled;
      seen += !(found.gradient <= 1e-12 && found.loss <= 1e-12);
    }
  }
  std::cout << graphs << " graphs; worst gradient " << worst << "; with so many maps kept:";
  for (const int count : counts)
  {
    std::cout << ' ' << count;
    EXPECT_GE(count, static_cast<int>(graphs / 25));
  }
  std::cout << "; a missing row was seen in " << seen << " of " << spoiled << std::endl;
  EXPECT_GT(seen, spoiled / 2); // rows that a crop takes away, or zeros, are not missed
}

/** With operations that see the whole image, one behind the other, and any further maps kept. */
TEST_P(RandomGraphs, ThatSeeTheWholeImageAreTheWholeImage)
{
  const int                  axes = GetParam();
  constexpr double           Least = 1e-2; // norms make gradients of what is before them cancel
  const unsigned             graphs = GetNumberOfGraphs(axes);
  std::map<std::string, int> counts;
  double                     worst = 0;
  std::size_t                most = 0; // segments
  for (unsigned seed = 0; seed < graphs; ++seed)
  {
    std::mt19937                 random(seed);
    const GraphOperatorsForTests chosen(static_cast<GraphOperators>(seed % 3));
    const Size                   size = DrawSize(random, axes);
    const NetworkDescription     network = MakeNetwork(RandomGraph(seed, size, true).Get());
    const GraphGeometry          geometry(network.graph, ToExtent(size, network.graph.GetNumberOfAxes()));
    const auto                   plan = DrawSegments(random, geometry, seed % 4);
    for (std::size_t i = 0; i + 1 < plan.size(); ++i)
    {
      ++counts[network.graph.operations[network.graph.GetIndex(plan[i].operation)].type];
    }
    most = std::max(most, plan.size());
    SCOPED_TRACE("seed " + std::to_string(seed) + ", image " + ToText(size) + ", " + std::to_string(plan.size()) +
                 " segments: " + network.graph.ToJSON());
    const std::vector<double> parameters = MakeParameters(network.graph, seed);
    const LabeledImage image = MakeImage(size, network.channels, std::max(network.graph.GetOutputChannels(), 2), seed);
    Device             device;
    device.precision = Precision::Double;
    StreamedNetwork streamed(network, WholeImage, 1 + static_cast<int>(seed % 2), device);
    streamed.SetParameters(parameters);
    streamed.SetSegments(plan, {});
    MemoryPixels pixels(image, network.channels);
    MemoryLabels labels(image);
    LossGradient sum;
    ASSERT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
    GraphResult result;
    result.loss = sum.loss;
    result.gradient = sum.gradient;
    const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
    const Difference  difference = Compare(network.graph, result, reference, Least);
    worst = std::max(worst, difference.gradient);
    ASSERT_LE(difference.loss, 1e-12);
    ASSERT_LE(difference.gradient, GetTolerance(network, parameters, image, reference, difference.gradient, Least))
      << difference.array;
  }
  std::cout << graphs << " graphs of up to " << most << " segments; worst gradient " << worst << "; kept maps:";
  for (const auto & item : counts)
  {
    std::cout << ' ' << item.first << ' ' << item.second;
  }
  std::cout << std::endl;
  const std::string ofAxes = axes == 2 ? "2d" : "3d";
  for (const std::string & type :
       { std::string("norm_statistics"), "adaptive_avg_pool" + ofAxes, "adaptive_max_pool" + ofAxes })
  {
    EXPECT_GE(counts[type], static_cast<int>(graphs / 5)) << type;
  }
}

/** Any maps may be kept while regions are predicted, in memory or in files: the whole image's numbers to rounding, and
 * the same bits for any region and number of threads. */
TEST_P(RandomGraphs, ArePredictedInSegments)
{
  const int             axes = GetParam();
  const unsigned        graphs = GetNumberOfGraphs(axes);
  const TemporaryFolder scratch("random-graphs");
  unsigned              inSeveral = 0, ofOneSize = 0;
  double                worst = 0;
  for (unsigned seed = 0; seed < graphs; ++seed)
  {
    std::mt19937                 random(seed);
    const GraphOperatorsForTests chosen(static_cast<GraphOperators>(seed % 3));
    const Size                   size = DrawSize(random, axes);
    const NetworkDescription     network = MakeNetwork(RandomGraph(seed, size).Get());
    if (!IsOfAnySize(network))
    {
      ++ofOneSize;
      continue;
    }
    const GraphGeometry geometry(network.graph, ToExtent(size, network.graph.GetNumberOfAxes()));
    const auto          plan = DrawSegments(random, geometry, 1 + seed % 4);
    inSeveral += plan.size() > 1;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", image " + ToText(size) + ", " + std::to_string(plan.size()) +
                 " segments: " + network.graph.ToJSON());
    const LabeledImage        image = MakeImage(size, network.channels, 2, seed);
    const std::vector<double> parameters = MakeParameters(network.graph, seed);
    const auto predict = [&](const Region & region, bool inSegments, int threads, const std::string & folder) {
      Device device;
      device.precision = Precision::Double;
      StreamedNetwork streamed(network, WholeImage, threads, device);
      streamed.SetParameters(parameters);
      streamed.SetSegments(inSegments ? plan : std::vector<SegmentPlan>(), folder);
      MemoryPixels       pixels(image, network.channels);
      std::vector<float> values(region.width * region.height * region.depth * network.GetNumberOfOutputChannels());
      EXPECT_TRUE(streamed.Predict(pixels, region, values.data()));
      return values;
    };
    const Region       whole = GetWhole(size);
    std::vector<float> one = predict(whole, false, 1, {}), several = predict(whole, true, 1, {});
    for (std::size_t i = 0; i < one.size(); ++i)
    {
      worst = std::max(worst, static_cast<double>(std::abs(several[i] - one[i])));
    }
    ASSERT_LE(worst, 0x1p-23); // of floats that are probabilities, where sums in double are rounded to them
    ASSERT_EQ(predict(whole, true, 3, scratch.path), several);
    Region part{ size.width / 3, size.height / 2, size.width / 2, size.height / 3, size.depth / 2, 1 };
    const std::vector<float> ofPart = predict(part, true, 2, {});
    const auto               channels = static_cast<std::ptrdiff_t>(network.GetNumberOfOutputChannels());
    for (std::int64_t y = 0; y < part.height; ++y)
    {
      const auto row = several.begin() + ((part.z * size.height + part.y + y) * size.width + part.x) * channels;
      ASSERT_TRUE(std::equal(row, row + part.width * channels, ofPart.begin() + y * part.width * channels));
    }
  }
  std::cout << inSeveral << " of " << graphs << " graphs have several segments, " << ofOneSize
            << " are for images of this size alone; they differ by at most " << worst << std::endl;
  EXPECT_LE(ofOneSize, graphs / 50);
  EXPECT_GT(inSeveral, graphs / 2);
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path));
}

INSTANTIATE_TEST_SUITE_P(All, RandomGraphs, testing::Values(2, 3), [](const auto & info) {
  return info.param == 2 ? "OfImages" : "OfVolumes";
});

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Networks that label pixels and see the whole image (norms with its statistics, squeeze and excitation, pyramids of
// means), in tiles, against autograd on the whole image.
#include "BFloat16.h"
#include "GraphFixture.h"
#include "MemorySources.h"
#include "TemporaryFolder.h"
#include "TestDevice.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "schedule/gigapixelSegment.h"
#include "schedule/gigapixelTileGrid.h"
#include "schedule/gigapixelTileProgram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr Size ImageSize{ 83, 61 };

/** Without a bias, whose gradient would cancel behind a norm. */
std::string
AppendPlainConvolution(NetworkGraph & graph, const std::string & input, std::int64_t channels, std::int64_t stride)
{
  return Append(graph,
                "conv2d",
                { input },
                { { "out_channels", channels },
                  { "kernel_size", Pair(3, 3) },
                  { "stride", Pair(stride, stride) },
                  { "padding", Pair(1, 1) },
                  { "bias", false } });
}

std::string
AppendMean(NetworkGraph & graph, const std::string & map, std::int64_t rows, std::int64_t columns)
{
  return Append(graph, "adaptive_avg_pool2d", { map }, { { "output_size", Pair(rows, columns) } });
}

/** What sees the whole image, behind a map and of its size. */
using Part = std::string (*)(NetworkGraph & graph, const std::string & map);

std::string
AppendInstanceNorm(NetworkGraph & graph, const std::string & map)
{
  return Append(graph, "instance_norm", { map }, { { "affine", true } });
}

std::string
AppendBareInstanceNorm(NetworkGraph & graph, const std::string & map)
{
  return Append(graph, "instance_norm", { map }, { { "eps", 1e-3 } });
}

std::string
AppendGroupNorm(NetworkGraph & graph, const std::string & map)
{
  return Append(graph, "group_norm", { map }, { { "num_groups", std::int64_t{ 2 } } });
}

std::string
AppendExcitation(NetworkGraph & graph, const std::string & map)
{
  const std::string squeezed =
    Append(graph, "relu", { AppendConvolution(graph, AppendMean(graph, map, 1, 1), 3, 1, 0) });
  const std::string gate = Append(graph, "sigmoid", { AppendConvolution(graph, squeezed, 4, 1, 0) });
  return Append(graph, "mul", { map, Append(graph, "interpolate", { gate, map }) });
}

/** The pooling of the image in a pyramid of dilated convolutions. */
std::string
AppendImagePooling(NetworkGraph & graph, const std::string & map)
{
  const std::string pooled = Append(graph, "relu", { AppendConvolution(graph, AppendMean(graph, map, 1, 1), 3, 1, 0) });
  const std::string spread = Append(graph, "interpolate", { pooled, map }, { { "mode", std::string("bilinear") } });
  return AppendConvolution(graph, Append(graph, "cat", { map, spread }), 4, 1, 0);
}

/** Means of cells, which overlap where the size is no multiple. */
std::string
AppendPyramid(NetworkGraph & graph, const std::string & map)
{
  std::vector<std::string> maps{ map };
  for (const auto & [rows, columns] : { std::pair{ 1, 1 }, { 2, 3 }, { 6, 5 } })
  {
    const std::string pooled = AppendConvolution(graph, AppendMean(graph, map, rows, columns), 2, 1, 0);
    maps.push_back(Append(graph, "interpolate", { pooled, map }, { { "mode", std::string("bilinear") } }));
  }
  return AppendConvolution(graph, Append(graph, "cat", maps), 4, 1, 0);
}

std::string
AppendGreatest(NetworkGraph & graph, const std::string & map)
{
  const std::string greatest = Append(graph, "adaptive_max_pool2d", { map }, { { "output_size", Pair(1, 1) } });
  return Append(graph, "sub", { map, Append(graph, "interpolate", { greatest, map }) });
}

/** Of cells, which overlap: a pixel may be the greatest of four. */
std::string
AppendGreatestOfCells(NetworkGraph & graph, const std::string & map)
{
  std::vector<std::string> maps{ map };
  for (const auto & [rows, columns] : { std::pair{ 1, 3 }, { 4, 5 } })
  {
    const std::string greatest =
      Append(graph, "adaptive_max_pool2d", { map }, { { "output_size", Pair(rows, columns) } });
    maps.push_back(Append(graph, "interpolate", { greatest, map }, { { "mode", std::string("bilinear") } }));
  }
  return AppendConvolution(graph, Append(graph, "cat", maps), 4, 1, 0);
}

/** Two of them, at the image's scale and at half of it, so that the second sees the first, and a skip around both. */
NetworkDescription
MakeSegmenter(Part part, int classes = 2)
{
  NetworkGraph      graph;
  const std::string image = Append(graph, "input", {}, { { "channels", std::int64_t{ 3 } } });
  const std::string first = Append(graph, "relu", { part(graph, AppendPlainConvolution(graph, image, 4, 1)) });
  const std::string second = Append(graph, "relu", { part(graph, AppendPlainConvolution(graph, first, 4, 2)) });
  const std::string large = Append(graph, "interpolate", { second, image }, { { "mode", std::string("bilinear") } });
  AppendConvolution(graph, Append(graph, "cat", { first, large }), classes == 2 ? 1 : classes, 3, 1);
  return MakeNetwork(graph);
}

LossGradient
ComputeGradient(const NetworkDescription &       network,
                const LabeledImage &             image,
                std::int64_t                     tileSize,
                int                              threads,
                Precision                        precision = Precision::Double,
                const std::vector<SegmentPlan> & segments = {},
                const std::string &              scratch = {})
{
  Device device;
  device.precision = precision;
  StreamedNetwork streamed(network, tileSize, threads, device);
  streamed.SetParameters(MakeParameters(network.graph, 3));
  streamed.SetSegments(segments, scratch);
  MemoryPixels pixels(image, 3);
  MemoryLabels labels(image);
  LossGradient sum;
  double       last = 0;
  EXPECT_TRUE(streamed.ComputeGradient(pixels, labels, sum, [&](double done) {
    EXPECT_GE(done, last);
    last = done;
    return true;
  }));
  EXPECT_NEAR(last, 1, 1e-9);
  return sum;
}

GraphResult
ComputeWhole(const NetworkDescription & network, const LabeledImage & image, at::ScalarType type = at::kDouble)
{
  return ComputeReference(network, MakeParameters(network.graph, 3), image, type);
}

struct WholeImageCase
{
  const char * name;
  Part         part;
};

class WholeImage2D : public testing::TestWithParam<WholeImageCase>
{
};

/** Reductions alone: all that lies before one is computed again behind it. */
std::vector<SegmentPlan>
MakeSegmentsWithoutMaps(const NetworkDescription & network)
{
  const GraphGeometry      geometry(network.graph, { ImageSize.height, ImageSize.width });
  std::vector<SegmentPlan> plan;
  for (const int operation : FindKept(geometry, {}))
  {
    plan.push_back({ network.graph.operations[operation].name, 11 });
  }
  plan.push_back({ network.graph.output, 17 });
  return plan;
}

} // namespace

TEST_P(WholeImage2D, GradientIsThatOfTheWholeImage)
{
  for (const int classes : { 2, 3 })
  {
    const NetworkDescription network = MakeSegmenter(GetParam().part, classes);
    ASSERT_TRUE(network.graph.SeesWholeImage());
    const LabeledImage image = MakeImage(ImageSize, 3, classes, 5);
    const GraphResult  reference = ComputeWhole(network, image);
    for (const std::int64_t tileSize : { 8, 26, 128 })
    {
      for (const int threads : { 1, 2 })
      {
        SCOPED_TRACE("tiles of " + std::to_string(tileSize) + ", threads " + std::to_string(threads));
        ExpectReference(network, ComputeGradient(network, image, tileSize, threads), reference);
      }
    }
    ForEachOperators([&](GraphOperators) {
      const std::vector<SegmentPlan> segments = MakeSegmentsWithoutMaps(network);
      ExpectReference(network, ComputeGradient(network, image, 128, 2, Precision::Double, segments), reference);
    });
  }
}

TEST_P(WholeImage2D, HasTheSameBitsForAnyThreadsInMemoryAndInFiles)
{
  const NetworkDescription network = MakeSegmenter(GetParam().part);
  const LabeledImage       image = MakeImage({ 211, 157 }, 3, 2, 5);
  const TemporaryFolder    scratch("whole-image");
  for (const Precision precision : GetGraphPrecisions())
  {
    const LossGradient one = ComputeGradient(network, image, 16, 1, precision);
    for (const int threads : { 2, 5 })
    {
      const LossGradient several = ComputeGradient(network, image, 16, threads, precision, {}, scratch.path);
      EXPECT_EQ(several.loss, one.loss);
      EXPECT_EQ(several.gradient, one.gradient);
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path));
}

TEST_P(WholeImage2D, InFloatIsAsGoodAsEager)
{
  const NetworkDescription network = MakeSegmenter(GetParam().part);
  const LabeledImage       image = MakeImage(ImageSize, 3, 2, 5);
  const GraphResult        reference = ComputeWhole(network, image);
  const Difference         eager = Compare(network.graph, ComputeWhole(network, image, at::kFloat), reference);
  ExpectReference(
    network, ComputeGradient(network, image, 26, 2, Precision::Float), reference, std::max(4 * eager.gradient, 1e-5));
}

/** Maps of tiles are rounded to 2^-9 of themselves; what the whole image is reduced to is not. */
TEST_P(WholeImage2D, InBFloat16ErrorsAreThoseOfRounding)
{
  if (GetGraphPrecisions().back() != Precision::BFloat16)
  {
    GTEST_SKIP() << "this CPU has no AVX-512";
  }
  const NetworkDescription network = MakeSegmenter(GetParam().part);
  const LabeledImage       image = MakeImage(ImageSize, 3, 2, 5);
  ExpectReference(network,
                  ComputeGradient(network, image, 26, 2, Precision::BFloat16),
                  ComputeWhole(network, image),
                  0x1p-8 * static_cast<double>(network.graph.operations.size()) * 4);
}

/** Tiles that are the same computation of the same constants are computed once. Autograd's own sums of so many equal
 * numbers round to one side, by 2e-11 of a gradient behind an instance norm. */
TEST_P(WholeImage2D, GlassIsComputedOnce)
{
  const NetworkDescription network = MakeSegmenter(GetParam().part);
  const Size               size{ 340, 280 };
  LabeledImage             image = MakeImage(size, 3, 2, 5);
  std::fill(image.pixels.begin() + size.width * 3 * 70, image.pixels.end(), 255);
  const LossGradient sum = ComputeGradient(network, image, 16, 2);
  ExpectReference(network, sum, ComputeWhole(network, image), 5e-11);
  const LossGradient other = ComputeGradient(network, image, 40, 2);
  GraphResult        reference;
  reference.loss = other.loss;
  reference.gradient = other.gradient;
  ExpectReference(network, sum, reference);
}

TEST_P(WholeImage2D, LossOfSumsOverTheImage)
{
  NetworkDescription network = MakeSegmenter(GetParam().part, 3);
  network.loss = NetworkDescription::Loss::DiceAndCrossEntropy;
  const LabeledImage image = MakeImage(ImageSize, 3, 3, 5);
  const GraphResult  reference = ComputeWhole(network, image);
  ExpectReference(network, ComputeGradient(network, image, 26, 2), reference);

  Device device;
  device.precision = Precision::Double;
  StreamedNetwork streamed(network, 26, 2, device);
  streamed.SetParameters(MakeParameters(network.graph, 3));
  MemoryPixels pixels(image, 3);
  MemoryLabels labels(image);
  Score        score;
  ASSERT_TRUE(streamed.ComputeScore(pixels, labels, score));
  EXPECT_NEAR(score.loss, reference.loss, 1e-12 * std::abs(reference.loss));
}

/** Any regions of it, one behind the other; another image has other statistics. */
TEST_P(WholeImage2D, PredictsWhatTheWholeImageGives)
{
  const NetworkDescription network = MakeSegmenter(GetParam().part, 3);
  Device                   device;
  device.precision = Precision::Double;
  StreamedNetwork streamed(network, 26, 2, device);
  streamed.SetParameters(MakeParameters(network.graph, 3));
  for (const unsigned seed : { 5u, 6u })
  {
    streamed.Clear();
    const LabeledImage image = MakeImage(ImageSize, 3, 3, seed);
    const GraphResult  reference = ComputeWhole(network, image);
    MemoryPixels       pixels(image, 3);
    EXPECT_EQ(streamed.GetInputRegion({ 30, 30, 5, 5 }, ImageSize).width, ImageSize.width);
    for (const Region & region : { Region{ 0, 0, 83, 30 }, Region{ 0, 30, 83, 31 }, Region{ 11, 7, 40, 50 } })
    {
      std::vector<float> probabilities(region.width * region.height * 3);
      double             last = 0;
      ASSERT_TRUE(streamed.Predict(pixels, region, probabilities.data(), [&](double done) {
        EXPECT_GE(done, last);
        last = done;
        return true;
      }));
      EXPECT_NEAR(last, 1, 1e-9);
      for (std::size_t i = 0; i < probabilities.size(); ++i)
      {
        const auto pixel = static_cast<std::int64_t>(i / 3);
        const auto place = (region.y + pixel / region.width) * ImageSize.width + region.x + pixel % region.width;
        ASSERT_NEAR(probabilities[i], reference.probabilities[3 * place + i % 3], 1e-6);
      }
    }
    EXPECT_LT(streamed.GetInputRegion({ 30, 30, 5, 5 }, ImageSize).width, ImageSize.width);
  }
}

/** In one piece, as a patch is, all of it is one tile. */
TEST_P(WholeImage2D, OneTileReducesWhatItSees)
{
  const NetworkDescription  network = MakeSegmenter(GetParam().part);
  const LabeledImage        image = MakeImage(ImageSize, 3, 2, 5);
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const GraphResult         reference = ComputeWhole(network, image);
  const GraphResult         result =
    ComputeInTiles(network, parameters, image, Precision::Double, { ImageSize.height, ImageSize.width });
  const Difference difference = Compare(network.graph, result, reference);
  EXPECT_LE(difference.loss, 1e-12);
  EXPECT_LE(difference.gradient, 1e-12) << difference.array;
  EXPECT_LE(difference.probability, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Parts,
                         WholeImage2D,
                         testing::Values(WholeImageCase{ "instance_norm", &AppendInstanceNorm },
                                         WholeImageCase{ "bare_instance_norm", &AppendBareInstanceNorm },
                                         WholeImageCase{ "group_norm", &AppendGroupNorm },
                                         WholeImageCase{ "excitation", &AppendExcitation },
                                         WholeImageCase{ "image_pooling", &AppendImagePooling },
                                         WholeImageCase{ "pyramid", &AppendPyramid },
                                         WholeImageCase{ "greatest", &AppendGreatest },
                                         WholeImageCase{ "greatest_of_cells", &AppendGreatestOfCells }),
                         [](const auto & info) { return info.param.name; });

namespace
{

/** A label, or one for each pixel. */
class Labels : public MemoryLabels
{
public:
  Labels(const LabeledImage & image, bool ofImage)
    : MemoryLabels(image)
    , m_OfImage(ofImage)
  {}

  Size
  GetSize() const override
  {
    return m_OfImage ? Size{ 1, 1 } : MemoryLabels::GetSize();
  }

private:
  bool m_OfImage;
};

} // namespace

/** Where a network labels images, only their tissue counts in statistics, as in what is pooled; where it labels pixels,
 * glass is a part of the image, white as it is. */
TEST(WholeImageNorms, AreOfWhatCounts)
{
  for (const bool ofImage : { true, false })
  {
    for (const Part part : { &AppendInstanceNorm, &AppendGroupNorm })
    {
      NetworkGraph      graph;
      const std::string input = Append(graph, "input", {}, { { "channels", std::int64_t{ 3 } } });
      const std::string map = Append(graph, "relu", { part(graph, AppendPlainConvolution(graph, input, 4, 1)) });
      AppendConvolution(graph, ofImage ? AppendMean(graph, map, 1, 1) : map, 3, 1, 0);
      const NetworkDescription network = MakeNetwork(graph);
      ASSERT_EQ(network.LabelsImage(), ofImage);
      LabeledImage              image = MakeImage(ImageSize, 3, 3, 5);
      MemoryPixels              pixels(image, 3);
      Labels                    labels(image, ofImage);
      std::vector<std::uint8_t> tissue;
      for (std::int64_t i = 0; i < ImageSize.width * ImageSize.height; ++i)
      {
        tissue.push_back(i % ImageSize.width > 30 && i / ImageSize.width < 44 && i % 7 > 1 ? 1 : 0);
      }
      pixels.tissue = tissue;
      if (ofImage)
      {
        image.counted = tissue;
        image.labels = { 2 };
      }
      Device device;
      device.precision = Precision::Double;
      StreamedNetwork streamed(network, 13, 2, device);
      streamed.SetParameters(MakeParameters(network.graph, 3));
      LossGradient sum;
      ASSERT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
      ExpectReference(network, sum, ComputeWhole(network, image));
    }
  }
}

/** Whole numbers, whose sums are exact in any order, so that each cell has its greatest at many places, which come from
 * other surroundings. PyTorch's is the first of the cell's rows. */
TEST(WholeImagePooling, OfEqualOnesTheFirstOfTheCellIsTheGreatest)
{
  NetworkGraph      graph;
  const std::string input =
    Append(graph, "input", {}, { { "channels", std::int64_t{ 1 } }, { "axes", std::int64_t{ 3 } } });
  const std::string sums = AppendConvolution(graph, input, 2, 3, 1);
  const std::string greatest = Append(graph, "adaptive_max_pool3d", { sums }, { { "output_size", Triple(2, 3, 2) } });
  const std::string spread =
    Append(graph, "interpolate", { greatest, input }, { { "mode", std::string("trilinear") } });
  AppendConvolution(graph, Append(graph, "cat", { sums, spread }), 1, 1, 0);
  NetworkDescription network = MakeNetwork(graph);
  network.mean.clear();
  network.deviation.clear();
  std::vector<double> parameters = MakeParameters(network.graph, 3);
  std::fill_n(parameters.begin(), 2 * 27, 1.0);
  std::fill_n(parameters.begin() + 2 * 27, 2, 0.0);
  LabeledImage volume = MakeImage({ 19, 17, 13 }, 1, 2, 5);
  std::transform(volume.pixels.begin(), volume.pixels.end(), std::back_inserter(volume.floats), [](std::uint8_t pixel) {
    return static_cast<float>(pixel % 64 == 0);
  });
  const GraphResult reference = ComputeReference(network, parameters, volume, at::kDouble);
  MemoryPixels      pixels(volume, 1);
  MemoryLabels      labels(volume);
  for (const std::int64_t tileSize : { 5, 8, 128 })
  {
    Device device;
    device.precision = Precision::Double;
    StreamedNetwork streamed(network, tileSize, 2, device);
    streamed.SetParameters(parameters);
    LossGradient sum;
    ASSERT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
    ExpectReference(network, sum, reference);
  }
}

/** A mean that is a million times the deviation costs eight digits in PyTorch's way and here, not twelve, as the
 * difference of the mean of squares and the mean's square would. */
TEST(WholeImageNorms, KeepDigitsOfSmallDeviations)
{
  NetworkGraph      graph;
  const std::string input = Append(graph, "input", {}, { { "channels", std::int64_t{ 3 } } });
  const std::string shifted =
    Append(graph, "add", { AppendPlainConvolution(graph, input, 4, 1) }, { { "other", 1e6 } });
  AppendConvolution(graph, AppendInstanceNorm(graph, shifted), 1, 3, 1);
  const NetworkDescription network = MakeNetwork(graph);
  const LabeledImage       image = MakeImage(ImageSize, 3, 2, 5);
  ExpectReference(network, ComputeGradient(network, image, 13, 2), ComputeWhole(network, image), 1e-7);
}

/** So that those of constant pixels are computed once: what all pixels see alike gives them no place. */
TEST(WholeImageNorms, TilesAreTheSameComputationWhereverTheyLie)
{
  for (const Part part : { &AppendInstanceNorm, &AppendExcitation })
  {
    const NetworkDescription network = MakeSegmenter(part);
    const auto               geometry = std::make_shared<GraphGeometry>(network.graph, Extent{ 512, 512 });
    const auto               segments = MakeSegments(*geometry, MakeReducingSegments(*geometry, 64));
    EXPECT_EQ(segments.size(), 5u); // two maps, what they are reduced to, and the output
    for (const Segment & segment : segments)
    {
      const TileGrid grid(geometry, segment, true);
      const auto     columns = grid.GetNumberOfColumns();
      const auto     first = grid.GetTile(3 * columns + 3), second = grid.GetTile(4 * columns + 5);
      EXPECT_EQ(first.program->signature, second.program->signature) << segment.operation;
    }
  }
}

TEST(WholeImageNorms, AreWrittenOutAndLeftOutOfJSON)
{
  const NetworkDescription network = MakeSegmenter(&AppendGroupNorm);
  EXPECT_EQ(network.graph.operations[2].type, "norm_statistics");
  EXPECT_EQ(network.graph.operations[2].GetInteger("num_groups"), 2);
  EXPECT_EQ(network.graph.operations[3].inputs.size(), 2u);
  const std::string json = network.graph.ToJSON();
  EXPECT_EQ(json.find("statistics"), std::string::npos) << json;
  const NetworkGraph again = NetworkGraph::FromJSON(json, network.graph.output);
  EXPECT_EQ(again.ToJSON(), json);
  EXPECT_EQ(again.operations.size(), network.graph.operations.size());
}

/** Whose values would be taken for means and deviations. */
TEST(WholeImageNorms, TakeNoOtherMapForTheirStatistics)
{
  NetworkGraph graph = MakeSegmenter(&AppendGroupNorm).graph;
  ASSERT_EQ(graph.operations[3].inputs.size(), 2u);
  graph.operations[3].inputs[1] = graph.operations[1].name;
  EXPECT_THROW(graph.Validate(), std::invalid_argument);
}

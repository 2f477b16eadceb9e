/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Networks that label images: their gradient of one label, in tiles, against autograd on the whole image.
#include "RefusalCode.h"
#include "GraphFixture.h"
#include "MemorySources.h"
#include "TemporaryFolder.h"
#include "TestDevice.h"
#include "gigapixelNetworkPresets.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "schedule/gigapixelTileGrid.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <mutex>
#include <set>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

enum class Pool
{
  Mean,
  Greatest,
  LogSum,
  Attention
};

/** One pixel for the image. */
std::string
AppendPool(NetworkGraph & graph, const std::string & map, Pool pool)
{
  if (pool == Pool::LogSum)
  {
    return Append(graph, "logsumexp_pool2d", { map }, { { "r", 3.0 } });
  }
  if (pool == Pool::Attention)
  {
    const std::string content = Append(graph, "tanh", { AppendConvolution(graph, map, 7, 1, 0) });
    const std::string gate = Append(graph, "sigmoid", { AppendConvolution(graph, map, 7, 1, 0) });
    const std::string scores = Append(graph,
                                      "conv2d",
                                      { Append(graph, "mul", { content, gate }) },
                                      { { "out_channels", std::int64_t{ 1 } },
                                        { "kernel_size", Pair(1, 1) },
                                        { "bias", false } }); // which would cancel
    return Append(graph, "attention_pool2d", { map, scores });
  }
  return Append(graph,
                pool == Pool::Mean ? "adaptive_avg_pool2d" : "adaptive_max_pool2d",
                { map },
                { { "output_size", Pair(1, 1) } });
}

/** Maps that are pooled, and layers of neurons behind that. */
NetworkDescription
MakeClassifier(int classes, Pool pool = Pool::Mean)
{
  NetworkGraph graph;
  std::string  map = Append(graph, "input", {}, { { "channels", std::int64_t{ 3 } } });
  for (const std::int64_t channels : { 4, 6, 8 })
  {
    map = Append(graph,
                 "conv2d",
                 { map },
                 { { "out_channels", channels },
                   { "kernel_size", Pair(3, 3) },
                   { "stride", Pair(2, 2) },
                   { "padding", Pair(1, 1) } });
    map = Append(graph, "relu", { Append(graph, "batch_norm", { map }) });
  }
  const std::string pooled = AppendPool(graph, map, pool);
  AppendConvolution(graph, Append(graph, "relu", { AppendConvolution(graph, pooled, 5, 1, 0) }), classes, 1, 0);
  return MakeNetwork(graph);
}

/** Squeeze and excitation before the mean: a mean of maps that another mean has a part in. */
NetworkDescription
MakeGatedClassifier()
{
  NetworkGraph      graph;
  const std::string image = Append(graph, "input", {}, { { "channels", std::int64_t{ 3 } } });
  const std::string map = Append(graph, "relu", { AppendConvolution(graph, image, 4, 3, 1) });
  const std::string squeezed = Append(graph, "adaptive_avg_pool2d", { map }, { { "output_size", Pair(1, 1) } });
  const std::string gate = Append(graph, "sigmoid", { AppendConvolution(graph, squeezed, 4, 1, 0) });
  const std::string gated = Append(graph, "mul", { map, Append(graph, "interpolate", { gate, map }) });
  const std::string last = Append(graph, "relu", { AppendConvolution(graph, gated, 5, 3, 1) });
  const std::string mean = Append(graph, "adaptive_avg_pool2d", { last }, { { "output_size", Pair(1, 1) } });
  AppendConvolution(graph, mean, 3, 1, 0);
  return MakeNetwork(graph);
}

class OneLabel : public LabelSource
{
public:
  explicit OneLabel(std::uint8_t label)
    : m_Label(label)
  {}

  Size
  GetSize() const override
  {
    return { 1, 1 };
  }

  void
  Read(const Region &, std::uint8_t * labels) override
  {
    *labels = m_Label;
  }

private:
  std::uint8_t m_Label;
};

/** In double. */
LossGradient
ComputeGradient(const NetworkDescription &       network,
                const std::vector<double> &      parameters,
                PixelSource &                    pixels,
                std::uint8_t                     label,
                std::int64_t                     tileSize,
                int                              threads,
                const std::vector<SegmentPlan> & segments = {},
                const std::string &              scratch = {})
{
  Device device;
  device.precision = Precision::Double;
  StreamedNetwork streamed(network, tileSize, threads, device);
  streamed.SetSegments(segments, scratch);
  streamed.SetParameters(parameters);
  OneLabel     labels(label);
  LossGradient sum;
  EXPECT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
  return sum;
}

class ImageLabels : public testing::TestWithParam<std::tuple<Pool, int, std::int64_t, int>>
{
};

class Pools : public testing::TestWithParam<Pool>
{
};

} // namespace

TEST_P(ImageLabels, GradientIsThatOfTheWholeImage)
{
  const auto [pool, classes, tileSize, threads] = GetParam();
  const NetworkDescription  network = MakeClassifier(classes == 2 ? 1 : classes, pool);
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  LabeledImage              image = MakeImage({ 83, 61 }, 3, classes, 5);
  image.labels = { 1 };
  const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
  MemoryPixels      pixels(image, 3);
  // Which structured bindings are not captured by.
  const auto computeGradient = [&, size = tileSize, number = threads] {
    return ComputeGradient(network, parameters, pixels, 1, size, number);
  };
  ForEachOperators([&](GraphOperators) { ExpectReference(network, computeGradient(), reference); });

  Device device;
  device.precision = Precision::Double;
  StreamedNetwork streamed(network, tileSize, threads, device);
  streamed.SetParameters(parameters);
  std::vector<float> probabilities(network.GetNumberOfOutputChannels());
  ASSERT_TRUE(streamed.PredictImage(pixels, PixelValue::Probability, probabilities.data()));
  for (std::size_t c = 0; c < probabilities.size(); ++c)
  {
    EXPECT_NEAR(probabilities[c], reference.probabilities[c], 1e-6);
  }
  OneLabel labels(1);
  Score    score;
  ASSERT_TRUE(streamed.ComputeScore(pixels, labels, score));
  EXPECT_EQ(score.pixels, 1);
  EXPECT_NEAR(score.loss, reference.loss, 1e-12 * reference.loss);
}

constexpr auto AllPools = { Pool::Mean, Pool::Greatest, Pool::LogSum, Pool::Attention };

INSTANTIATE_TEST_SUITE_P(Tiles,
                         ImageLabels,
                         testing::Combine(testing::ValuesIn(AllPools),
                                          testing::Values(2, 3),
                                          testing::Values(8, 24, 128),
                                          testing::Values(1, 2)));

/** Half of it is glass, whose tiles are computed once: a tile's part of what is pooled, and of the gradient, is exact.
 */
TEST_P(Pools, GlassIsComputedOnce)
{
  const NetworkDescription  network = MakeClassifier(3, GetParam());
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const Size                size{ 640, 480 };
  LabeledImage              image = MakeImage(size, 3, 3, 5);
  std::fill(image.pixels.begin() + size.width * 3 * 130, image.pixels.end(), 255);
  image.labels = { 2 };
  MemoryPixels pixels(image, 3);
  ExpectReference(network,
                  ComputeGradient(network, parameters, pixels, 2, 32, 2),
                  ComputeReference(network, parameters, image, at::kDouble));
}

/** Everywhere the same but at the border: what is the greatest is so at many places, in many tiles; and what attention
 * weights hardly differs, so that the gradients of its scores lose a digit. */
TEST_P(Pools, AllOfOneColor)
{
  const NetworkDescription  network = MakeClassifier(3, GetParam());
  const std::vector<double> parameters = MakeParameters(network.graph, 4);
  LabeledImage              image = MakeImage({ 200, 170 }, 3, 3, 5);
  std::fill(image.pixels.begin(), image.pixels.end(), 200);
  image.labels = { 0 };
  MemoryPixels pixels(image, 3);
  ExpectReference(network,
                  ComputeGradient(network, parameters, pixels, 0, 16, 2),
                  ComputeReference(network, parameters, image, at::kDouble),
                  1e-11);
}

TEST_P(Pools, SameBitsForAnyNumberOfThreads)
{
  NetworkDescription        network = MakeClassifier(3, GetParam());
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const LabeledImage        image = MakeImage({ 211, 157 }, 3, 3, 5);
  MemoryPixels              pixels(image, 3);
  const LossGradient        one = ComputeGradient(network, parameters, pixels, 1, 16, 1);
  for (const int threads : { 2, 5 })
  {
    const LossGradient several = ComputeGradient(network, parameters, pixels, 1, 16, threads);
    EXPECT_EQ(several.loss, one.loss);
    EXPECT_EQ(several.gradient, one.gradient);
  }
}

/** What MakeClassifier() pools: pixel i of its maps lies at pixel 8 i of the image. */
Size
GetPooledSize(Size image)
{
  return { (image.width + 7) / 8, (image.height + 7) / 8 };
}

/** Two pieces, one of them of a few pixels. */
std::vector<std::uint8_t>
MakeTissue(Size size)
{
  std::vector<std::uint8_t> tissue(size.width * size.height);
  for (std::int64_t y = 0; y < size.height; ++y)
  {
    for (std::int64_t x = 0; x < size.width; ++x)
    {
      const bool large = std::hypot(x - 0.3 * size.width, y - 0.6 * size.height) < 0.25 * size.height;
      tissue[y * size.width + x] = large || (x > size.width - 4 && y < 3) ? 1 : 0;
    }
  }
  return tissue;
}

/** The pixels of the pooled map that tissue is nearest to, of two that are as near the later one. */
std::vector<std::uint8_t>
FindNearest(Size size, const std::vector<std::uint8_t> & tissue)
{
  const Size                pooled = GetPooledSize(size);
  std::vector<std::uint8_t> counted(pooled.width * pooled.height);
  const auto                find = [](std::int64_t pixel, std::int64_t pixels) {
    std::int64_t nearest = 0;
    for (std::int64_t i = 1; i < pixels; ++i)
    {
      nearest = std::abs(8 * i - pixel) <= std::abs(8 * nearest - pixel) ? i : nearest;
    }
    return nearest;
  };
  for (std::int64_t y = 0; y < size.height; ++y)
  {
    for (std::int64_t x = 0; x < size.width; ++x)
    {
      std::uint8_t & of = counted[find(y, pooled.height) * pooled.width + find(x, pooled.width)];
      of = tissue[y * size.width + x] != 0 ? 1 : of;
    }
  }
  return counted;
}

/** Nothing counts but what tissue is nearest to, and tiles without it are not read. */
TEST_P(Pools, OverTissueOnly)
{
  const NetworkDescription  network = MakeClassifier(3, GetParam());
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const Size                size{ 331, 277 }, pooled = GetPooledSize(size);
  LabeledImage              image = MakeImage(size, 3, 3, 5);
  image.labels = { 2 };
  MemoryPixels pixels(image, 3);
  pixels.tissue = MakeTissue(size);
  image.counted = FindNearest(size, pixels.tissue);
  const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
  for (const std::int64_t side : { 8, 24, 512 })
  {
    std::set<std::pair<std::int64_t, std::int64_t>> tiles;
    for (std::int64_t i = 0; i < pooled.width * pooled.height; ++i)
    {
      if (image.counted[i] != 0)
      {
        tiles.emplace(i / pooled.width / (side / 8), i % pooled.width / (side / 8));
      }
    }
    const auto number = static_cast<int>(tiles.size());
    pixels.numberOfReads = 0;
    ExpectReference(network, ComputeGradient(network, parameters, pixels, 2, side, 2), reference);
    EXPECT_LE(pixels.numberOfReads, 2 * number);
    EXPECT_GE(pixels.numberOfReads, GetParam() == Pool::Greatest ? number : 2 * number);
  }
  // Tiles of glass that are equal differ by what counts of them.
  std::fill(image.pixels.begin() + size.width * 3 * 100, image.pixels.begin() + size.width * 3 * 180, 255);
  ExpectReference(network,
                  ComputeGradient(network, parameters, pixels, 2, 16, 2),
                  ComputeReference(network, parameters, image, at::kDouble));
}

/** With maps before the pooling that are kept, in memory and in files; of tissue, and with glass in between. */
TEST_P(Pools, InSegments)
{
  const NetworkDescription  network = MakeClassifier(3, GetParam());
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const Size                size{ 331, 277 };
  LabeledImage              image = MakeImage(size, 3, 3, 5);
  std::fill(image.pixels.begin() + size.width * 3 * 100, image.pixels.begin() + size.width * 3 * 180, 255);
  image.labels = { 2 };
  const GraphGeometry geometry(network.graph, { size.height, size.width });
  std::vector<int>    kept;
  for (const Operation & operation : network.graph.operations)
  {
    if (operation.type == "relu" && kept.size() < 2)
    {
      kept.push_back(network.graph.GetIndex(operation.name));
    }
  }
  const TemporaryFolder folder("segments");
  for (const bool ofTissue : { false, true })
  {
    MemoryPixels pixels(image, 3);
    pixels.tissue = ofTissue ? MakeTissue(size) : std::vector<std::uint8_t>();
    image.counted = ofTissue ? FindNearest(size, pixels.tissue) : image.counted;
    const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
    std::vector<int>  all = kept;
    for (const SegmentPlan & reduced : MakeReducingSegments(geometry, 32))
    {
      all.push_back(network.graph.GetIndex(reduced.operation));
    }
    for (const std::int64_t tileSize : { 7, 20, 400 })
    {
      std::vector<SegmentPlan> segments;
      for (const int operation : all)
      {
        segments.push_back({ network.graph.operations[operation].name, tileSize });
      }
      ExpectReference(network, ComputeGradient(network, parameters, pixels, 2, 32, 2, segments), reference);
      ExpectReference(
        network, ComputeGradient(network, parameters, pixels, 2, 32, 1, segments, folder.path), reference);
    }
  }
}

TEST(ImageLabels, WithoutTissueThereIsNothingToLabel)
{
  const NetworkDescription network = MakeClassifier(3);
  const LabeledImage       image = MakeImage({ 90, 70 }, 3, 3, 5);
  MemoryPixels             pixels(image, 3);
  pixels.tissue.resize(90 * 70);
  EXPECT_THROW(ComputeGradient(network, MakeParameters(network.graph, 3), pixels, 1, 16, 2), std::runtime_error);
}

/** \return the greatest value of the map of what a label comes from */
double
ExpectActivation(const NetworkDescription & network,
                 Pool                       pool,
                 const LabeledImage &       image,
                 MemoryPixels &             pixels,
                 int                        label)
{
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const NetworkGraph &      graph = network.graph;
  const auto          pooling = std::find_if(graph.operations.begin(), graph.operations.end(), [](const auto & one) {
    return one.type.find("_pool2d") != std::string::npos && one.type != "max_pool2d";
  });
  std::vector<double> expected;
  if (pool == Pool::Attention)
  {
    expected = ComputeMap(network, parameters, image, pooling->inputs[1]);
    double sum = 0, number = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
    {
      const bool counts = image.counted.empty() || image.counted[i] != 0;
      expected[i] = counts ? std::exp(expected[i]) : 0;
      sum += expected[i];
      number += counts;
    }
    std::for_each(expected.begin(), expected.end(), [&](double & value) { value *= number / sum; });
  }
  else
  {
    expected = ComputeGradCAM(network, parameters, image, pooling->inputs[0], label);
    for (std::size_t i = 0; i < expected.size(); ++i)
    {
      const bool counts = image.counted.empty() || image.counted[i] != 0;
      expected[i] = counts ? expected[i] * static_cast<double>(expected.size()) : 0; // the gradient's sum is no mean
    }
  }
  const double      greatest = *std::max_element(expected.begin(), expected.end());
  const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
  for (const std::int64_t side : { 32, 96, 512 })
  {
    Device device;
    device.precision = Precision::Double;
    StreamedNetwork streamed(network, side, 2, device);
    streamed.SetParameters(parameters);
    std::vector<float> probabilities(network.GetNumberOfOutputChannels());
    ActivationMap      map;
    EXPECT_TRUE(streamed.ExplainImage(pixels, label, probabilities.data(), map));
    EXPECT_NEAR(probabilities[0], reference.probabilities[0], 1e-6);
    EXPECT_EQ(map.isAttention, pool == Pool::Attention);
    EXPECT_EQ(map.values.size(), expected.size());
    double difference = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
    {
      difference = std::max(difference, std::abs(static_cast<double>(map.values.at(i)) - expected[i]));
    }
    EXPECT_LE(difference, 1e-6 * greatest) << "in tiles of " << side;
  }
  return greatest;
}

TEST_P(Pools, WhereLabelsComeFrom)
{
  for (const int classes : { 1, 3 })
  {
    const NetworkDescription network = MakeClassifier(classes, GetParam());
    LabeledImage             image = MakeImage({ 331, 277 }, 3, 3, 5);
    image.labels = { 1 };
    MemoryPixels pixels(image, 3);
    double       greatest = 0; // of some class there may be none
    for (int label = 0; label < std::max(2, classes); ++label)
    {
      greatest = std::max(greatest, ExpectActivation(network, GetParam(), image, pixels, label));
    }
    EXPECT_GT(greatest, 0);
    pixels.tissue = MakeTissue(image.size);
    image.counted = FindNearest(image.size, pixels.tissue);
    ExpectActivation(network, GetParam(), image, pixels, 1);
  }
}

/** In the middle of what they see of the image. */
TEST(ImageLabels, PixelsOfThePooledMapLieInTheImage)
{
  const auto expectSampling = [](const NetworkDescription & network, double step) {
    const NetworkGraph & graph = network.graph;
    const GraphGeometry  geometry(graph, { 500, 700 });
    for (const Operation & operation : graph.operations)
    {
      if (operation.type == "adaptive_avg_pool2d")
      {
        const Sampling sampling = geometry.GetSampling(graph.GetIndex(operation.inputs.front()), 1);
        EXPECT_EQ(sampling.step, step);
        EXPECT_EQ(sampling.offset, 0);
      }
    }
  };
  expectSampling(MakeClassifier(3), 8);
  expectSampling(NetworkPreset::Find("resnet18")->Make("resnet18:width=4"), 32);
  expectSampling(NetworkPreset::Find("resnet50")->Make("resnet50:width=4"), 32);
}

/** The gradient of a preset of three classes is autograd's. */
void
ExpectReferenceOfPreset(const std::string & name)
{
  const NetworkDescription  network = NetworkPreset::Find(name)->Make(name);
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  LabeledImage              image = MakeImage({ 227, 161 }, 3, 3, 5);
  image.labels = { 1 };
  const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
  MemoryPixels      pixels(image, 3);
  ExpectReference(network, ComputeGradient(network, parameters, pixels, 1, 64, 2), reference);
}

/** The preset, thin. */
TEST_P(Pools, OfResNet)
{
  const char * const words[] = { "mean", "max", "lse", "attention" };
  ExpectReferenceOfPreset(std::string("resnet18:classes=3,width=4,pool=") + words[static_cast<int>(GetParam())]);
}

INSTANTIATE_TEST_SUITE_P(All, Pools, testing::ValuesIn(AllPools));

TEST(ImageLabels, OfResNetsWithoutNorms)
{
  ExpectReferenceOfPreset("resnet18:classes=3,width=4,norm=fixup");
  ExpectReferenceOfPreset("resnet50:classes=3,width=2,norm=fixup");
}

/** Of the greatest, the backward pass needs no tiles but those which have one. */
TEST(ImageLabels, TilesWithoutGradientAreNotRead)
{
  LabeledImage  image = MakeImage({ 88, 64 }, 3, 3, 5);
  constexpr int Tiles = 11 * 8, Channels = 8;
  const auto    count = [&](Pool pool) {
    const NetworkDescription network = MakeClassifier(3, pool);
    MemoryPixels             pixels(image, 3);
    ComputeGradient(network, MakeParameters(network.graph, 3), pixels, 1, 8, 2);
    return pixels.numberOfReads.load();
  };
  EXPECT_EQ(count(Pool::Mean), 2 * Tiles);
  EXPECT_GT(count(Pool::Greatest), Tiles);
  EXPECT_LE(count(Pool::Greatest), Tiles + Channels);
}

namespace
{

/** Storage that has to be told beforehand what will be read. */
class AnnouncedPixels : public MemoryPixels
{
public:
  using MemoryPixels::MemoryPixels;

  void
  ReadAhead(const Region & region) override
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Announced.insert({ region.x, region.y, region.width, region.height });
    m_Most = std::max(m_Most, m_Announced.size());
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      const auto                        found =
        m_Announced.find(std::array<std::int64_t, 4>{ region.x, region.y, region.width, region.height });
      m_Surprises += found == m_Announced.end();
      if (found != m_Announced.end())
      {
        m_Announced.erase(found);
      }
    }
    MemoryPixels::Read(region, samples);
  }

  /** Announced and not read since. */
  int
  GetNumberOfWaiting() const
  {
    return static_cast<int>(m_Announced.size());
  }

  /** Read, but never announced. A thread that is overtaken between taking a tile and announcing the one that comes next
   * announces it late: then the tile is a surprise, and waits for good. */
  int
  GetNumberOfUnannounced() const
  {
    return m_Surprises - this->GetNumberOfWaiting();
  }

  /** Each tile that is read was announced once, and beforehand where one thread takes them all. */
  void
  ExpectAnnouncements(int threads) const
  {
    EXPECT_EQ(this->GetNumberOfUnannounced(), 0);
    if (threads == 1)
    {
      EXPECT_EQ(this->GetNumberOfWaiting(), 0);
      EXPECT_EQ(m_Most, 2u); // what is read, and what comes next
    }
  }

private:
  std::mutex                                 m_Mutex;
  std::multiset<std::array<std::int64_t, 4>> m_Announced;
  std::size_t                                m_Most{ 0 };
  int                                        m_Surprises{ 0 }; // read before they were announced
};

} // namespace

/** So that slow storage brings pixels of a tile while those before it are computed. */
TEST(ImageLabels, TilesAreAnnouncedBeforeTheyAreRead)
{
  LabeledImage             image = MakeImage({ 88, 64 }, 3, 3, 5);
  const NetworkDescription network = MakeClassifier(3, Pool::Mean);
  for (const int threads : { 1, 3 })
  {
    AnnouncedPixels pixels(image, 3);
    ComputeGradient(network, MakeParameters(network.graph, 3), pixels, 1, 8, threads);
    EXPECT_EQ(pixels.numberOfReads, 2 * 11 * 8);
    pixels.ExpectAnnouncements(threads);
  }
  // Nothing is brought that nobody reads: of the greatest, most tiles of the backward pass.
  const NetworkDescription ofGreatest = MakeClassifier(3, Pool::Greatest);
  AnnouncedPixels          pixels(image, 3);
  ComputeGradient(ofGreatest, MakeParameters(ofGreatest.graph, 3), pixels, 1, 8, 2);
  EXPECT_EQ(pixels.GetNumberOfUnannounced(), pixels.numberOfReads - 11 * 8);
}

TEST(ImageLabels, TilesOfPixelsLabelsAreAnnouncedAsWell)
{
  LabeledImage             image = MakeImage({ 88, 64 }, 3, 2, 5);
  const NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=2");
  for (const int threads : { 1, 2 })
  {
    AnnouncedPixels pixels(image, 3);
    MemoryLabels    labels(image);
    StreamedNetwork streamed(network, 16, threads, { -1, Precision::Double });
    streamed.SetParameters(MakeParameters(network.graph, 3));
    LossGradient sum;
    EXPECT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
    EXPECT_EQ(pixels.numberOfReads, 6 * 4);
    pixels.ExpectAnnouncements(threads);
  }
}

/** Also where tiles are equal: each of them has a part in the gradient of the first mean. */
TEST(ImageLabels, MeansOfGatedMapsAreThoseOfTheWholeImage)
{
  const NetworkDescription  network = MakeGatedClassifier();
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  for (const bool glass : { false, true })
  {
    const Size   size{ 320, 240 };
    LabeledImage image = MakeImage(size, 3, 3, 5);
    if (glass)
    {
      std::fill(image.pixels.begin() + size.width * 3 * 70, image.pixels.end(), 255);
    }
    image.labels = { 2 };
    const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
    Device            device;
    device.precision = Precision::Double;
    StreamedNetwork streamed(network, 32, 2, device);
    streamed.SetParameters(parameters);
    MemoryPixels pixels(image, 3);
    OneLabel     labels(2);
    LossGradient sum;
    ASSERT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
    GraphResult result;
    result.loss = sum.loss;
    result.gradient = sum.gradient;
    const Difference difference = Compare(network.graph, result, reference);
    EXPECT_LE(difference.loss, 1e-12) << glass;
    EXPECT_LE(difference.gradient, 1e-12) << difference.array << glass;
  }
}

TEST(ImageLabels, WhatTheyAreNotMadeForIsRefused)
{
  NetworkDescription network = MakeClassifier(3);
  network.SetLoss("dice");
  EXPECT_THROW(network.Validate(), std::invalid_argument);
  network.SetLoss("cross-entropy");
  network.classWeights = { 1, 2, 3 };
  EXPECT_THROW(network.Validate(), std::invalid_argument);
  network.classWeights.clear();
  EXPECT_NO_THROW(network.Validate());
  EXPECT_THROW(StreamedNetwork(network, 20, 1), std::invalid_argument);
}

namespace
{

gigapixel::Diagnostic
GetRefusal(const NetworkDescription & network)
{
  return gigapixel_test::FindRefusal([&] { network.Validate(); });
}

} // namespace

/** Of a mean that is the output itself nothing is left to be computed once. */
TEST(ImageLabels, AMeanIsNoOutput)
{
  NetworkGraph      graph;
  const std::string image = Append(graph, "input", {}, { { "channels", std::int64_t{ 3 } } });
  Append(graph,
         "adaptive_avg_pool2d",
         { Append(graph, "relu", { AppendConvolution(graph, image, 2, 3, 1) }) },
         { { "output_size", Pair(1, 1) } });
  EXPECT_EQ(GetRefusal(MakeNetwork(graph)).code, "E-NETWORK-OPERATION");
  Append(graph, "mul", { graph.output }, { { "other", 1.0 } });
  EXPECT_EQ(GetRefusal(MakeNetwork(graph)).code, "");
}

TEST(ImageLabels, AMeanThatNothingReadsIsNamed)
{
  NetworkGraph      graph;
  const std::string image = Append(graph, "input", {}, { { "channels", std::int64_t{ 3 } } });
  const std::string map = AppendConvolution(graph, image, 2, 3, 1);
  Append(graph, "adaptive_avg_pool2d", { map }, { { "output_size", Pair(1, 1) } });
  AppendConvolution(graph, map, 2, 1, 0);
  EXPECT_EQ(GetRefusal(MakeNetwork(graph)).code, "E-NETWORK-OPERATION");
}

TEST(ImageLabels, InOnePieceIsOneTile)
{
  NetworkDescription  network = MakeClassifier(3);
  const GraphGeometry geometry(network.graph, { 61, 83 });
  const auto segments = MakeReducingSegments(geometry, GetTileSide(WholeImage, { 83, 61 }, network.GetStride()));
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_GE(segments[0].tileSize, geometry.GetTiled(MakeSegments(geometry, segments)[0].operation)[1].GetLength());
}

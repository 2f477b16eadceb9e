/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Networks that label images: their gradient of one label, in tiles, against autograd on the whole image.
#include "GraphFixture.h"
#include "gigapixelStreamedNetwork.h"
#include "schedule/gigapixelTileGrid.h"

#include <gtest/gtest.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** The mean of maps, and a layer of neurons behind it. */
NetworkDescription
MakeClassifier(int classes)
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
  const std::string mean = Append(graph, "adaptive_avg_pool2d", { map }, { { "output_size", Pair(1, 1) } });
  AppendConvolution(graph, Append(graph, "relu", { AppendConvolution(graph, mean, 5, 1, 0) }), classes, 1, 0);
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

class MemoryPixels : public PixelSource
{
public:
  explicit MemoryPixels(const LabeledImage & image, unsigned channels)
    : m_Image(image)
    , m_Channels(channels)
  {}

  Size
  GetSize() const override
  {
    return m_Image.size;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    for (std::int64_t y = region.y; y < region.y + region.height; ++y, samples += region.width * m_Channels)
    {
      const auto row = m_Image.pixels.begin() + (y * m_Image.size.width + region.x) * m_Channels;
      std::copy(row, row + region.width * m_Channels, samples);
    }
  }

private:
  const LabeledImage & m_Image;
  const unsigned       m_Channels;
};

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

class ImageLabels : public testing::TestWithParam<std::tuple<int, std::int64_t, int>>
{
};

} // namespace

TEST_P(ImageLabels, GradientIsThatOfTheWholeImage)
{
  const auto [classes, tileSize, threads] = GetParam();
  const NetworkDescription  network = MakeClassifier(classes == 2 ? 1 : classes);
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const Size                size{ 83, 61 };
  LabeledImage              image = MakeImage(size, 3, classes, 5);
  image.labels = { 1 };
  const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
  Device            device;
  device.precision = Precision::Double;
  StreamedNetwork streamed(network, tileSize, threads, device);
  streamed.SetParameters(parameters);
  MemoryPixels pixels(image, 3);
  OneLabel     labels(1);
  LossGradient sum;
  ASSERT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
  GraphResult result;
  result.loss = sum.loss;
  result.gradient = sum.gradient;
  std::vector<float> probabilities(network.GetNumberOfOutputChannels());
  ASSERT_TRUE(streamed.PredictImage(pixels, PixelValue::Probability, probabilities.data()));
  result.probabilities.assign(probabilities.begin(), probabilities.end());
  const Difference difference = Compare(network.graph, result, reference);
  EXPECT_LE(difference.loss, 1e-12);
  EXPECT_LE(difference.gradient, 1e-12) << difference.array;
  EXPECT_LE(difference.probability, 1e-6);
  Score score;
  ASSERT_TRUE(streamed.ComputeScore(pixels, labels, score));
  EXPECT_EQ(score.pixels, 1);
  EXPECT_NEAR(score.loss, reference.loss, 1e-12 * reference.loss);
}

INSTANTIATE_TEST_SUITE_P(Tiles,
                         ImageLabels,
                         testing::Combine(testing::Values(2, 3), testing::Values(8, 24, 128), testing::Values(1, 2)));

/** Half of it is glass, whose tiles are computed once: a tile's part of the mean, and of the gradient, is exact. */
TEST(ImageLabels, GlassIsComputedOnce)
{
  const NetworkDescription  network = MakeClassifier(3);
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const Size                size{ 640, 480 };
  LabeledImage              image = MakeImage(size, 3, 3, 5);
  std::fill(image.pixels.begin() + size.width * 3 * 130, image.pixels.end(), 255);
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
  EXPECT_LE(difference.loss, 1e-12);
  EXPECT_LE(difference.gradient, 1e-12) << difference.array;
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

std::string
GetRefusal(const NetworkDescription & network)
{
  try
  {
    network.Validate();
  }
  catch (const std::invalid_argument & refusal)
  {
    return refusal.what();
  }
  return {};
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
  EXPECT_NE(GetRefusal(MakeNetwork(graph)).find("its output is the mean of all pixels itself"), std::string::npos);
  Append(graph, "mul", { graph.output }, { { "other", 1.0 } });
  EXPECT_EQ(GetRefusal(MakeNetwork(graph)), "");
}

TEST(ImageLabels, AMeanThatNothingReadsIsNamed)
{
  NetworkGraph      graph;
  const std::string image = Append(graph, "input", {}, { { "channels", std::int64_t{ 3 } } });
  const std::string map = AppendConvolution(graph, image, 2, 3, 1);
  Append(graph, "adaptive_avg_pool2d", { map }, { { "output_size", Pair(1, 1) } });
  AppendConvolution(graph, map, 2, 1, 0);
  EXPECT_NE(
    GetRefusal(MakeNetwork(graph)).find("nothing reads what sees the whole image: adaptive_avg_pool2d (1 place"),
    std::string::npos);
}

TEST(ImageLabels, InOnePieceIsOneTile)
{
  NetworkDescription  network = MakeClassifier(3);
  const GraphGeometry geometry(network.graph, { 61, 83 });
  const auto segments = MakeReducingSegments(geometry, GetTileSide(WholeImage, { 83, 61 }, network.GetStride()));
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_GE(segments[0].tileSize, geometry.GetTiled(MakeSegments(geometry, segments)[0].operation)[1].GetLength());
}

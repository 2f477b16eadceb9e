/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What networks that label images make of one before their last layers, in tiles, against the whole image at once.
#include "TestDevice.h"
#include "GraphFixture.h"
#include "MemorySources.h"
#include "gigapixelNetworkPresets.h"
#include "execute/gigapixelStreamedNetwork.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr std::int64_t Stride = 32; ///< of ResNets

/** Noise above; below it is of one color, so that tiles are equal. */
LabeledImage
MakeHalfGlass()
{
  LabeledImage image = MakeImage({ 331, 860 }, 3, 3, 5);
  std::fill(image.pixels.begin() + image.size.width * 3 * 150, image.pixels.end(), 255);
  return image;
}

NetworkDescription
MakeResNet(const std::string & pool)
{
  const std::string name = "resnet18:classes=3,width=2,pool=" + pool;
  return NetworkPreset::Find(name)->Make(name);
}

struct Found
{
  std::vector<std::array<double, 2>> places;
  std::vector<float>                 vectors;
  std::vector<float>                 pooled;
};

Found
Compute(const NetworkDescription & network, PixelSource & pixels, std::int64_t tileSize, int threads)
{
  Device device;
  device.precision = Precision::Double;
  StreamedNetwork streamed(network, tileSize, threads, device);
  streamed.SetParameters(MakeParameters(network.graph, 3));
  Found      found;
  const auto take = [&found](const Features & features) {
    found.places.insert(found.places.end(), features.places.begin(), features.places.end());
    found.vectors.insert(found.vectors.end(), features.vectors.begin(), features.vectors.end());
    EXPECT_EQ(features.step[0], Stride);
    EXPECT_EQ(features.step[1], Stride);
  };
  EXPECT_TRUE(streamed.ComputeFeatures(pixels, take, found.pooled));
  return found;
}

/** The pixels of the map that tissue is nearest to, of two that are as near the later one. */
std::vector<std::uint8_t>
FindCounted(Size size, const std::vector<std::uint8_t> & tissue)
{
  const Size                map{ (size.width + Stride - 1) / Stride, (size.height + Stride - 1) / Stride };
  std::vector<std::uint8_t> counted(map.width * map.height);
  for (std::int64_t i = 0; i < size.width * size.height; ++i)
  {
    const std::int64_t x = std::min(map.width - 1, (i % size.width + Stride / 2) / Stride);
    const std::int64_t y = std::min(map.height - 1, (i / size.width + Stride / 2) / Stride);
    counted[y * map.width + x] |= tissue[i];
  }
  return counted;
}

/** Each vector where it lies, each once, and what they are pooled to. */
void
ExpectReference(const NetworkDescription & network, const LabeledImage & image, const Found & found)
{
  const auto & operations = network.graph.operations;
  const auto   pooling = std::find_if(operations.begin(), operations.end(), [](const Operation & one) {
    return one.name == "avgpool" || one.name == "globalpool";
  });
  ASSERT_NE(pooling, operations.end());
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const std::vector<double> map = ComputeMap(network, parameters, image, pooling->inputs.front());
  const std::vector<double> pooled = ComputeMap(network, parameters, image, pooling->name);
  const std::int64_t        width = (image.size.width + Stride - 1) / Stride;
  const std::int64_t        pixels = width * ((image.size.height + Stride - 1) / Stride);
  const std::size_t         channels = map.size() / pixels;
  ASSERT_EQ(pooled.size(), channels);
  ASSERT_EQ(found.pooled.size(), channels);
  const double              greatest = std::abs(*std::max_element(map.begin(), map.end()));
  std::vector<std::uint8_t> seen(pixels);
  ASSERT_EQ(found.vectors.size(), found.places.size() * channels);
  for (std::size_t i = 0; i < found.places.size(); ++i)
  {
    const auto at = static_cast<std::int64_t>((found.places[i][1] * width + found.places[i][0]) / Stride);
    seen.at(at) += 1;
    for (std::size_t c = 0; c < channels; ++c)
    {
      ASSERT_NEAR(found.vectors[i * channels + c], map[c * pixels + at], 1e-6 * greatest) << i << ' ' << c;
    }
  }
  const std::vector<std::uint8_t> all(pixels, 1);
  EXPECT_EQ(seen, image.counted.empty() ? all : image.counted);
  for (std::size_t c = 0; c < channels; ++c)
  {
    EXPECT_NEAR(found.pooled[c], pooled[c], 1e-6 * greatest);
  }
}

class FeaturesOf : public testing::TestWithParam<const char *>
{
};

TEST_P(FeaturesOf, TilesAreThoseOfTheWholeImage)
{
  const NetworkDescription network = MakeResNet(GetParam());
  LabeledImage             image = MakeHalfGlass();
  MemoryPixels             pixels(image, 3);
  ForEachOperators([&](GraphOperators) {
    for (const std::int64_t side : { 32, 96, 1024 })
    {
      SCOPED_TRACE(side);
      ExpectReference(network, image, Compute(network, pixels, side, 2));
    }
  });
}

TEST_P(FeaturesOf, OnlyTissueCounts)
{
  const NetworkDescription network = MakeResNet(GetParam());
  LabeledImage             image = MakeHalfGlass();
  MemoryPixels             pixels(image, 3);
  pixels.tissue.resize(image.size.width * image.size.height);
  for (std::int64_t y = 0; y < image.size.height; ++y)
  {
    for (std::int64_t x = 0; x < image.size.width; ++x)
    {
      const bool round = std::hypot(x - 120.0, y - 130.0) < 60;
      pixels.tissue[y * image.size.width + x] = round || (x > 300 && y > 830) ? 1 : 0;
    }
  }
  image.counted = FindCounted(image.size, pixels.tissue);
  ASSERT_LT(std::count(image.counted.begin(), image.counted.end(), 1), static_cast<int>(image.counted.size()) / 2);
  for (const std::int64_t side : { 32, 96 })
  {
    SCOPED_TRACE(side);
    ExpectReference(network, image, Compute(network, pixels, side, 2));
  }
}

TEST_P(FeaturesOf, SameBitsInTheSameOrderForAnyNumberOfThreads)
{
  const NetworkDescription network = MakeResNet(GetParam());
  const LabeledImage       image = MakeHalfGlass();
  MemoryPixels             pixels(image, 3);
  const Found              one = Compute(network, pixels, 64, 1);
  for (const int threads : { 2, 5 })
  {
    const Found several = Compute(network, pixels, 64, threads);
    EXPECT_EQ(several.places, one.places);
    EXPECT_EQ(several.vectors, one.vectors);
    EXPECT_EQ(several.pooled, one.pooled);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FeaturesOf, testing::Values("mean", "max", "lse", "attention"));

/** A disk that is full, say. */
TEST(Features, WhatTakesThemMayFail)
{
  const NetworkDescription network = MakeResNet("mean");
  const LabeledImage       image = MakeHalfGlass();
  MemoryPixels             pixels(image, 3);
  StreamedNetwork          streamed(network, 64, 3);
  streamed.SetParameters(MakeParameters(network.graph, 3));
  int                number = 0;
  std::vector<float> pooled;
  const auto         fail = [&number](const Features &) {
    if (++number == 3)
    {
      throw std::runtime_error("no room");
    }
  };
  EXPECT_THROW(streamed.ComputeFeatures(pixels, fail, pooled), std::runtime_error);
  EXPECT_EQ(number, 3);
  EXPECT_FALSE(streamed.ComputeFeatures(
    pixels, [](const Features &) {}, pooled, [](double) { return false; }));
}

} // namespace

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The source that a GPU runs, on the CPU, one thread after the other, against the CPU's own kernels.
#include "SyntheticSources.h"
#include "device/gigapixelDevicePasses.h"
#include "gigapixelInitialWeights.h"
#include "gigapixelLoss.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** The CPU as a device: everything is done when it is asked for. */
struct HostDevice
{
  void *
  Allocate(std::size_t bytes)
  {
    void * const memory = std::malloc(bytes);
    std::memset(memory, 0xff, bytes); // NaN: what is used without being set shows
    return memory;
  }
  void
  Free(void * memory)
  {
    std::free(memory);
  }

  struct Queue
  {
    explicit Queue(HostDevice &) {}
    void
    Upload(void * to, const void * from, std::size_t bytes)
    {
      std::memcpy(to, from, bytes);
    }
    void
    Download(void * to, const void * from, std::size_t bytes)
    {
      std::memcpy(to, from, bytes);
    }
    void
    Clear(void * memory, std::size_t bytes)
    {
      std::memset(memory, 0, bytes);
    }
    template <typename TKernel>
    void
    Run(const TKernel & kernel)
    {
      for (std::int64_t thread = kernel.Threads(); thread-- > 0;)
      {
        kernel(thread);
      }
    }
    void
    Wait()
    {}
  };
};

/** Pieces of the JSON that the preset does not have. */
NetworkDescription
MakeNetwork(const std::string & name)
{
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  if (name == "RGB, three classes")
  {
    network.channels = 3;
    network.invert = false;
    network.layers.front().inputChannels = 3;
    network.layers.back().outputChannels = 3;
    network.loss = NetworkDescription::Loss::SoftmaxCrossEntropy;
    network.classWeights = { 0.5, 2, 1 };
  }
  else if (name == "wide, two skips from one layer")
  {
    network = NetworkDescription();
    network.name = name;
    using Kind = Layer::Kind;
    using Activation = Layer::Activation;
    network.layers = { { "a", Kind::Convolution, 1, 11, 4, 2, 1, Activation::ReLU, "" },
                       { "b", Kind::Convolution, 11, 11, 3, 1, 1, Activation::None, "a" },
                       { "c", Kind::Convolution, 11, 10, 4, 2, 1, Activation::ReLU, "" },
                       { "d", Kind::TransposedConvolution, 10, 11, 4, 2, 1, Activation::ReLU, "a" },
                       { "e", Kind::TransposedConvolution, 11, 1, 2, 2, 0, Activation::None, "" } };
  }
  network.Validate();
  return network;
}

class DevicePassesTest : public testing::TestWithParam<std::string>
{
protected:
  void
  SetUp() override
  {
    const Size          size{ 600, 410 };
    const TileGrid      grid(network, size, 256);
    ProceduralPixels    pixels(size, 3, network.channels);
    ProceduralLabels    labels(size, 3, network.GetNumberOfClasses(), true);
    const auto          classes = network.GetNumberOfClasses();
    std::vector<double> parameters = MakeInitialWeights(network, 1, std::vector<double>(classes, 1.0 / classes));
    // Biases that are not 0, so that none is forgotten.
    for (std::size_t i = 0; i < parameters.size(); ++i)
    {
      parameters[i] += 0.001 * (static_cast<double>(i % 7) - 3);
    }
    expected.SetParameters(parameters);
    passes.SetParameters(parameters);
    for (std::int64_t tile = 0; tile < grid.GetNumberOfTiles(); ++tile)
    {
      tiles.emplace_back();
      ReadPixels(pixels, grid.GetTile(tile), tiles.back());
      ReadClasses(labels, grid.GetTile(tile), network, tiles.back());
    }
  }

  const NetworkDescription network{ MakeNetwork(GetParam()) };
  const LossTerms          terms{ MakeLossTerms(network) };
  TileNetwork              expected{ network };
  DevicePasses<HostDevice> passes{ network, HostDevice() };
  std::vector<TileData>    tiles;
};

double
GetNorm(const std::vector<double> & values, std::size_t begin, std::size_t number)
{
  double sum = 0;
  for (std::size_t i = begin; i < begin + number; ++i)
  {
    sum += values[i] * values[i];
  }
  return std::sqrt(sum);
}

} // namespace

// Float sums in another order: 1e-5 of each tensor's norm.
TEST_P(DevicePassesTest, GradientIsThatOfTheCPU)
{
  LossGradient sum, reference;
  for (TileData & tile : tiles)
  {
    passes.AddGradient(tile, terms, sum);
    expected.AddGradient(tile, terms, reference);
  }
  EXPECT_EQ(sum.pixels, reference.pixels);
  EXPECT_EQ(sum.weight, reference.weight);
  EXPECT_NEAR(sum.loss, reference.loss, 1e-5 * reference.loss);
  std::vector<double> difference(reference.gradient.size());
  std::transform(
    sum.gradient.begin(), sum.gradient.end(), reference.gradient.begin(), difference.begin(), std::minus<>());
  for (const ParameterPlace & place : GetParameterLayout(network))
  {
    EXPECT_LT(GetNorm(difference, place.weight, place.numberOfWeights),
              1e-5 * GetNorm(reference.gradient, place.weight, place.numberOfWeights));
    EXPECT_LT(GetNorm(difference, place.bias, place.numberOfBiases),
              1e-5 * GetNorm(reference.gradient, place.bias, place.numberOfBiases));
  }
}

TEST_P(DevicePassesTest, SameBitsAgain)
{
  LossGradient first, second;
  passes.AddGradient(tiles[0], terms, first);
  passes.AddGradient(tiles[1], terms, second); // leaves its maps behind
  second = LossGradient();
  passes.AddGradient(tiles[0], terms, second);
  EXPECT_EQ(first.loss, second.loss);
  EXPECT_EQ(first.gradient, second.gradient);
}

TEST_P(DevicePassesTest, ScoreAndPredictionsAreThoseOfTheCPU)
{
  Score       sum, reference;
  const int   channels = network.GetNumberOfOutputChannels();
  std::size_t differing = 0, all = 0;
  for (TileData & tile : tiles)
  {
    passes.AddScore(tile, terms, sum);
    expected.AddScore(tile, terms, reference);
    const std::int64_t        width = tile.tile.core.width, pixels = width * tile.tile.core.height;
    std::vector<float>        probabilities(pixels * channels), wanted(pixels * channels);
    std::vector<std::uint8_t> labels(pixels), wantedLabels(pixels);
    passes.Predict(tile, probabilities.data(), width * channels);
    expected.Predict(tile, wanted.data(), width * channels);
    passes.PredictLabels(tile, 0.4, labels.data(), width);
    expected.PredictLabels(tile, 0.4, wantedLabels.data(), width);
    for (std::size_t i = 0; i < wanted.size(); ++i)
    {
      ASSERT_NEAR(probabilities[i], wanted[i], 1e-5);
    }
    for (std::int64_t i = 0; i < pixels; ++i)
    {
      differing += labels[i] != wantedLabels[i];
    }
    all += pixels;
  }
  EXPECT_NEAR(sum.loss, reference.loss, 1e-5 * reference.loss);
  EXPECT_EQ(sum.pixels, reference.pixels);
  EXPECT_EQ(sum.actual, reference.actual);
  for (std::size_t c = 0; c < sum.both.size(); ++c)
  {
    // A probability beside the threshold may fall on either side of it.
    EXPECT_NEAR(sum.both[c], reference.both[c], 1e-4 * static_cast<double>(all));
  }
  EXPECT_LT(differing, 1e-4 * static_cast<double>(all));
}

INSTANTIATE_TEST_SUITE_P(Networks,
                         DevicePassesTest,
                         testing::Values("remedios2023", "RGB, three classes", "wide, two skips from one layer"));

TEST(DevicePasses, NetworksThatItCannotComputeAreRefused)
{
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  network.layers.back() = { "last", Layer::Kind::TransposedConvolution, 6, 1, 10, 8, 1, Layer::Activation::None, "" };
  network.Validate();
  EXPECT_THROW(DevicePasses<HostDevice>(network, HostDevice()), std::invalid_argument);
  network = NetworkDescription::Load("remedios2023");
  network.SetLoss("dice");
  EXPECT_THROW(DevicePasses<HostDevice>(network, HostDevice()), std::invalid_argument);
}

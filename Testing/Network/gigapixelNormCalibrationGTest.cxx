/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Statistics of batch norms over images in tiles, against PyTorch's in training mode, and against their formula.
#include "GraphFixture.h"
#include "MemorySources.h"
#include "gigapixelNetworkPresets.h"
#include "training/gigapixelNormCalibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

std::vector<double>
Calibrate(const NetworkDescription &          network,
          const std::vector<MemoryPixels *> & images,
          std::int64_t                        tileSize,
          int                                 threads)
{
  std::vector<Sample> samples;
  samples.reserve(images.size());
  for (MemoryPixels * image : images)
  {
    samples.push_back(
      { "an image", std::shared_ptr<PixelSource>(image, [](PixelSource *) {}), nullptr }); // is not ours
  }
  std::vector<const Sample *> pointers;
  for (const Sample & sample : samples)
  {
    pointers.push_back(&sample);
  }
  Device device;
  device.precision = Precision::Double;
  NormCalibration calibration(network);
  calibration.SetTiles(tileSize, threads, device);
  Ranks               alone;
  std::vector<double> parameters = MakeParameters(network.graph, 3);
  EXPECT_TRUE(calibration.Run(pointers, alone, parameters, [](const Sample &) { return true; }));
  return parameters;
}

NetworkDescription
MakePreset(const std::string & name)
{
  return NetworkPreset::Find(name)->Make(name);
}

/** A convolution that halves nothing, so that pixels of its map are those of the image, a norm, and what labels. */
NetworkDescription
MakeSmall()
{
  NetworkDescription network = MakePreset("resnet18:classes=2,width=2");
  network.graph = NetworkGraph::FromJSON(R"([
    {"name": "x", "type": "input", "channels": 3},
    {"name": "c", "type": "conv2d", "inputs": ["x"], "out_channels": 4, "kernel_size": 3, "padding": 1},
    {"name": "n", "type": "batch_norm", "inputs": ["c"]},
    {"name": "p", "type": "adaptive_avg_pool2d", "inputs": ["n"], "output_size": 1},
    {"name": "f", "type": "conv2d", "inputs": ["p"], "out_channels": 2, "kernel_size": 1}])",
                                         "f");
  return network;
}

void
ExpectNear(const std::vector<double> & found, const std::vector<double> & wanted)
{
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i)
  {
    ASSERT_NEAR(found[i], wanted[i], 1e-11 * std::max(1.0, std::abs(wanted[i]))) << i;
  }
}

} // namespace

/** Of a classifier, and of a network that labels pixels. */
TEST(NormCalibration, IsPyTorchOfOneBatch)
{
  const LabeledImage a = MakeImage({ 107, 91 }, 3, 3, 5), b = MakeImage({ 107, 91 }, 3, 3, 6);
  for (const char * name : { "resnet18:classes=3,width=2,pool=max", "unet:base=2,depth=2" })
  {
    SCOPED_TRACE(name);
    const NetworkDescription  network = MakePreset(name);
    const std::vector<double> before = MakeParameters(network.graph, 3);
    const std::vector<double> wanted = ComputeRunningStatistics(network, before, { a, b });
    ASSERT_NE(wanted, before);
    MemoryPixels              first(a, 3), second(b, 3);
    const std::vector<double> found = Calibrate(network, { &first, &second }, 32, 1);
    ExpectNear(found, wanted);
    ExpectNear(Calibrate(network, { &first, &second }, 64, 2), wanted);
    EXPECT_EQ(Calibrate(network, { &first, &second }, 32, 3), found) << "threads change no bit";
  }
}

/** Each pixel weighs the same, whatever image it is of, and only tissue does. */
TEST(NormCalibration, IsTheMeanOverTissueOfAllImages)
{
  const NetworkDescription network = MakeSmall();
  const LabeledImage       a = MakeImage({ 60, 41 }, 3, 2, 7), b = MakeImage({ 23, 70 }, 3, 2, 8);
  MemoryPixels             first(a, 3), second(b, 3);
  for (MemoryPixels * pixels : { &first, &second })
  {
    const Size size = pixels->GetSize();
    for (std::int64_t i = 0; i < size.width * size.height; ++i)
    {
      pixels->tissue.push_back(i % size.width > 9 && i % 3 != 0 ? 1 : 0);
    }
  }
  const std::vector<double> found = Calibrate(network, { &first, &second }, 16, 2);
  constexpr int             channels = 4;
  std::vector<double>       sums(channels), squares(channels);
  double                    number = 0;
  for (const auto & [image, pixels] : { std::make_pair(&a, &first), std::make_pair(&b, &second) })
  {
    const std::vector<double> map = ComputeMap(network, MakeParameters(network.graph, 3), *image, "c");
    for (std::size_t i = 0; i < pixels->tissue.size(); ++i)
    {
      number += pixels->tissue[i];
      for (int c = 0; c < channels; ++c)
      {
        const double value = pixels->tissue[i] * map[c * pixels->tissue.size() + i];
        sums[c] += value;
        squares[c] += value * value;
      }
    }
  }
  std::size_t place = 0;
  for (const ParameterDescription & parameter : network.graph.GetParameters())
  {
    for (int c = 0; c < channels; ++c)
    {
      const double mean = sums[c] / number;
      if (parameter.name == "n.running_mean")
      {
        EXPECT_NEAR(found[place + c], mean, 1e-12);
      }
      if (parameter.name == "n.running_var")
      {
        EXPECT_NEAR(found[place + c], squares[c] / number - mean * mean, 1e-11);
      }
    }
    place += parameter.GetNumberOfValues();
  }
}

TEST(NormCalibration, LeavesFrozenNormsAsTheyAre)
{
  NetworkDescription network = MakeSmall();
  network.graph.frozen = { "n.weight" };
  const LabeledImage image = MakeImage({ 30, 30 }, 3, 2, 7);
  MemoryPixels       pixels(image, 3);
  EXPECT_EQ(Calibrate(network, { &pixels }, 16, 1), MakeParameters(network.graph, 3));
}

TEST(NormCalibration, NeedsNorms)
{
  EXPECT_THROW(NormCalibration(NetworkDescription::Load("remedios2023")), std::invalid_argument);
}

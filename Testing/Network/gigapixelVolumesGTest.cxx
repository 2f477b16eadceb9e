/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Networks of three axes on volumes of floats and bytes, in many tiles, against autograd on the whole volume.
#include "RefusalCode.h"
#include "GraphFixture.h"
#include "MemorySources.h"
#include "gigapixelNetworkPresets.h"
#include "execute/gigapixelStreamedNetwork.h"

#include <gtest/gtest.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr Size VolumeSize{ 37, 29, 23 };

std::int64_t
GetNumberOfVoxels(Size size)
{
  return size.width * size.height * size.depth;
}

LabeledImage
MakeVolume(int channels, int classes, bool ofFloats)
{
  LabeledImage volume = MakeImage(VolumeSize, channels, classes, 3);
  if (ofFloats)
  {
    std::mt19937                    engine(4);
    std::normal_distribution<float> normal;
    volume.floats.resize(volume.pixels.size());
    std::generate(volume.floats.begin(), volume.floats.end(), [&] { return normal(engine); });
  }
  return volume;
}

NetworkDescription
MakePreset(const std::string & text)
{
  return NetworkPreset::Find(text)->Make(text);
}

/** A network, and how it goes over a volume whose sides are no multiples of anything. */
struct VolumeCase
{
  std::string  name;
  std::string  network;
  bool         ofFloats;
  std::int64_t tileSize;
};

class Volumes : public testing::TestWithParam<VolumeCase>
{
protected:
  Volumes()
    : network(MakePreset(GetParam().network))
    , parameters(MakeParameters(network.graph, 1))
    , volume(MakeVolume(network.channels, network.GetNumberOfClasses(), GetParam().ofFloats))
    , pixels(volume, network.channels)
    , labels(volume)
  {}

  StreamedNetwork
  MakeStreamed(std::int64_t tileSize, int threads, Precision precision) const
  {
    return StreamedNetwork(network, tileSize, threads, { -1, precision });
  }

  const NetworkDescription  network;
  const std::vector<double> parameters;
  const LabeledImage        volume;
  MemoryPixels              pixels;
  MemoryLabels              labels;
};

} // namespace

TEST_P(Volumes, InTilesAreTheWholeVolume)
{
  const GraphResult reference = ComputeReference(network, parameters, volume, at::kDouble);
  StreamedNetwork   streamed = MakeStreamed(GetParam().tileSize, 2, Precision::Double);
  streamed.SetParameters(parameters);
  LossGradient sum;
  ASSERT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
  GraphResult result;
  result.loss = sum.loss;
  result.gradient = sum.gradient;
  const Difference difference = Compare(network.graph, result, reference, 1e-2);
  EXPECT_LE(difference.loss, 1e-12);
  EXPECT_LE(difference.gradient, 1e-12) << difference.array;
  EXPECT_EQ(sum.pixels, reference.pixels);
}

TEST_P(Volumes, HaveTheSameBitsForAnyNumberOfThreads)
{
  LossGradient sums[2];
  for (const int i : { 0, 1 })
  {
    StreamedNetwork streamed = MakeStreamed(GetParam().tileSize, i == 0 ? 1 : 3, Precision::Float);
    streamed.SetParameters(parameters);
    ASSERT_TRUE(streamed.ComputeGradient(pixels, labels, sums[i]));
  }
  EXPECT_EQ(sums[0].loss, sums[1].loss);
  EXPECT_EQ(sums[0].gradient, sums[1].gradient);
}

/** Any box of it, which lies across tiles; and in float the labels of one tile, but for ties. */
TEST_P(Volumes, ArePredictedInBoxes)
{
  const int         channels = network.GetNumberOfOutputChannels();
  const GraphResult reference = ComputeReference(network, parameters, volume, at::kDouble);
  const Region      all = GetWhole(VolumeSize), box{ 3, 5, 30, 20, 2, 17 };
  StreamedNetwork   streamed = MakeStreamed(GetParam().tileSize, 2, Precision::Float);
  streamed.SetParameters(parameters);
  std::vector<float>        whole(GetNumberOfVoxels(VolumeSize) * channels);
  std::vector<float>        part(box.width * box.height * box.depth * channels);
  std::vector<std::uint8_t> classes(GetNumberOfVoxels(VolumeSize));
  ASSERT_TRUE(streamed.Predict(pixels, all, whole.data()));
  ASSERT_TRUE(streamed.Predict(pixels, box, part.data()));
  ASSERT_TRUE(streamed.PredictLabels(pixels, all, 0.5, classes.data()));
  const float * inPart = part.data();
  ForEachRow(VolumeSize, box, [&](std::int64_t place) {
    EXPECT_TRUE(std::equal(inPart, inPart + box.width * channels, whole.begin() + place * channels));
    inPart += box.width * channels;
  });
  std::int64_t ties = 0;
  for (std::size_t i = 0; i < classes.size(); ++i)
  {
    const double * const exact = reference.probabilities.data() + i * channels;
    const auto           greatest = std::max_element(exact, exact + channels) - exact;
    const std::int64_t   expected = channels == 1 ? exact[0] >= 0.5 : greatest;
    const double         margin = channels == 1 ? std::abs(exact[0] - 0.5) : exact[greatest] - exact[classes[i]];
    ties += classes[i] != expected;
    EXPECT_TRUE(classes[i] == expected || margin < 1e-4) << i << ": " << margin;
    for (int c = 0; c < channels; ++c)
    {
      ASSERT_NEAR(whole[i * channels + c], exact[c], 1e-4);
    }
  }
  EXPECT_LE(ties, 5);
}

INSTANTIATE_TEST_SUITE_P(
  All,
  Volumes,
  testing::Values(VolumeCase{ "FloatsInManyTiles", "unet3d:base=2,depth=2", true, 8 },
                  VolumeCase{ "FloatsInOneTile", "unet3d:base=2,depth=2", true, WholeImage },
                  VolumeCase{ "BytesOfTwoModalities", "unet3d:base=2,depth=1,channels=2,classes=4", false, 12 },
                  VolumeCase{ "NormsOfTheWholeVolume", "unet3d:base=2,depth=1,norm=instance", true, 12 },
                  VolumeCase{ "NormsOfGroups", "unet3d:base=2,depth=1,classes=3,norm=group", true, 20 },
                  VolumeCase{ "SegResNet", "segresnet:base=4,classes=3", true, 8 },
                  VolumeCase{ "MeshNetWithNormsOfTheWholeVolume", "meshnet:base=2,norm=instance", true, 12 }),
  [](const auto & info) { return info.param.name; });

TEST(VolumeNetworks, SayInTheirFileHowManyAxesTheyHave)
{
  const NetworkGraph graph = MakePreset("unet3d:base=2,depth=1").graph;
  const std::string  json = graph.ToJSON();
  EXPECT_NE(json.find("\"axes\":3"), std::string::npos);
  EXPECT_NE(json.find("\"conv3d\""), std::string::npos);
  const NetworkGraph again = NetworkGraph::FromJSON(json, graph.output);
  EXPECT_EQ(again.GetNumberOfAxes(), 3);
  EXPECT_EQ(again.ToJSON(), json);
  const NetworkGraph ofImages = MakePreset("unet:base=2,depth=1").graph;
  EXPECT_EQ(ofImages.ToJSON().find("axes"), std::string::npos);
}

namespace
{

gigapixel::Diagnostic
GetProblem(std::int64_t axes, const std::string & type, const Attributes & attributes)
{
  NetworkGraph graph;
  const auto   input = Append(graph, "input", {}, { { "channels", std::int64_t{ 4 } }, { "axes", axes } });
  Append(graph, type, { input }, attributes);
  return gigapixel_test::FindRefusal([&] { graph.Validate(); });
}

} // namespace

TEST(VolumeNetworks, RefuseOperationsOfImages)
{
  const Attributes convolution{ { "out_channels", std::int64_t{ 2 } }, { "kernel_size", std::int64_t{ 3 } } };
  EXPECT_EQ(GetProblem(3, "conv3d", convolution).code, "");
  EXPECT_EQ(GetProblem(3, "conv2d", convolution).code, "E-NETWORK-FORMAT");
  EXPECT_EQ(GetProblem(3, "conv3d", convolution).code, "");
  EXPECT_EQ(GetProblem(3, "conv2d", convolution).value, "conv2d1");
  EXPECT_EQ(GetProblem(2, "conv3d", convolution).code, "E-NETWORK-FORMAT");
  EXPECT_EQ(GetProblem(2, "conv3d", convolution).value, "conv3d1");
  EXPECT_EQ(GetProblem(4, "relu", {}).code, "E-NETWORK-FORMAT");
  EXPECT_EQ(GetProblem(4, "relu", {}).value, "input0");
  EXPECT_EQ(GetProblem(3, "max_pool3d", { { "kernel_size", Pair(2, 2) } }).code, "E-NETWORK-FORMAT");
  EXPECT_EQ(GetProblem(3, "max_pool3d", { { "kernel_size", Pair(2, 2) } }).value, "max_pool3d1");
  EXPECT_EQ(GetProblem(3, "interpolate", { { "mode", std::string("bilinear") }, { "scale_factor", 2.0 } }).code,
            "E-NETWORK-FORMAT");
  EXPECT_EQ(GetProblem(3, "interpolate", { { "mode", std::string("bilinear") }, { "scale_factor", 2.0 } }).value,
            "interpolate1");
}

TEST(VolumeNetworks, RefuseImages)
{
  const NetworkDescription ofVolumes = MakePreset("unet3d:base=2,depth=1"),
                           ofImages = MakePreset("unet:base=2,depth=1");
  EXPECT_THROW(GraphGeometry(ofVolumes.graph, { 64, 64 }), std::invalid_argument);
  EXPECT_THROW(GraphGeometry(ofImages.graph, { 64, 64, 64 }), std::invalid_argument);
  EXPECT_NO_THROW(GraphGeometry(ofVolumes.graph, ToExtent({ 64, 64, 2 }, 3)));
}

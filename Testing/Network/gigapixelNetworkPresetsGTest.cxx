/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "gigapixelNetworkPresets.h"
#include "gigapixelNetworkSummary.h"
#include "graph/gigapixelGraphGeometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <stdexcept>

using namespace gigapixel;

namespace
{

gigapixel::Diagnostic
GetRefusal(const std::string & name)
{
  return gigapixel_test::FindRefusal([&] { NetworkDescription::Load(name); });
}

/** Pixels that an output of one stride reads before and behind itself, far from borders. */
std::pair<std::int64_t, std::int64_t>
GetReach(const NetworkDescription & network)
{
  const std::int64_t  stride = network.GetStride(), side = 256 * stride, middle = side / 2;
  const int           axes = network.graph.GetNumberOfAxes();
  const GraphGeometry geometry(network.graph, Extent(axes, side));
  const Box           box = geometry.GetInputBox(geometry.GetOutput(), Box(axes, { middle, middle + stride }));
  return { middle - box[0].begin, box[0].end - middle - stride };
}

std::map<std::string, std::vector<std::int64_t>>
GetShapes(const NetworkDescription & network)
{
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    shapes[parameter.name] = parameter.shape;
  }
  return shapes;
}

/** Of the arrays that torchvision's ResNet has: how many, and how many trained numbers are in them. */
std::pair<int, std::int64_t>
CountTrunk(const NetworkDescription & network)
{
  int          arrays = 0;
  std::int64_t numbers = 0;
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    const std::string & name = parameter.name;
    if (name.rfind("conv1.", 0) == 0 || name.rfind("bn1.", 0) == 0 || name.rfind("layer", 0) == 0)
    {
      ++arrays;
      numbers += parameter.trained ? parameter.GetNumberOfValues() : 0;
    }
  }
  return { arrays, numbers };
}

/** Weights and biases, layer by layer, of the U-Net of the paper with padding. */
std::int64_t
CountUNet(std::int64_t base, int depth, std::int64_t channels, std::int64_t outputs, bool norm)
{
  const auto twice = [norm](std::int64_t in, std::int64_t width) {
    return 9 * (in * width + width * width) + (norm ? 4 : 2) * width;
  };
  std::int64_t number = base * outputs + outputs;
  for (int level = 0; level <= depth; ++level)
  {
    const std::int64_t width = base << level;
    number += twice(level == 0 ? channels : width / 2, width);
    number += level < depth ? twice(2 * width, width) + 4 * 2 * width * width + width : 0;
  }
  return number;
}

} // namespace

// What is published of torchvision's networks: numbers of parameters without the last layer, which classifies.
TEST(NetworkPresets, ResNetsHaveTorchvisionsParameters)
{
  const auto count = [](const char * name) { return CountTrunk(NetworkDescription::Load(name)); };
  // A convolution and its norm have five arrays; ResNet-18 has 20 of them, ResNet-34 36, ResNet-50 53.
  EXPECT_EQ(count("resnet18-unet"), std::make_pair(100, std::int64_t{ 11176512 }));
  EXPECT_EQ(count("resnet34-unet"), std::make_pair(180, std::int64_t{ 21284672 }));
  EXPECT_EQ(count("resnet50-unet"), std::make_pair(265, std::int64_t{ 23508032 }));
  const auto basic = GetShapes(NetworkDescription::Load("resnet18-unet"));
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(basic.at("conv1.weight"), (Shape{ 64, 3, 7, 7 }));
  EXPECT_EQ(basic.at("bn1.running_mean"), (Shape{ 64 }));
  EXPECT_EQ(basic.at("layer2.0.conv1.weight"), (Shape{ 128, 64, 3, 3 }));
  EXPECT_EQ(basic.at("layer2.0.downsample.0.weight"), (Shape{ 128, 64, 1, 1 }));
  EXPECT_EQ(basic.at("layer4.1.bn2.running_var"), (Shape{ 512 }));
  EXPECT_EQ(basic.count("layer1.0.downsample.0.weight"), 0u);
  const NetworkDescription deep = NetworkDescription::Load("resnet50-unet");
  EXPECT_EQ(GetShapes(deep).at("layer1.0.downsample.0.weight"), (Shape{ 256, 64, 1, 1 }));
  EXPECT_EQ(GetShapes(deep).at("layer3.0.conv3.weight"), (Shape{ 1024, 256, 1, 1 }));
  // Its version 1.5: the stride is in the convolution that sees neighbors.
  EXPECT_EQ(deep.graph.operations[deep.graph.GetIndex("layer2.0.conv1")].GetAlong("stride", 0), 1);
  EXPECT_EQ(deep.graph.operations[deep.graph.GetIndex("layer2.0.conv2")].GetAlong("stride", 0), 2);
}

// What segmentation_models_pytorch's Unet has with one class.
TEST(NetworkPresets, ResNetUNetsHaveAsManyParametersAsTheirModel)
{
  const auto count = [](const char * name) {
    return NetworkSummary::Make(NetworkDescription::Load(name)).trainedParameters;
  };
  EXPECT_EQ(count("resnet18-unet"), 14328209);
  EXPECT_EQ(count("resnet34-unet"), 24436369);
  EXPECT_EQ(count("resnet50-unet"), 32521105);
}

// What changes with the image's channels is the first convolution, 64 kernels of 7 x 7, and the input.
TEST(NetworkPresets, ResNetsTakeImagesOfAnyChannels)
{
  const auto count = [](const std::string & name) {
    return NetworkSummary::Make(NetworkDescription::Load(name)).trainedParameters;
  };
  for (const std::string name : { "resnet18-unet", "resnet34-unet", "resnet50-unet" })
  {
    EXPECT_EQ(count(name) - count(name + ":channels=1"), 2 * 64 * 7 * 7);
    EXPECT_EQ(count(name + ":channels=5") - count(name), 2 * 64 * 7 * 7);
  }
  const NetworkDescription gray = NetworkDescription::Load("resnet18-unet:channels=1,classes=3");
  EXPECT_EQ(gray.name, "resnet18-unet:channels=1,classes=3");
  EXPECT_EQ(gray.channels, 1);
  EXPECT_EQ(GetShapes(gray).at("conv1.weight"), (std::vector<std::int64_t>{ 64, 1, 7, 7 }));
  EXPECT_EQ(gray.mean, (std::vector<double>{ 0.449 }));
  EXPECT_EQ(gray.deviation, (std::vector<double>{ 0.226 }));
  EXPECT_EQ(NetworkDescription::Load("resnet18-unet:channels=4").mean.size(), 4u);
  EXPECT_EQ(NetworkDescription::Load("resnet18-unet:channels=3").ToJSON(),
            NetworkDescription::Load("resnet18-unet").ToJSON());
}

TEST(NetworkPresets, UNetsParametersHaveAClosedForm)
{
  const auto count = [](const std::string & name) {
    return NetworkSummary::Make(NetworkDescription::Load(name)).trainedParameters;
  };
  EXPECT_EQ(count("unet"), CountUNet(16, 4, 3, 1, true));
  EXPECT_EQ(count("unet:norm=none"), CountUNet(16, 4, 3, 1, false));
  EXPECT_EQ(count("unet:norm=instance"), CountUNet(16, 4, 3, 1, true)); // which have a factor and a term, too
  EXPECT_EQ(count("unet:norm=group"), CountUNet(16, 4, 3, 1, true));
  EXPECT_EQ(count("unet:base=32,depth=3,channels=1,classes=4"), CountUNet(32, 3, 1, 4, true));
  EXPECT_EQ(count("unet:base=1,depth=8"), CountUNet(1, 8, 3, 1, true));
  using Shape = std::vector<std::int64_t>;
  const auto shapes = GetShapes(NetworkDescription::Load("unet"));
  EXPECT_EQ(shapes.at("enc.0.0.weight"), (Shape{ 16, 3, 3, 3 }));
  EXPECT_EQ(shapes.at("enc.4.4.running_var"), (Shape{ 256 }));
  EXPECT_EQ(shapes.at("up.3.weight"), (Shape{ 256, 128, 2, 2 }));
  EXPECT_EQ(shapes.at("dec.0.3.weight"), (Shape{ 16, 16, 3, 3 }));
  EXPECT_EQ(shapes.count("enc.0.0.bias"), 0u);
  EXPECT_EQ(GetShapes(NetworkDescription::Load("unet:norm=none")).at("dec.1.2.bias"), (Shape{ 32 }));
}

// What MONAI's SegResNet has by default, with three classes, and how its arrays are called.
TEST(NetworkPresets, SegResNetHasMONAIsParameters)
{
  const NetworkDescription network = NetworkDescription::Load("segresnet:classes=3");
  EXPECT_EQ(NetworkSummary::Make(network).trainedParameters, 1176195);
  const auto shapes = GetShapes(network);
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(shapes.at("convInit.conv.weight"), (Shape{ 8, 1, 3, 3, 3 }));
  EXPECT_EQ(shapes.at("down_layers.0.1.norm1.weight"), (Shape{ 8 }));
  EXPECT_EQ(shapes.at("down_layers.3.0.conv.weight"), (Shape{ 64, 32, 3, 3, 3 }));
  EXPECT_EQ(shapes.at("down_layers.3.4.conv2.conv.weight"), (Shape{ 64, 64, 3, 3, 3 }));
  EXPECT_EQ(shapes.at("up_samples.0.0.conv.weight"), (Shape{ 32, 64, 1, 1, 1 }));
  EXPECT_EQ(shapes.at("up_layers.2.0.norm2.bias"), (Shape{ 8 }));
  EXPECT_EQ(shapes.at("conv_final.0.weight"), (Shape{ 8 }));
  EXPECT_EQ(shapes.at("conv_final.2.conv.bias"), (Shape{ 3 }));
  EXPECT_EQ(shapes.count("convInit.conv.bias"), 0u);
  // Two arrays of each norm: one before each convolution of its twelve blocks, and the last.
  EXPECT_EQ(shapes.size(), 1u + 3 + 3 + 12 * 2 * 3 + 2 + 2);
  EXPECT_EQ(GetShapes(NetworkDescription::Load("segresnet:norm=batch")).count("up_layers.0.0.norm1.running_mean"), 1u);
}

// 5598 are published of brainchop's model for gray and white matter.
TEST(NetworkPresets, MeshNetHasBrainchopsParameters)
{
  const auto count = [](const std::string & name) {
    return NetworkSummary::Make(NetworkDescription::Load(name)).trainedParameters;
  };
  EXPECT_EQ(count("meshnet:norm=none,classes=3"), 5598);
  EXPECT_EQ(count("meshnet:base=30,norm=none,classes=50"), 27 * 30 + 8 * 27 * 30 * 30 + 9 * 30 + 31 * 50);
  EXPECT_EQ(count("meshnet"), 27 * 5 + 8 * 27 * 5 * 5 + 9 * 2 * 5 + 6);
  using Shape = std::vector<std::int64_t>;
  const auto bare = GetShapes(NetworkDescription::Load("meshnet:norm=none"));
  EXPECT_EQ(bare.at("model.0.weight"), (Shape{ 5, 1, 3, 3, 3 }));
  EXPECT_EQ(bare.at("model.16.bias"), (Shape{ 5 }));
  EXPECT_EQ(bare.at("model.18.weight"), (Shape{ 1, 5, 1, 1, 1 }));
  const auto normed = GetShapes(NetworkDescription::Load("meshnet"));
  EXPECT_EQ(normed.at("model.8.0.weight"), (Shape{ 5, 5, 3, 3, 3 }));
  EXPECT_EQ(normed.at("model.8.1.running_var"), (Shape{ 5 }));
  EXPECT_EQ(normed.at("model.9.bias"), (Shape{ 1 }));
}

// By hand: four poolings, two 3x3 convolutions at each of nine places see 2 + 4 + 8 + 16 + 32 + 16 + 8 + 4 + 2 pixels
// to each side, the pooled and the enlarged pixels the rest. Of the ResNets: an independent implementation in Python.
TEST(NetworkPresets, SeeAsFarAsIsKnown)
{
  const auto load = [](const char * name) { return NetworkDescription::Load(name); };
  EXPECT_EQ(load("unet").GetHalo(), 94);
  EXPECT_EQ(load("unet").GetStride(), 16);
  using Reach = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(GetReach(load("resnet18-unet")), (Reach{ 281, 250 }));
  EXPECT_EQ(GetReach(load("resnet34-unet")), (Reach{ 513, 482 }));
  EXPECT_EQ(GetReach(load("resnet50-unet")), (Reach{ 277, 246 }));
  EXPECT_EQ(load("resnet18-unet").GetHalo(), 281);
  EXPECT_EQ(load("resnet18-unet").GetStride(), 32);
  EXPECT_EQ(GetReach(load("meshnet")), (Reach{ 46, 46 })); // the sum of the dilations
  EXPECT_EQ(load("segresnet").GetStride(), 8);
}

TEST(NetworkPresets, TakeImagesOfEverySize)
{
  for (const char * name : { "unet", "unet:depth=5", "resnet18-unet", "resnet50-unet:classes=3" })
  {
    const NetworkDescription network = NetworkDescription::Load(name);
    for (const Extent & image : { Extent{ 613, 501 }, Extent{ 97, 64 }, Extent{ 1000, 33 } })
    {
      const GraphGeometry geometry(network.graph, image);
      EXPECT_EQ(geometry.GetSize(network.graph.GetIndex(network.graph.output)), image) << name;
    }
  }
  for (const char * name : { "unet3d", "segresnet", "meshnet" })
  {
    const NetworkDescription network = NetworkDescription::Load(name);
    for (const Extent & volume : { Extent{ 21, 50, 43 }, Extent{ 8, 9, 64 } })
    {
      const GraphGeometry geometry(network.graph, volume);
      EXPECT_EQ(geometry.GetSize(network.graph.GetIndex(network.graph.output)), volume) << name;
    }
  }
}

TEST(NetworkPresets, SayWhatTheyAre)
{
  const NetworkDescription network = NetworkDescription::Load("unet:classes=4,base=16,depth=3");
  EXPECT_EQ(network.name, "unet:depth=3,classes=4");
  EXPECT_EQ(network.GetNumberOfClasses(), 4);
  EXPECT_EQ(network.GetNumberOfOutputChannels(), 4);
  EXPECT_EQ(network.loss, NetworkDescription::Loss::SoftmaxCrossEntropy);
  EXPECT_TRUE(network.invert);
  const NetworkDescription resnet = NetworkDescription::Load("resnet34-unet");
  EXPECT_EQ(resnet.name, "resnet34-unet");
  EXPECT_EQ(resnet.GetNumberOfClasses(), 2);
  EXPECT_EQ(resnet.GetNumberOfOutputChannels(), 1);
  EXPECT_EQ(resnet.mean.size(), 3u);
  EXPECT_FALSE(resnet.invert);
  for (const NetworkPreset & preset : NetworkPreset::GetAll())
  {
    const std::string json = NetworkDescription::Load(preset.name).ToJSON();
    EXPECT_EQ(NetworkDescription::FromJSON(json).ToJSON(), json) << preset.name;
    EXPECT_FALSE(preset.summary.empty());
  }
}

TEST(NetworkPresets, RefuseWithTheReason)
{
  const auto expect = [](const std::string & name, const char * code = "E-OPTION-VALUE") {
    const Diagnostic refusal = GetRefusal(name);
    EXPECT_EQ(refusal.code, code) << name << ": " << refusal.why;
    EXPECT_EQ(refusal.value, name);
  };
  expect("unet:bass=3");
  expect("resnet34-unet:base=3");
  expect("unet:base");
  expect("unet:base=0");
  expect("unet:base=3.5");
  expect("unet:base=99999999999999999999");
  expect("unet:norm=layer");
  expect("unet:base=8,base=8", "E-OPTION-REPEATED");
  expect("unet:");
  expect("remedios2023:");
  expect("unet:base=8,");
  expect("unet:base=");
  expect("unet:base=512,depth=8", "E-NETWORK-FORMAT");
  expect("unet:base=512,depth=7", "E-NETWORK-FORMAT");
  expect("remedios2023:base=8");
  expect("vnet", "E-NETWORK-FORMAT");
  EXPECT_NE(GetRefusal("vnet").why.find("(remedios2023, unet, unet3d, segresnet, meshnet, "), std::string::npos);
}

// Of U-Net(16) 93 thousand operations a pixel are known, of the ResNet-18-U-Net 165 thousand, and what tiles of
// 1024 pixels compute beside their own (two digits), by the implementation in Python.
TEST(NetworkPresets, CostWhatIsKnown)
{
  const NetworkSummary unet = NetworkSummary::Make(NetworkDescription::Load("unet"));
  EXPECT_NEAR(2 * unet.multiplyAdds, 93e3, 1e3);
  ASSERT_EQ(unet.tiles.size(), 3u);
  EXPECT_NEAR(unet.tiles[1].workFactor, 1.13, 0.006);
  const NetworkSummary resnet = NetworkSummary::Make(NetworkDescription::Load("resnet18-unet"));
  EXPECT_NEAR(2 * resnet.multiplyAdds, 165e3, 2e3);
  EXPECT_NEAR(resnet.tiles[1].workFactor, 1.46, 0.006);
  // Four numbers a pixel of the greatest map at the very least, and more to train.
  for (const NetworkSummary::Tile & tile : unet.tiles)
  {
    EXPECT_GT(tile.inferenceBytes, 16 * 4 * tile.side * tile.side);
    EXPECT_GT(tile.trainingBytes, 2 * tile.inferenceBytes);
  }
  const NetworkSummary layers = NetworkSummary::Make(NetworkDescription::Load("remedios2023"));
  EXPECT_EQ(layers.trainedParameters, 4492);
  EXPECT_EQ(layers.keptParameters, 0);
  // 16 * 16 * 6 / 8^2 of L1, 4 * 4 * 6 * 6 / 16^2 of L2, ... each number over the pixels that share it.
  EXPECT_NEAR(layers.multiplyAdds,
              1536 / 64. + 576 / 256. + 864 / 1024. + 729 / 1024. + 216 / 1024. + 144 / 256. + 384 / 64.,
              1e-9);
}

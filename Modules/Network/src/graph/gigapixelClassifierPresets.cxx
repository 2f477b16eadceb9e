/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelClassifierPresets.h"
#include "gigapixelResNet.h"

namespace gigapixel
{
namespace
{

NetworkDescription
BuildResNetClassifier(int depth, const PresetValues & values)
{
  const int          classes = values.GetInteger("classes");
  GraphBuilder       builder;
  const auto         image = builder.Input(values.GetInteger("channels"));
  const auto         maps = BuildResNet(builder, depth, values.GetInteger("width"), image);
  const auto         mean = builder.AverageAll("avgpool", maps.back());
  NetworkDescription network;
  network.graph = builder.Finish(builder.Convolve("fc", mean, classes == 2 ? 1 : classes, 1, 1, true));
  network.channels = network.graph.GetInputChannels();
  network.SetLoss("cross-entropy");
  TakeImageNetStandardization(network);
  return network;
}

} // namespace

NetworkPreset
MakeResNetPreset(int depth)
{
  const std::string number = std::to_string(depth);
  return { "resnet" + number,
           "ResNet-" + number +
             ", which labels images: the mean of its maps over all of the image, and a layer of "
             "neurons; torchvision's names, and frozen batch norms",
           1e-4, // frozen norms change nothing in the beginning, so that maps are great
           { { "channels", "of the image: 1 gray, 3 RGB", "3", 1, 1024 },
             { "classes", "classes; two are told apart by one output channel", "2", 2, 254 },
             { "width", "channels of the first maps", "64", 1, 512 } },
           [depth](const PresetValues & values) { return BuildResNetClassifier(depth, values); } };
}

} // namespace gigapixel

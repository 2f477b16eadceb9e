/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelClassifierPresets.h"
#include "gigapixelResNet.h"
#include "gigapixelSegmentationPreset.h"

namespace gigapixel
{
namespace
{

/** As in the paper's code. */
constexpr int AttentionChannels = 128;

/** To one pixel. torchvision has the mean, and calls it "avgpool". */
GraphBuilder::Name
Pool(GraphBuilder & builder, const std::string & pool, const GraphBuilder::Name & map)
{
  return pool == "max"         ? builder.PoolGreatest("globalpool", map)
         : pool == "lse"       ? builder.PoolLogSum("globalpool", map)
         : pool == "attention" ? builder.PoolByAttention("globalpool", map, AttentionChannels)
                               : builder.AverageAll("avgpool", map);
}

NetworkDescription
BuildResNetClassifier(int depth, const PresetValues & values)
{
  const int    classes = values.GetInteger("classes");
  const int    given = values.GetInteger("outputs");
  const int    outputs = given > 0 ? given : classes == 2 ? 1 : classes;
  GraphBuilder builder;
  const auto   image = builder.Input(values.GetInteger("channels"));
  const bool   fixup = values.GetWord("norm") == "fixup";
  const auto   maps = BuildResNet(builder, depth, values.GetInteger("width"), image, fixup);
  auto         pooled = Pool(builder, values.GetWord("pool"), maps.back());
  pooled = fixup ? builder.Shift("bias2", pooled) : pooled;
  NetworkDescription network;
  network.graph = builder.Finish(builder.Convolve("fc", pooled, outputs, 1, 1, true));
  network.channels = network.graph.GetInputChannels();
  network.SetLoss("cross-entropy");
  TakeImageNetStandardization(network);
  TakeNormalization(values, network);
  return network;
}

} // namespace

NetworkPreset
MakeResNetPreset(int depth)
{
  const std::string number = std::to_string(depth);
  return { "resnet" + number,
           "ResNet-" + number +
             ", which labels images: its maps are pooled over all of the image, and go through a layer of "
             "neurons; torchvision's names, and frozen batch norms or none",
           1e-4, // frozen norms change nothing in the beginning, so that maps are great
           { { "channels", "of the image: 1 gray, 3 RGB", "3", 1, 1024 },
             { "classes", "classes; two are told apart by one output channel", "2", 2, 254 },
             { "outputs", "output channels, of other objectives than classes; 0: what the classes need", "0", 0, 254 },
             { "width", "channels of the first maps", "64", 1, 512 },
             { "pool",
               "pooling of the last maps: mean, max, lse (log-sum-exp, between both) or attention (gated)",
               "mean",
               0,
               0,
               { "mean", "max", "lse", "attention" } },
             { "norm",
               "batch (frozen), or fixup: none, but scalars, and weights that begin small (Zhang et al., ICLR 2019)",
               "batch",
               0,
               0,
               { "batch", "fixup" } },
             GetNormalizationOption() },
           [depth](const PresetValues & values) { return BuildResNetClassifier(depth, values); } };
}

} // namespace gigapixel

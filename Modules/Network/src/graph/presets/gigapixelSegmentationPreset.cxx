/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSegmentationPreset.h"

#include <numeric>

namespace gigapixel
{

PresetOption
GetClassesOption()
{
  return { "classes", "classes; two are told apart by one output channel", "2", 2, 254 };
}

PresetOption
GetChannelsOption()
{
  return { "channels", "of the image: 1 gray, 3 RGB", "3", 1, 1024 };
}

PresetOption
GetModalitiesOption()
{
  return { "channels", "of the volume: modalities", "1", 1, 1024 };
}

PresetOption
GetNormOption(const std::string & kernel)
{
  return { "norm",
           "what is behind each " + kernel +
             " convolution: a batch norm with frozen statistics, or a norm of each channel, or of groups of channels, "
             "with the statistics of the whole image",
           "batch",
           0,
           0,
           { "batch", "instance", "group", "none" } };
}

PresetOption
GetNormalizationOption()
{
  return {
    "normalization",
    "what values of each channel of a slide become, of 8 or 16 bit or floats: its 0.1 and 99.9 percentile 0 and 1, "
    "or the z-score; none: 8 bit alone",
    "none",
    0,
    0,
    { "none", "percentiles", "z-score" }
  };
}

void
TakeNormalization(const PresetValues & values, NetworkDescription & network)
{
  const std::string & word = values.GetWord("normalization");
  if (word == "none")
  {
    return;
  }
  network.invert = false;
  if (word == "z-score")
  {
    network.mean.clear();
    network.deviation.clear();
    network.normalization = { { Normalization::Kind::ZScore } };
    return;
  }
  network.normalization = { { Normalization::Kind::Percentiles, Normalization::Voxels::All, 0.1, 99.9 } };
}

int
GetOutputChannels(const PresetValues & values)
{
  const int classes = values.GetInteger("classes");
  return classes == 2 ? 1 : classes;
}

GraphBuilder::Name
Normalize(GraphBuilder &             builder,
          const GraphBuilder::Name & name,
          const GraphBuilder::Name & map,
          int                        channels,
          const std::string &        norm)
{
  constexpr int MostGroups = 8;
  return norm == "batch"      ? builder.Normalize(name, map)
         : norm == "instance" ? builder.NormalizeInstance(name, map)
                              : builder.NormalizeGroups(name, map, std::gcd(MostGroups, channels));
}

NetworkDescription
Describe(const NetworkGraph & graph)
{
  NetworkDescription network;
  network.graph = graph;
  network.channels = graph.GetInputChannels();
  network.SetLoss("cross-entropy");
  return network;
}

NetworkDescription
Describe(const NetworkGraph & graph, const Normalization & normalization)
{
  NetworkDescription network = Describe(graph);
  network.invert = false;
  network.normalization = { normalization };
  return network;
}

} // namespace gigapixel

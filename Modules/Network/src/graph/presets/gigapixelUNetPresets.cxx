/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelUNetPresets.h"
#include "gigapixelResNet.h"
#include "gigapixelSegmentationPreset.h"

#include <array>

namespace gigapixel
{
namespace
{

using Name = GraphBuilder::Name;

/** Two convolutions; named like a torch.nn.Sequential of them, their norms and their activations.
 * \param ofFirst, ofSecond their channels */
Name
ConvolveTwice(GraphBuilder & builder, const Name & name, Name map, int ofFirst, int ofSecond, const std::string & norm)
{
  int place = 0;
  for (const int channels : { ofFirst, ofSecond })
  {
    const auto next = [&] { return name + '.' + std::to_string(place++); };
    map = builder.Convolve(next(), map, channels, 3, 1, norm == "none");
    map = norm == "none" ? map : Normalize(builder, next(), map, channels, norm);
    map = builder.Rectify(next(), map);
  }
  return map;
}

/** On the way up a map may lack the last row or column of the skip's, where pooling left one over: zeros are put there,
 * right and bottom, as is usual. Inverted pixels make glass 0, so that these zeros, and those of the convolutions'
 * padding, continue the slide by what it most likely continues with. */
NetworkDescription
BuildUNet(const PresetValues & values)
{
  const int         base = values.GetInteger("base"), depth = values.GetInteger("depth");
  const std::string norm = values.GetWord("norm");
  GraphBuilder      builder;
  Name              map = builder.Input(values.GetInteger("channels"));
  std::vector<Name> skips;
  for (int level = 0; level <= depth; ++level)
  {
    const std::string place = std::to_string(level);
    map = level > 0 ? builder.PoolMaximum("pool." + place, map, 2, 2, 0) : map;
    map = ConvolveTwice(builder, "enc." + place, map, base << level, base << level, norm);
    skips.push_back(map);
  }
  for (int level = depth - 1; level >= 0; --level)
  {
    const std::string place = std::to_string(level);
    const Name        up = builder.ConvolveTransposed("up." + place, map, base << level, 2);
    const Name        padded = builder.PadLike("pad." + place, up, skips[level]);
    map = builder.Concatenate("cat." + place, skips[level], padded);
    map = ConvolveTwice(builder, "dec." + place, map, base << level, base << level, norm);
  }
  NetworkDescription network =
    Describe(builder.Finish(builder.Convolve("last", map, GetOutputChannels(values), 1, 1, true)));
  network.invert = true;
  TakeNormalization(values, network);
  return network;
}

/** As the U-Net of images, but for its channels, which are doubled before maps are pooled, and kept on the way up. */
NetworkDescription
BuildUNetOfVolumes(const PresetValues & values)
{
  const int         base = values.GetInteger("base"), depth = values.GetInteger("depth");
  const std::string norm = values.GetWord("norm");
  GraphBuilder      builder(3);
  Name              map = builder.Input(values.GetInteger("channels"));
  std::vector<Name> skips;
  for (int level = 0; level <= depth; ++level)
  {
    const std::string place = std::to_string(level);
    map = level > 0 ? builder.PoolMaximum("pool." + place, map, 2, 2, 0) : map;
    map = ConvolveTwice(builder, "enc." + place, map, base << level, base << (level + 1), norm);
    skips.push_back(map);
  }
  for (int level = depth - 1; level >= 0; --level)
  {
    const std::string place = std::to_string(level);
    const int         channels = base << (level + 1);
    const Name        up = builder.ConvolveTransposed("up." + place, map, 2 * channels, 2);
    const Name        padded = builder.PadLike("pad." + place, up, skips[level]);
    map = builder.Concatenate("cat." + place, skips[level], padded);
    map = ConvolveTwice(builder, "dec." + place, map, channels, channels, norm);
  }
  return Describe(builder.Finish(builder.Convolve("last", map, GetOutputChannels(values), 1, 1, true)),
                  { Normalization::Kind::ZScore }); // no two scanners have one scale
}

/** The decoder of segmentation_models_pytorch's Unet, by its names: nearest pixels to the size of the skip, whatever it
 * is, so that images of every size fit; the last block has no skip and is of the image's size. */
NetworkDescription
BuildResNetUNet(int depth, const PresetValues & values)
{
  constexpr std::array<int, 5> Channels{ 256, 128, 64, 32, 16 };
  GraphBuilder                 builder;
  const int                    channels = values.GetInteger("channels");
  const Name                   image = builder.Input(channels);
  const std::vector<Name>      maps = BuildResNet(builder, depth, 64, image);
  Name                         map = maps.back();
  for (int i = 0; i < 5; ++i)
  {
    const Name block = "decoder.blocks." + std::to_string(i) + '.';
    const Name skip = i < 4 ? maps[3 - i] : image;
    map = builder.EnlargeLike(block + "up", map, skip);
    map = i < 4 ? builder.Concatenate(block + "cat", map, skip) : map;
    for (const char * part : { "conv1.", "conv2." })
    {
      map = builder.Convolve(block + part + '0', map, Channels[i], 3, 1, false);
      map = builder.Rectify(block + part + '2', builder.Normalize(block + part + '1', map));
    }
  }
  map = builder.Convolve("segmentation_head.0", map, GetOutputChannels(values), 3, 1, true);
  NetworkDescription network = Describe(builder.Finish(map));
  TakeImageNetStandardization(network);
  TakeNormalization(values, network);
  return network;
}

} // namespace

NetworkPreset
MakeUNetPreset()
{
  return { "unet",
           "U-Net of padded 3x3 convolutions, two a level, with maximum pooling and concatenated skips",
           1e-3,
           { { "base", "channels of the first level, doubled at each further one", "16", 1, 512 },
             { "depth", "poolings", "4", 1, 8 },
             GetChannelsOption(),
             GetClassesOption(),
             GetNormOption("3x3"),
             GetNormalizationOption() },
           BuildUNet };
}

NetworkPreset
MakeUNetOfVolumesPreset()
{
  return { "unet3d",
           "U-Net for volumes of padded 3x3x3 convolutions, two a level, with maximum pooling and concatenated skips",
           1e-3,
           { { "base", "channels of the first convolution, doubled by the second one of each level", "16", 1, 256 },
             { "depth", "poolings", "3", 1, 6 },
             GetModalitiesOption(),
             GetClassesOption(),
             GetNormOption("3x3x3") },
           BuildUNetOfVolumes };
}

NetworkPreset
MakeResNetUNetPreset(int depth)
{
  const std::string number = std::to_string(depth);
  return { "resnet" + number + "-unet",
           "U-Net with ResNet-" + number + " as its encoder, under torchvision's names, and frozen batch norms",
           1e-4, // frozen norms change nothing in the beginning, so that logits are great
           { GetChannelsOption(), GetClassesOption(), GetNormalizationOption() },
           [depth](const PresetValues & values) { return BuildResNetUNet(depth, values); } };
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumePresets.h"
#include "gigapixelSegmentationPreset.h"

namespace gigapixel
{
namespace
{

using Name = GraphBuilder::Name;

/** Norm and activation lie before each of its two convolutions, so that the sum is of the maps as they are. */
Name
BuildResidualBlock(GraphBuilder &      builder,
                   const Name &        block,
                   const Name &        input,
                   int                 channels,
                   const std::string & norm)
{
  Name map = input;
  for (const char * number : { "1", "2" })
  {
    map = Normalize(builder, block + ".norm" + number, map, channels, norm);
    map = builder.Rectify(block + ".act" + number, map);
    map = builder.Convolve(block + ".conv" + number + ".conv", map, channels, 3, 1, false);
  }
  return builder.Add(block + ".add", map, input);
}

/** MONAI's takes multiples of 8 alone. Others are padded to one by their last voxels, as when the module itself is
 * imported: so the same weights give the same labels either way. */
NetworkDescription
BuildSegResNet(const PresetValues & values)
{
  constexpr int     Blocks[] = { 1, 2, 2, 4 }, Levels = 4;
  const int         base = values.GetInteger("base");
  const std::string norm = values.GetWord("norm");
  GraphBuilder      builder(3);
  const Name        volume = builder.Input(values.GetInteger("channels"));
  Name              map = builder.PadToMultiple("padded", volume, 1 << (Levels - 1));
  map = builder.Convolve("convInit.conv", map, base, 3, 1, false);
  std::vector<Name> skips;
  for (int level = 0; level < Levels; ++level)
  {
    const Name layer = "down_layers." + std::to_string(level);
    map = level > 0 ? builder.Convolve(layer + ".0.conv", map, base << level, 3, 2, false) : map;
    for (int i = 1; i <= Blocks[level]; ++i)
    {
      map = BuildResidualBlock(builder, layer + '.' + std::to_string(i), map, base << level, norm);
    }
    skips.push_back(map);
  }
  for (int level = Levels - 2; level >= 0; --level)
  {
    const std::string place = std::to_string(Levels - 2 - level);
    const Name        up = "up_samples." + place;
    map = builder.Convolve(up + ".0.conv", map, base << level, 1, 1, false);
    map = builder.Add(up + ".add", builder.EnlargeTwofold(up + ".1", map), skips[level]);
    map = BuildResidualBlock(builder, "up_layers." + place + ".0", map, base << level, norm);
  }
  map = builder.Rectify("conv_final.1", Normalize(builder, "conv_final.0", map, base, norm));
  map = builder.Convolve("conv_final.2.conv", map, GetOutputChannels(values), 1, 1, true);
  return Describe(builder.Finish(builder.CropLike("cropped", map, volume)), { Normalization::Kind::ZScore });
}

/** Dilations grow to 16 and shrink again, so that each voxel sees 46 to all sides at full resolution. The percentiles
 * are those of brainchop's program: between the least and the greatest voxel its networks find no brain. */
NetworkDescription
BuildMeshNet(const PresetValues & values)
{
  constexpr int     Dilations[] = { 1, 2, 4, 8, 16, 8, 4, 2, 1 };
  const int         base = values.GetInteger("base");
  const std::string norm = values.GetWord("norm");
  const std::string activation = values.GetWord("activation");
  const bool        bare = norm == "none";
  GraphBuilder      builder(3);
  Name              map = builder.Input(values.GetInteger("channels"));
  int               place = 0; // of a module, or of a block of them where there are norms
  for (const int dilation : Dilations)
  {
    const Name block = "model." + std::to_string(place);
    map = builder.ConvolveDilated(bare ? block : block + ".0", map, base, 3, dilation, bare);
    map = bare ? map : Normalize(builder, block + ".1", map, base, norm);
    map = builder.Activate(activation, bare ? "model." + std::to_string(place + 1) : block + ".2", map);
    place += bare ? 2 : 1;
  }
  map = builder.Convolve("model." + std::to_string(place), map, GetOutputChannels(values), 1, 1, true);
  return Describe(builder.Finish(map), { Normalization::Kind::Percentiles, Normalization::Voxels::All, 2, 98 });
}

} // namespace

NetworkPreset
MakeSegResNetPreset()
{
  return {
    "segresnet",
    "residual U-Net for volumes of Myronenko, as MONAI's SegResNet and under its names: strided convolutions, "
    "trilinear enlargement, added skips, and norms of groups of channels with the statistics of the whole volume",
    1e-4, // as published
    { { "base", "channels of the first level, doubled at each of three further ones", "8", 1, 512 },
      GetModalitiesOption(),
      GetClassesOption(),
      { "norm",
        "what is before each 3x3x3 convolution of a block: a norm of groups of channels, or of each channel, with "
        "the statistics of the whole volume, or a batch norm with frozen ones",
        "group",
        0,
        0,
        { "group", "instance", "batch" } } },
    BuildSegResNet
  };
}

NetworkPreset
MakeMeshNetPreset()
{
  return {
    "meshnet",
    "MeshNet for volumes, as brainchop's and under its names: nine 3x3x3 convolutions with dilations of 1, 2, 4, "
    "8, 16, 8, 4, 2 and 1, and no pooling; with norm=none it takes brainchop's weights",
    1e-3,
    { { "base", "channels of all maps", "5", 1, 512 },
      GetModalitiesOption(),
      GetClassesOption(),
      GetNormOption("3x3x3"),
      { "activation",
        "what is behind each 3x3x3 convolution and its norm; of brainchop's networks what model.json names, else relu",
        "relu",
        0,
        0,
        { "relu", "elu", "gelu" } } },
    BuildMeshNet
  };
}

} // namespace gigapixel

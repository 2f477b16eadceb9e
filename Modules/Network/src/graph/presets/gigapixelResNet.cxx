/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelResNet.h"

#include <array>

namespace gigapixel
{
namespace
{

using Name = GraphBuilder::Name;

/** Numbers of blocks of the four stages, and whether they are bottlenecks. */
struct ResNet
{
  std::array<int, 4> blocks;
  bool               bottleneck;

  int
  GetExpansion() const
  {
    return bottleneck ? 4 : 1;
  }
};

ResNet
GetResNet(int depth)
{
  return { depth == 18 ? std::array<int, 4>{ 2, 2, 2, 2 } : std::array<int, 4>{ 3, 4, 6, 3 }, depth == 50 };
}

/** A convolution and its norm under torchvision's names: "conv1", "bn1". */
Name
ConvolveNumbered(GraphBuilder & builder,
                 const Name &   block,
                 int            number,
                 const Name &   map,
                 int            channels,
                 int            kernel,
                 int            stride)
{
  const std::string place = std::to_string(number);
  return builder.Normalize(block + "bn" + place,
                           builder.Convolve(block + "conv" + place, map, channels, kernel, stride, false));
}

/** A block with torchvision's names. Of a bottleneck the 3x3 convolution has the stride, as in torchvision. */
Name
BuildBlock(GraphBuilder & builder,
           const ResNet & resnet,
           const Name &   block,
           const Name &   input,
           int            width,
           int            stride,
           bool           reshape)
{
  Name map = input;
  if (resnet.bottleneck)
  {
    map = builder.Rectify(block + "relu1", ConvolveNumbered(builder, block, 1, map, width, 1, 1));
    map = builder.Rectify(block + "relu2", ConvolveNumbered(builder, block, 2, map, width, 3, stride));
    map = ConvolveNumbered(builder, block, 3, map, 4 * width, 1, 1);
  }
  else
  {
    map = builder.Rectify(block + "relu1", ConvolveNumbered(builder, block, 1, map, width, 3, stride));
    map = ConvolveNumbered(builder, block, 2, map, width, 3, 1);
  }
  Name identity = input;
  if (reshape)
  {
    identity = builder.Convolve(block + "downsample.0", input, width * resnet.GetExpansion(), 1, stride, false);
    identity = builder.Normalize(block + "downsample.1", identity);
  }
  return builder.Rectify(block + "relu", builder.Add(block + "add", map, identity));
}

/** The same without norms: numbers are added before each convolution ("bias1a", "bias2a") and behind it ("bias1b").
 * What is added first is of both branches where the shortcut has a convolution. */
Name
BuildFixupBlock(GraphBuilder & builder,
                const ResNet & resnet,
                const Name &   block,
                const Name &   input,
                int            width,
                int            stride,
                bool           reshape)
{
  const int  channels = width * resnet.GetExpansion(), last = resnet.bottleneck ? 3 : 2;
  const Name shifted = builder.Shift(block + "bias1a", input);
  Name       map = shifted;
  for (int i = 1; i <= last; ++i)
  {
    const std::string place = std::to_string(i);
    const bool        isSquare = !resnet.bottleneck || i == 2;
    map = i > 1 ? builder.Shift(block + "bias" + place + 'a', map) : map;
    map = builder.Convolve(block + "conv" + place,
                           map,
                           i == last ? channels : width,
                           isSquare ? 3 : 1,
                           i == (resnet.bottleneck ? 2 : 1) ? stride : 1,
                           false);
    map = i == last ? builder.ScaleAndShift(block + "scale", block + "bias" + place + 'b', map)
                    : builder.Rectify(block + "relu" + place, builder.Shift(block + "bias" + place + 'b', map));
  }
  const Name identity = reshape ? builder.Convolve(block + "downsample", shifted, channels, 1, stride, false) : input;
  return builder.Rectify(block + "relu", builder.Add(block + "add", map, identity));
}

} // namespace

std::vector<Name>
BuildResNet(GraphBuilder & builder, int depth, int width, const Name & image, bool fixup)
{
  const ResNet      resnet = GetResNet(depth);
  const auto        build = fixup ? &BuildFixupBlock : &BuildBlock;
  const Name        first = fixup ? builder.Shift("bias1", builder.Convolve("conv1", image, width, 7, 2, false))
                                  : ConvolveNumbered(builder, "", 1, image, width, 7, 2);
  std::vector<Name> maps{ builder.Rectify("relu", first) };
  Name              map = builder.PoolMaximum("maxpool", maps.back(), 3, 2, 1);
  for (int stage = 0; stage < 4; ++stage)
  {
    for (int i = 0; i < resnet.blocks[stage]; ++i)
    {
      const int  stride = stage > 0 && i == 0 ? 2 : 1;
      const bool reshape = i == 0 && (stage > 0 || resnet.bottleneck);
      const Name block = "layer" + std::to_string(stage + 1) + '.' + std::to_string(i) + '.';
      map = build(builder, resnet, block, map, width << stage, stride, reshape);
    }
    maps.push_back(map);
  }
  return maps;
}

void
TakeImageNetStandardization(NetworkDescription & network)
{
  network.invert = false;
  network.mean = { 0.485, 0.456, 0.406 };
  network.deviation = { 0.229, 0.224, 0.225 };
  if (network.channels != 3)
  {
    network.mean.assign(network.channels, 0.449);
    network.deviation.assign(network.channels, 0.226);
  }
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNetworkGeometry.h"
#include "losses/gigapixelLossEntry.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace gigapixel
{
namespace
{

/** Closed interval of indices of one map, along one axis. */
struct Interval
{
  std::int64_t first;
  std::int64_t last;
};

std::int64_t
FloorDivide(std::int64_t a, std::int64_t b)
{
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/** Indices of a layer's input that the given outputs are computed from. */
Interval
GetInputInterval(const Layer & layer, const Interval & output)
{
  const std::int64_t kernel = layer.kernel, stride = layer.stride, padding = layer.padding;
  if (layer.kind == Layer::Kind::Convolution)
  {
    // Output o is made of inputs o * stride - padding ... + kernel - 1.
    return { output.first * stride - padding, output.last * stride - padding + kernel - 1 };
  }
  // Input i is spread over outputs i * stride - padding ... + kernel - 1; solved for i.
  return { FloorDivide(output.first + padding - kernel + stride, stride), FloorDivide(output.last + padding, stride) };
}

void
Join(std::optional<Interval> & a, const Interval & b)
{
  a = a ? Interval{ std::min(a->first, b.first), std::max(a->last, b.last) } : b;
}

} // namespace

std::vector<MapScale>
GetMapScales(const std::vector<Layer> & layers)
{
  std::vector<MapScale> scales;
  MapScale              scale;
  for (const Layer & layer : layers)
  {
    (layer.kind == Layer::Kind::Convolution ? scale.denominator : scale.numerator) *= layer.stride;
    const std::int64_t divisor = std::gcd(scale.numerator, scale.denominator);
    scale = { scale.numerator / divisor, scale.denominator / divisor };
    scales.push_back(scale);
  }
  return scales;
}

std::vector<int>
GetSkips(const std::vector<Layer> & layers)
{
  std::vector<int> skips;
  for (const Layer & layer : layers)
  {
    const auto found =
      std::find_if(layers.begin(), layers.end(), [&](const Layer & other) { return other.name == layer.add; });
    skips.push_back(layer.add.empty() || found == layers.end() ? -1 : static_cast<int>(found - layers.begin()));
  }
  return skips;
}

bool
HasFusedLast(const NetworkDescription & network)
{
  const Layer & last = network.layers.back();
  return network.GetLoss().formula.IsFused() && network.layers.size() > 1 &&
         last.kind == Layer::Kind::TransposedConvolution && last.kernel == last.stride && last.padding == 0 &&
         last.add.empty();
}

std::int64_t
GetCanvasStride(const std::vector<Layer> & layers)
{
  std::int64_t stride = 1;
  for (const MapScale & scale : GetMapScales(layers))
  {
    stride = std::lcm(stride, scale.denominator);
  }
  return stride;
}

std::int64_t
GetExactHalo(const std::vector<Layer> & layers)
{
  const std::int64_t                   core = GetCanvasStride(layers);
  const std::vector<int>               skips = GetSkips(layers);
  std::vector<std::optional<Interval>> needed(layers.size()); // of each layer's output
  needed.back() = Interval{ 0, core - 1 };
  Interval input{ 0, core - 1 };
  for (std::size_t i = layers.size(); i-- > 0;)
  {
    // A layer whose output nobody needs keeps its place in the chain: the next one always needs it.
    const Interval output = *needed[i];
    if (skips[i] >= 0)
    {
      Join(needed[skips[i]], output);
    }
    const Interval before = GetInputInterval(layers[i], output);
    if (i > 0)
    {
      Join(needed[i - 1], before);
    }
    else
    {
      input = before;
    }
  }
  return std::max<std::int64_t>({ 0, -input.first, input.last - (core - 1) });
}

} // namespace gigapixel

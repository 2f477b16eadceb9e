/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOnnxOperators.h"

#include <algorithm>

namespace gigapixel
{
namespace
{

using Integers = std::vector<std::int64_t>;

/** To a map of one pixel. \param axes of what the node gives */
void
Pool(OnnxWalk & walk, const OnnxNode & node, const char * kind, const OnnxWalkValue & map, const std::string & axes)
{
  const std::string pooled = walk.Append(node, walk.GetType(kind), { map.map }, { { "output_size", walk.Repeat(1) } });
  walk.Set(node, { pooled, axes, walk.GetShape(pooled, axes), nullptr, {} });
}

void
ImportGlobalMean(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue map = walk.GetMap(node);
  Pool(walk, node, "adaptive_avg_pool", map, map.axes);
}

void
ImportGlobalMaximum(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue map = walk.GetMap(node);
  Pool(walk, node, "adaptive_max_pool", map, map.axes);
}

/** \return the operation; empty: there is none */
std::string
ReduceChannels(OnnxWalk & walk, const OnnxNode & node, const std::string & map)
{
  if (node.type == "ReduceMean" || node.type == "ReduceSum")
  {
    const std::string mean = walk.Append(node, "channel_mean", { map });
    const auto        channels = static_cast<double>(walk.GetChannels(map));
    return node.type == "ReduceMean" ? mean : walk.Append(node, "mul", { mean }, { { "other", channels } });
  }
  if (node.type == "ReduceMax")
  {
    return walk.Append(node, "channel_max", { map });
  }
  if (node.type == "ReduceMin")
  {
    const std::string negated = walk.Append(node, "mul", { map }, { { "other", -1.0 } });
    const std::string greatest = walk.Append(node, "channel_max", { negated });
    return walk.Append(node, "mul", { greatest }, { { "other", -1.0 } });
  }
  return {};
}

/** The mean over all pixels, or over the channels of each; what else there is of reductions has a known shape. */
void
ImportReduction(OnnxWalk & walk, const OnnxNode & node)
{
  Integers axes = walk.GetIntegers(node, 1, "axes");
  if (!walk.IsOfPixels(node, 0))
  {
    throw MissingOperation("of numbers");
  }
  const OnnxWalkValue map = walk.GetInput(node, 0);
  const bool          keeps = node.GetInteger("keepdims", 1) != 0, all = axes.empty();
  std::string         reduced, left, pixels = walk.GetMapAxes().substr(2);
  std::sort(pixels.begin(), pixels.end());
  Integers shape; // where it is kept
  std::transform(axes.begin(), axes.end(), axes.begin(), [&](std::int64_t axis) {
    return static_cast<std::int64_t>(GetOnnxAxis(axis, map.axes.size()));
  });
  for (std::size_t i = 0; i < map.axes.size(); ++i)
  {
    const bool isReduced = all || std::count(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) > 0;
    (isReduced ? reduced : left) += map.axes[i];
    if (keeps || !isReduced)
    {
      shape.push_back(isReduced ? 1 : map.shape[i]);
    }
  }
  std::sort(reduced.begin(), reduced.end());
  if (node.type == "ReduceMean" && reduced == pixels)
  {
    return Pool(walk, node, "adaptive_avg_pool", map, keeps ? map.axes : left);
  }
  if (node.type == "ReduceMax" && reduced == pixels)
  {
    return Pool(walk, node, "adaptive_max_pool", map, keeps ? map.axes : left);
  }
  const std::string ofChannels = reduced == "c" ? ReduceChannels(walk, node, map.map) : "";
  if (!ofChannels.empty())
  {
    const std::string ofResult = keeps ? map.axes : left;
    return walk.Set(node, { ofChannels, ofResult, walk.GetShape(ofChannels, ofResult), nullptr, {} });
  }
  const bool isPartly = node.type == "ReduceMean" || node.type == "ReduceMax";
  walk.Miss(node, isPartly ? "over neither all pixels nor the channels" : "");
  walk.SetStandIn(node, keeps ? map.axes : left, shape);
}

/** Whether all numbers of an input are this one. */
bool
IsAll(OnnxWalk & walk, const OnnxNode & node, std::size_t index, double number)
{
  const OnnxConstantPointer numbers = walk.GetConstant(node, index);
  for (std::size_t i = 0; i < numbers->GetCount(); ++i)
  {
    if (numbers->Get(i) != number)
    {
      return false;
    }
  }
  return true;
}

void
ImportInstanceNorm(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue map = walk.GetInput(node, 0);
  const double        epsilon = node.GetNumber("epsilon", 1e-5);
  if (map.axes == "bgp") // as exporters write the norm of groups of channels
  {
    if (!IsAll(walk, node, 1, 1) || !IsAll(walk, node, 2, 0))
    {
      throw MissingOperation("of groups, with a factor for each");
    }
    return walk.Put(node,
                    "group_norm",
                    map,
                    { map.map },
                    { { "num_groups", map.shape[1] }, { "eps", epsilon }, { "affine", false } });
  }
  const Integers shape{ walk.GetChannels(walk.GetMap(node).map) };
  walk.Put(node,
           "instance_norm",
           map,
           { map.map },
           { { "eps", epsilon }, { "affine", true } },
           { { "weight", walk.TakeArray(walk.GetInput(node, 1), shape) },
             { "bias", walk.TakeArray(walk.GetInput(node, 2), shape) } });
}

/** Before opset 21 the standard has a number for each group; exporters also wrote one for each channel. */
std::string
TakeOfGroups(OnnxWalk & walk, const OnnxNode & node, std::size_t input, std::int64_t channels, std::int64_t groups)
{
  const OnnxWalkValue & value = walk.GetInput(node, input);
  const auto            given = walk.GetConstant(node, input);
  if (walk.GetOpset() >= 21 || groups < 1 || channels % groups != 0 || !given->isFloat ||
      static_cast<std::int64_t>(given->floats.size()) != groups)
  {
    return walk.TakeArray(value, { channels });
  }
  std::vector<float> ofChannels;
  for (const float each : given->floats)
  {
    ofChannels.insert(ofChannels.end(), static_cast<std::size_t>(channels / groups), each);
  }
  return walk.AddArray(
    value.array.empty() ? node.outputs.front() + ".of_groups" : value.array, ofChannels, { channels });
}

void
ImportGroupNorm(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue map = walk.GetMap(node);
  const std::int64_t  channels = walk.GetChannels(map.map), groups = node.GetInteger("num_groups", 1);
  walk.Put(node,
           "group_norm",
           map,
           { map.map },
           { { "num_groups", groups }, { "eps", node.GetNumber("epsilon", 1e-5) } },
           { { "weight", TakeOfGroups(walk, node, 1, channels, groups) },
             { "bias", TakeOfGroups(walk, node, 2, channels, groups) } });
}

} // namespace

std::vector<OnnxOperator>
GetOnnxWholeImage()
{
  std::vector<OnnxOperator> all{ { "GlobalAveragePool", &ImportGlobalMean },
                                 { "GlobalMaxPool", &ImportGlobalMaximum },
                                 { "InstanceNormalization", &ImportInstanceNorm },
                                 { "GroupNormalization", &ImportGroupNorm } };
  for (const char * type : { "ReduceMean",
                             "ReduceMax",
                             "ReduceMin",
                             "ReduceSum",
                             "ReduceProd",
                             "ReduceL1",
                             "ReduceL2",
                             "ReduceLogSum",
                             "ReduceLogSumExp",
                             "ReduceSumSquare" })
  {
    all.push_back({ type, &ImportReduction });
  }
  return all;
}

} // namespace gigapixel

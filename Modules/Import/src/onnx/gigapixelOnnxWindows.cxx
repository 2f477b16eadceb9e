/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelOnnxOperators.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace gigapixel
{
namespace
{

using Integers = std::vector<std::int64_t>;
using Attributes = std::map<std::string, AttributeValue>;

/** Numbers are one for each axis of the image. */
void
CheckAxes(const OnnxWalk & walk, std::size_t given)
{
  const auto axes = static_cast<std::size_t>(walk.GetNumberOfAxes());
  if (given != axes)
  {
    throw MissingOperation("of " + FormatCount(given, "dimension") + " in a network of " + std::to_string(axes));
  }
}

/** A number along each axis. */
Integers
GetAlong(const OnnxWalk & walk, const OnnxNode & node, const char * attribute, const Integers & otherwise)
{
  const Integers given = node.GetIntegers(attribute);
  if (!given.empty())
  {
    CheckAxes(walk, given.size());
  }
  for (const std::int64_t each : given)
  {
    if (each < 0 || each > 65536)
    {
      throw InvalidArgument(
        Diagnostic("E-ONNX-FORMAT", "its node \"" + node.outputs.front() + "\" has an impossible " + attribute)
          .OfValue(node.outputs.front()));
    }
  }
  return given.empty() ? otherwise : given;
}

/** What a window is padded with at the map's borders. */
struct Borders
{
  Integers before;
  Integers after;

  bool
  IsSymmetric() const
  {
    return before == after;
  }
};

Borders
MakeNone(const OnnxWalk & walk)
{
  return { walk.Repeat(0), walk.Repeat(0) };
}

/** "pads": before along all axes, then after. */
Borders
GetPads(const OnnxWalk & walk, const OnnxNode & node)
{
  const Integers pads = node.GetIntegers("pads");
  if (pads.empty())
  {
    return MakeNone(walk);
  }
  CheckAxes(walk, pads.size() / 2);
  if (*std::min_element(pads.begin(), pads.end()) < 0)
  {
    throw MissingOperation("with negative pads");
  }
  const auto middle = pads.begin() + walk.GetNumberOfAxes();
  return { { pads.begin(), middle }, { middle, middle + walk.GetNumberOfAxes() } };
}

struct OnnxWindow
{
  Integers kernel;
  Integers stride;
  Integers dilation;
  Borders  pads;

  OnnxWindow(const OnnxWalk & walk, const OnnxNode & node, const Integers & size)
    : kernel(GetAlong(walk, node, "kernel_shape", size))
    , stride(GetAlong(walk, node, "strides", walk.Repeat(1)))
    , dilation(GetAlong(walk, node, "dilations", walk.Repeat(1)))
    , pads(GetPads(walk, node))
  {
    for (const Integers * numbers : { &kernel, &stride, &dilation })
    {
      if (*std::min_element(numbers->begin(), numbers->end()) < 1)
      {
        throw InvalidArgument(
          Diagnostic("E-ONNX-FORMAT", "its node \"" + node.outputs.front() + "\" has a window of no pixels")
            .OfValue(node.outputs.front()));
      }
    }
  }

  std::int64_t
  GetReach(int axis) const
  {
    return (kernel[axis] - 1) * dilation[axis] + 1;
  }

  /** Whether it is moved beyond the map along an axis, by more than a share of its kernel, which operations refuse. */
  bool
  IsBeyond(const Borders & borders, bool half) const
  {
    for (std::size_t axis = 0; axis < kernel.size(); ++axis)
    {
      const auto place = static_cast<int>(axis);
      if (half ? 2 * borders.before[axis] > kernel[axis] : borders.before[axis] >= GetReach(place))
      {
        return true;
      }
    }
    return false;
  }
};

/** Shares `all` among both sides. \param upper the odd one goes behind */
void
Split(std::int64_t all, bool upper, int axis, Borders & borders)
{
  borders.before[axis] = upper ? all / 2 : all - all / 2;
  borders.after[axis] = all - borders.before[axis];
}

bool
IsSame(const std::string & automatic)
{
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && !automatic.empty() && automatic != "NOTSET" && automatic != "VALID")
  {
    throw MissingOperation("with an auto_pad that there is not");
  }
  return same;
}

Borders
GetBorders(const OnnxWalk & walk, const OnnxNode & node, const OnnxWindow & window, const Extent & size)
{
  const std::string automatic = node.GetText("auto_pad", "NOTSET");
  if (!IsSame(automatic))
  {
    return automatic == "VALID" ? MakeNone(walk) : window.pads;
  }
  Borders borders = MakeNone(walk);
  for (int axis = 0; axis < walk.GetNumberOfAxes(); ++axis)
  {
    const std::int64_t outputs = (size[axis] - 1) / window.stride[axis] + 1;
    const std::int64_t all = (outputs - 1) * window.stride[axis] + window.GetReach(axis) - size[axis];
    Split(std::max<std::int64_t>(0, all), automatic == "SAME_UPPER", axis, borders);
  }
  return borders;
}

/** Where a window's own padding is the same on both sides, it stays its own; else a pad comes before it.
 * \return the map that the window reads */
std::string
PadBefore(OnnxWalk & walk, const OnnxNode & node, const std::string & map, Borders & borders, double value)
{
  OnnxNode named = node;
  named.name = (node.name.empty() ? node.outputs.front() : node.name) + ".padded";
  std::string padded = walk.Append(
    named, "pad", { map }, { { "before", borders.before }, { "after", borders.after }, { "value", value } });
  borders = MakeNone(walk);
  return padded;
}

/** Weight and, if there is one, bias. */
std::map<std::string, std::string>
TakeWeights(OnnxWalk & walk, const OnnxNode & node, std::int64_t outputs)
{
  const OnnxWalkValue &              weight = walk.GetInput(node, 1);
  std::map<std::string, std::string> parameters{ { "weight", walk.TakeArray(weight, weight.shape) } };
  if (OnnxWalk::HasInput(node, 2))
  {
    parameters["bias"] = walk.TakeArray(walk.GetInput(node, 2), { outputs });
  }
  return parameters;
}

/** The weight's shape. */
Integers
GetWeightShape(OnnxWalk & walk, const OnnxNode & node)
{
  Integers shape = walk.GetConstant(node, 1)->shape;
  CheckAxes(walk, std::max<std::size_t>(shape.size(), 2) - 2);
  if (*std::min_element(shape.begin(), shape.end()) < 1)
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "its node \"" + node.outputs.front() + "\" has an empty weight")
                            .OfValue(node.outputs.front()));
  }
  return shape;
}

/** What the weight's shape says has to fit the map. */
void
CheckWeight(const OnnxNode & node, std::int64_t given, std::int64_t wanted)
{
  if (given != wanted)
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT",
                                     "its node \"" + node.outputs.front() + "\" has a weight for " +
                                       FormatCount(given, "channel") + ", and its map has " + std::to_string(wanted))
                            .OfValue(node.outputs.front()));
  }
}

void
ImportConvolution(OnnxWalk & walk, const OnnxNode & node)
{
  const Integers      shape = GetWeightShape(walk, node);
  const std::int64_t  groups = node.GetInteger("group", 1);
  const Integers      kernel(shape.begin() + 2, shape.end());
  const OnnxWindow    window(walk, node, kernel);
  const OnnxWalkValue map = walk.GetMap(node);
  if (groups < 1 || window.kernel != kernel || shape[1] > 65536)
  {
    throw InvalidArgument(
      Diagnostic("E-ONNX-FORMAT", "its node \"" + node.outputs.front() + "\" has attributes that do not fit its weight")
        .OfValue(node.outputs.front()));
  }
  CheckWeight(node, shape[1], walk.GetChannels(map.map) / groups);
  Borders     borders = GetBorders(walk, node, window, walk.GetSize(map.map));
  std::string input = map.map;
  // Padding as wide as the kernel: some outputs see no pixel, which a pad of its own says.
  if (!borders.IsSymmetric() || window.IsBeyond(borders, false))
  {
    input = PadBefore(walk, node, input, borders, 0);
  }
  walk.Put(node,
           walk.GetType("conv"),
           map,
           { input },
           { { "out_channels", shape[0] },
             { "kernel_size", window.kernel },
             { "stride", window.stride },
             { "padding", borders.before },
             { "dilation", window.dilation },
             { "groups", groups },
             { "bias", OnnxWalk::HasInput(node, 2) } },
           TakeWeights(walk, node, shape[0]));
}

/** What is taken off the output of a transposed convolution, and put behind it: numbers that may be negative. */
Borders
GetTransposedBorders(const OnnxWalk &   walk,
                     const OnnxNode &   node,
                     const OnnxWindow & window,
                     const Extent &     size,
                     Integers &         more)
{
  const std::string automatic = node.GetText("auto_pad", "NOTSET");
  const Integers    wanted = GetAlong(walk, node, "output_shape", {});
  if (wanted.empty() && !IsSame(automatic))
  {
    return automatic == "VALID" ? MakeNone(walk) : window.pads;
  }
  Borders borders = MakeNone(walk);
  for (int axis = 0; axis < walk.GetNumberOfAxes(); ++axis)
  {
    const std::int64_t whole = window.stride[axis] * (size[axis] - 1) + window.GetReach(axis) + more[axis];
    const std::int64_t all = whole - (wanted.empty() ? size[axis] * window.stride[axis] : wanted[axis]);
    Split(std::max<std::int64_t>(0, all), automatic == "SAME_UPPER", axis, borders);
    more[axis] += std::max<std::int64_t>(0, -all);
  }
  return borders;
}

void
ImportTransposedConvolution(OnnxWalk & walk, const OnnxNode & node)
{
  const Integers      shape = GetWeightShape(walk, node);
  const std::int64_t  groups = node.GetInteger("group", 1);
  const Integers      kernel(shape.begin() + 2, shape.end());
  const OnnxWindow    window(walk, node, kernel);
  const OnnxWalkValue map = walk.GetMap(node);
  if (groups < 1 || groups > 65536 || window.kernel != kernel || shape[1] > 65536)
  {
    throw InvalidArgument(
      Diagnostic("E-ONNX-FORMAT", "its node \"" + node.outputs.front() + "\" has attributes that do not fit its weight")
        .OfValue(node.outputs.front()));
  }
  CheckWeight(node, shape[0], walk.GetChannels(map.map));
  Integers   more = GetAlong(walk, node, "output_padding", walk.Repeat(0));
  Borders    borders = GetTransposedBorders(walk, node, window, walk.GetSize(map.map), more);
  const bool symmetric = borders.IsSymmetric();
  const auto outputs = shape[1] * groups;
  walk.Put(node,
           walk.GetType("conv_transpose"),
           map,
           { map.map },
           { { "out_channels", outputs },
             { "kernel_size", window.kernel },
             { "stride", window.stride },
             { "padding", symmetric ? borders.before : walk.Repeat(0) },
             { "output_padding", more },
             { "dilation", window.dilation },
             { "groups", groups },
             { "bias", OnnxWalk::HasInput(node, 2) } },
           TakeWeights(walk, node, outputs));
  if (!symmetric)
  {
    const std::string whole = walk.GetLast().name;
    walk.Put(node, "crop", map, { whole }, { { "before", borders.before }, { "after", borders.after } });
  }
}

void
ImportMaximum(OnnxWalk & walk, const OnnxNode & node)
{
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
  {
    walk.Miss(node, "with indices");
  }
  const OnnxWindow    window(walk, node, walk.Repeat(1));
  const OnnxWalkValue map = walk.GetMap(node);
  Borders             borders = GetBorders(walk, node, window, walk.GetSize(map.map));
  std::string         input = map.map;
  if (!borders.IsSymmetric() || window.IsBeyond(borders, true))
  {
    input = PadBefore(walk, node, input, borders, std::numeric_limits<float>::lowest());
  }
  walk.Put(node,
           walk.GetType("max_pool"),
           map,
           { input },
           { { "kernel_size", window.kernel },
             { "stride", window.stride },
             { "padding", borders.before },
             { "dilation", window.dilation },
             { "ceil_mode", node.GetInteger("ceil_mode", 0) != 0 } });
}

/** Windows that begin at the same places, and none of whose padding counts, of a pool with the same padding at both
 * sides: it may have some windows more, before and behind. */
struct SymmetricWindows
{
  Integers padding;
  bool     isCeil{ false };
  Integers before;
  Integers after;
};

std::optional<SymmetricWindows>
FindSymmetric(const OnnxWindow & window, const Borders & borders, const Extent & size)
{
  const auto axes = static_cast<std::size_t>(size.GetNumberOfAxes());
  for (const bool isCeil : { false, true })
  {
    SymmetricWindows found{ {}, isCeil, {}, {} };
    for (std::size_t axis = 0; axis < axes; ++axis)
    {
      const std::int64_t kernel = window.kernel[axis], stride = window.stride[axis], before = borders.before[axis];
      const std::int64_t side = size[static_cast<int>(axis)];
      const std::int64_t wanted = (side + before + borders.after[axis] - kernel) / stride + 1;
      for (const std::int64_t padding : { before, std::max(before, borders.after[axis]) })
      {
        const std::int64_t left = side + 2 * padding - kernel;
        std::int64_t       there = (isCeil && left > 0 ? (left + stride - 1) / stride : left / stride) + 1;
        there -= isCeil && (there - 1) * stride >= side + padding ? 1 : 0; // as PyTorch leaves it out
        const std::int64_t first = (padding - before) / stride;
        if (left >= 0 && 2 * padding <= kernel && (padding - before) % stride == 0 && first + wanted <= there)
        {
          found.padding.push_back(padding);
          found.before.push_back(first);
          found.after.push_back(there - first - wanted);
          break;
        }
      }
    }
    if (found.padding.size() == axes)
    {
      return found;
    }
  }
  return std::nullopt;
}

void
ImportMean(OnnxWalk & walk, const OnnxNode & node)
{
  constexpr const char * uneven = "with padding at one side that does not count";
  const OnnxWindow       window(walk, node, walk.Repeat(1));
  const bool             counted = node.GetInteger("count_include_pad", 0) != 0;
  if (window.dilation != walk.Repeat(1))
  {
    throw MissingOperation("with dilation");
  }
  const OnnxWalkValue map = walk.GetMap(node);
  Borders             borders = GetBorders(walk, node, window, walk.GetSize(map.map));
  std::string         input = map.map;
  if (!borders.IsSymmetric())
  {
    const auto symmetric = counted || node.GetInteger("ceil_mode", 0) != 0
                             ? std::nullopt
                             : FindSymmetric(window, borders, walk.GetSize(map.map));
    if (symmetric)
    {
      const std::string pooled = walk.Append(node,
                                             walk.GetType("avg_pool"),
                                             { input },
                                             { { "kernel_size", window.kernel },
                                               { "stride", window.stride },
                                               { "padding", symmetric->padding },
                                               { "ceil_mode", symmetric->isCeil },
                                               { "count_include_pad", false } });
      return walk.Put(
        node, "crop", map, { pooled }, { { "before", symmetric->before }, { "after", symmetric->after } });
    }
    if (!counted)
    {
      walk.Miss(node, uneven);
    }
    input = PadBefore(walk, node, input, borders, 0);
  }
  walk.Put(node,
           walk.GetType("avg_pool"),
           map,
           { input },
           { { "kernel_size", window.kernel },
             { "stride", window.stride },
             { "padding", borders.before },
             { "ceil_mode", node.GetInteger("ceil_mode", 0) != 0 },
             { "count_include_pad", counted } });
}

void
ImportNorm(OnnxWalk & walk, const OnnxNode & node)
{
  // Before opset 14 the outputs say it: in training mode statistics are given beside the map.
  const auto given = std::count_if(node.outputs.begin(), node.outputs.end(), [](const auto & o) { return !o.empty(); });
  if (node.GetInteger("training_mode", 0) != 0 || (walk.GetOpset() < 14 && given > 1))
  {
    throw MissingOperation("with the statistics of the image (export it for inference)");
  }
  const OnnxWalkValue map = walk.GetMap(node);
  const Integers      shape{ walk.GetChannels(map.map) };
  walk.Put(node,
           "batch_norm",
           map,
           { map.map },
           { { "eps", node.GetNumber("epsilon", 1e-5) } },
           { { "weight", walk.TakeArray(walk.GetInput(node, 1), shape) },
             { "bias", walk.TakeArray(walk.GetInput(node, 2), shape) },
             { "running_mean", walk.TakeArray(walk.GetInput(node, 3), shape) },
             { "running_var", walk.TakeArray(walk.GetInput(node, 4), shape) } });
}

} // namespace

std::vector<OnnxOperator>
GetOnnxWindows()
{
  return { { "Conv", &ImportConvolution },
           { "ConvTranspose", &ImportTransposedConvolution },
           { "MaxPool", &ImportMaximum },
           { "AveragePool", &ImportMean },
           { "BatchNormalization", &ImportNorm } };
}

} // namespace gigapixel

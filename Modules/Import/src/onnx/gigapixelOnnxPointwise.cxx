/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOnnxOperators.h"

#include <cmath>
#include <limits>

namespace gigapixel
{
namespace
{

using Attributes = std::map<std::string, AttributeValue>;

/** Of a map with its axes in any order. */
const OnnxWalkValue &
GetAnyMap(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue & value = walk.GetInput(node, 0);
  if (!value.IsMap())
  {
    throw MissingOperation("of numbers");
  }
  return value;
}

void
Activate(OnnxWalk & walk, const OnnxNode & node, const char * type, const Attributes & attributes = {})
{
  const OnnxWalkValue map = GetAnyMap(walk, node);
  walk.Put(node, type, map, { map.map }, attributes);
}

template <const char * const & TType>
void
ImportActivation(OnnxWalk & walk, const OnnxNode & node)
{
  Activate(walk, node, TType);
}

constexpr const char * ReLU = "relu";
constexpr const char * Sigmoid = "sigmoid";
constexpr const char * HardSwish = "hardswish";
constexpr const char * Mish = "mish";
constexpr const char * Tanh = "tanh";
constexpr const char * Softplus = "softplus";
constexpr const char * Logarithm = "log";

void
ImportLeakyReLU(OnnxWalk & walk, const OnnxNode & node)
{
  Activate(walk, node, "leaky_relu", { { "negative_slope", node.GetNumber("alpha", 0.01) } });
}

void
ImportELU(OnnxWalk & walk, const OnnxNode & node)
{
  Activate(walk, node, "elu", { { "alpha", node.GetNumber("alpha", 1) } });
}

void
ImportGELU(OnnxWalk & walk, const OnnxNode & node)
{
  Activate(walk, node, "gelu", { { "approximate", node.GetText("approximate", "none") } });
}

void
ImportSwish(OnnxWalk & walk, const OnnxNode & node)
{
  if (node.GetNumber("alpha", 1) != 1)
  {
    throw MissingOperation("with alpha");
  }
  Activate(walk, node, "silu");
}

/** max(0, min(1, alpha x + beta)): PyTorch's is that of 1/6 and 1/2. */
void
ImportHardSigmoid(OnnxWalk & walk, const OnnxNode & node)
{
  const double alpha = node.GetNumber("alpha", 0.2), beta = node.GetNumber("beta", 0.5);
  if (std::abs(alpha - 1.0 / 6) < 1e-7 && beta == 0.5)
  {
    return Activate(walk, node, "hardsigmoid");
  }
  const OnnxWalkValue map = GetAnyMap(walk, node);
  const std::string   scaled = walk.Append(node, "mul", { map.map }, { { "other", alpha } });
  const std::string   shifted = walk.Append(node, "add", { scaled }, { { "other", beta } });
  walk.Put(node, "hardtanh", map, { shifted }, { { "min_val", 0.0 }, { "max_val", 1.0 } });
}

void
ImportPReLU(OnnxWalk & walk, const OnnxNode & node)
{
  const auto          count = static_cast<std::int64_t>(walk.GetConstant(node, 1)->GetCount());
  const OnnxWalkValue slopes = walk.GetInput(node, 1);
  // Broadcast from the last axis: one for each channel stands before the axes of the image.
  const auto &      shape = slopes.shape;
  const std::size_t behind = walk.GetNumberOfAxes() + 1;
  const bool        ofChannels = shape.size() >= behind && shape[shape.size() - behind] == count;
  if (count != 1 && !ofChannels)
  {
    throw MissingOperation("with slopes that are not those of channels");
  }
  const OnnxWalkValue map = walk.GetMap(node);
  walk.Put(node,
           "prelu",
           map,
           { map.map },
           { { "num_parameters", count } },
           { { "weight", walk.TakeArray(slopes, { count }) } });
}

/** A bound of Clip: an input, or in earlier opsets an attribute. */
double
GetBound(OnnxWalk & walk, const OnnxNode & node, std::size_t index, const char * attribute, double otherwise)
{
  if (!OnnxWalk::HasInput(node, index))
  {
    return node.GetNumber(attribute, otherwise);
  }
  const OnnxConstantPointer bound = walk.GetConstant(node, index);
  if (bound->GetCount() != 1)
  {
    throw MissingOperation("by an array");
  }
  return bound->Get(0);
}

void
Bound(OnnxWalk & walk, const OnnxNode & node, double least, double greatest)
{
  constexpr double limit = std::numeric_limits<float>::max();
  if (least == 0 && greatest >= limit)
  {
    return Activate(walk, node, "relu");
  }
  if (least <= -limit || greatest >= limit)
  {
    const bool isLeast = greatest >= limit;
    return Activate(walk, node, isLeast ? "maximum" : "minimum", { { "other", isLeast ? least : greatest } });
  }
  Activate(walk, node, "hardtanh", { { "min_val", least }, { "max_val", greatest } });
}

void
ImportClip(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Bound(walk, node, GetBound(walk, node, 1, "min", -infinity), GetBound(walk, node, 2, "max", infinity));
}

/** Before opset 13 all axes from this one on were one. \throw MissingOperation it is of other axes */
void
CheckSoftmax(const OnnxWalk & walk, const OnnxNode & node, const OnnxWalkValue & map)
{
  const bool        former = walk.GetOpset() < 13;
  const std::size_t axis = GetOnnxAxis(node.GetInteger("axis", former ? 1 : -1), map.axes.size());
  if (map.axes[axis] != 'c' || (former && axis + 1 != map.axes.size()))
  {
    throw MissingOperation("not over the channels");
  }
}

void
ImportSoftmax(OnnxWalk & walk, const OnnxNode & node)
{
  CheckSoftmax(walk, node, GetAnyMap(walk, node));
  Activate(walk, node, "softmax");
}

/** Softmax gives the same of logits and of the logarithms of their probabilities: at the end nothing is left out. */
void
ImportLogSoftmax(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue map = GetAnyMap(walk, node);
  CheckSoftmax(walk, node, map);
  if (walk.IsEnd(node.outputs.front()))
  {
    walk.LeaveOut("LogSoftmax at the end");
    return walk.Set(node, map);
  }
  const std::string probabilities = walk.Append(node, "softmax", { map.map });
  walk.Put(node, "log", map, { probabilities });
}

/** The exponential of logarithms of probabilities gives the probabilities again. */
void
ImportExponential(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue map = GetAnyMap(walk, node);
  const Operation &   last = walk.GetLast();
  if (last.name != map.map || last.type != "log")
  {
    throw MissingOperation("of what is no LogSoftmax");
  }
  walk.Set(node, { last.inputs.front(), map.axes, map.shape, nullptr, {} });
}

} // namespace

std::vector<OnnxOperator>
GetOnnxPointwise()
{
  return { { "Relu", &ImportActivation<ReLU> },
           { "Sigmoid", &ImportActivation<Sigmoid> },
           { "HardSwish", &ImportActivation<HardSwish> },
           { "Mish", &ImportActivation<Mish> },
           { "Tanh", &ImportActivation<Tanh> },
           { "Softplus", &ImportActivation<Softplus> },
           { "Log", &ImportActivation<Logarithm> },
           { "Exp", &ImportExponential },
           { "LeakyRelu", &ImportLeakyReLU },
           { "PRelu", &ImportPReLU },
           { "Elu", &ImportELU },
           { "Gelu", &ImportGELU },
           { "Swish", &ImportSwish },
           { "HardSigmoid", &ImportHardSigmoid },
           { "Clip", &ImportClip },
           { "Softmax", &ImportSoftmax },
           { "LogSoftmax", &ImportLogSoftmax } };
}

} // namespace gigapixel

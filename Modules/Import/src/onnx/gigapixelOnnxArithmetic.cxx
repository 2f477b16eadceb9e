/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelOnnxOperators.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{

/** Whether numbers are one for each channel of a map, which they are broadcast to from the last axis on. */
bool
IsOfChannels(const OnnxWalkValue & map, const OnnxConstant & numbers)
{
  const auto & shape = numbers.shape;
  if (shape.size() > map.axes.size())
  {
    return false;
  }
  for (std::size_t i = 0; i < shape.size(); ++i)
  {
    const std::size_t axis = map.axes.size() - shape.size() + i;
    if (shape[i] != (map.axes[axis] == 'c' ? map.shape[axis] : 1))
    {
      return false;
    }
  }
  return !shape.empty();
}

/** An array of a value for each channel, made of another one. */
OnnxWalkValue
Change(const OnnxWalkValue & array, double (*change)(double))
{
  auto changed = std::make_shared<OnnxConstant>(*array.constant);
  std::transform(changed->floats.begin(), changed->floats.end(), changed->floats.begin(), [=](float value) {
    return static_cast<float>(change(value));
  });
  return { {}, {}, changed->shape, changed, array.array };
}

double
Negate(double value)
{
  return -value;
}

double
Invert(double value)
{
  return 1 / value;
}

/** Of Add, Sub, Mul and Div, as our operations know it. */
struct Pair
{
  const char * type;        ///< with a second map; null: there is none
  const char * withNumbers; ///< with numbers, which are changed before:
  double (*change)(double); ///< null: they are not
};

Pair
GetPair(const std::string & type)
{
  return type == "Add"   ? Pair{ "add", "add", nullptr }
         : type == "Sub" ? Pair{ "sub", "add", &Negate }
         : type == "Mul" ? Pair{ "mul", "mul", nullptr }
                         : Pair{ nullptr, "mul", &Invert };
}

/** x sigmoid(x) is SiLU, and x hardsigmoid(x) Hardswish. \return null: it is neither */
const char *
FindGated(OnnxWalk & walk, const OnnxNode & node, const OnnxWalkValue & a, const OnnxWalkValue & b)
{
  const Operation & last = walk.GetLast();
  const bool        second = last.name == b.map;
  const std::size_t gate = second ? 1 : 0;
  if (last.name != (second ? b : a).map || !walk.IsReadOnce(node.inputs[gate]) || last.inputs.empty() ||
      last.inputs.front() != (second ? a : b).map)
  {
    return nullptr;
  }
  return last.type == "sigmoid" ? "silu" : last.type == "hardsigmoid" ? "hardswish" : nullptr;
}

/** x tanh(softplus(x)) is Mish. What else reads of it stays. \return x; empty: it is none */
std::string
FindMish(const OnnxWalk & walk, const OnnxWalkValue & a, const OnnxWalkValue & b)
{
  for (const auto & [x, gate] : { std::pair(a.map, b.map), std::pair(b.map, a.map) })
  {
    const Operation * const tanh = walk.FindOperation(gate, "tanh");
    const Operation * const softplus = tanh ? walk.FindOperation(tanh->inputs.front(), "softplus") : nullptr;
    if (softplus && softplus->inputs.front() == x)
    {
      return x;
    }
  }
  return {};
}

/** Of two maps where one pixel, or one channel, counts for all of the other one's. \return whether they are */
bool
CombineOneWithAll(OnnxWalk &            walk,
                  const OnnxNode &      node,
                  const char *          type,
                  const OnnxWalkValue & all,
                  const OnnxWalkValue & one)
{
  const Extent size = walk.GetSize(all.map), sizeOfOne = walk.GetSize(one.map);
  const int    channels = walk.GetChannels(all.map), channelsOfOne = walk.GetChannels(one.map);
  if (all.axes != one.axes)
  {
    return false;
  }
  if (channels == channelsOfOne && size != sizeOfOne && sizeOfOne == Extent(walk.GetNumberOfAxes(), 1))
  {
    const std::string spread = walk.Append(node, "interpolate", { one.map, all.map });
    walk.Put(node, type, all, { all.map, spread });
    return true;
  }
  if (size == sizeOfOne && channelsOfOne == 1)
  {
    constexpr int MostCopies = 64; // that are concatenated at once
    const bool    isProduct = std::string(type) == "mul";
    if (!isProduct && channels > MostCopies)
    {
      return false;
    }
    const std::string copies =
      isProduct ? one.map : walk.Append(node, "cat", std::vector<std::string>(channels, one.map));
    walk.Put(node, type, all, { all.map, copies });
    return true;
  }
  return false;
}

void
CombineMaps(OnnxWalk & walk, const OnnxNode & node, const char * type)
{
  const OnnxWalkValue a = walk.GetInput(node, 0), b = walk.GetInput(node, 1);
  if (a.shape != b.shape &&
      (CombineOneWithAll(walk, node, type, a, b) || (node.type != "Sub" && CombineOneWithAll(walk, node, type, b, a))))
  {
    return;
  }
  if (a.axes != b.axes || a.shape != b.shape)
  {
    // Sizes of maps that meet may fit at another size of the image; channels and axes never do.
    if (a.axes == b.axes && walk.GetChannels(a.map) == walk.GetChannels(b.map))
    {
      throw InvalidArgument(
        Diagnostic("E-ONNX-FORMAT",
                   "its node \"" + node.outputs.front() + "\" (" + node.type + ") is of maps of different sizes")
          .OfValue(node.outputs.front()));
    }
    throw MissingOperation("of maps of different shapes");
  }
  if (const char * gated = node.type == "Mul" ? FindGated(walk, node, a, b) : nullptr)
  {
    const OnnxWalkValue & given = walk.GetLast().name == b.map ? a : b; // the other one is its gate
    walk.RemoveLast();
    return walk.Put(node, gated, given, { given.map });
  }
  if (const std::string x = node.type == "Mul" ? FindMish(walk, a, b) : ""; !x.empty())
  {
    return walk.Put(node, "mish", a, { x });
  }
  walk.Put(node, type, a, { a.map, b.map });
}

void
CombineWithNumbers(OnnxWalk & walk, const OnnxNode & node, const Pair & pair)
{
  const bool    turned = !walk.IsOfPixels(node, 0);
  OnnxWalkValue numbers = walk.GetInput(node, turned ? 0 : 1);
  if (std::count_if(numbers.shape.begin(), numbers.shape.end(), [](std::int64_t length) { return length > 1; }) > 1)
  {
    throw MissingOperation("with an array that is no number for each channel"); // of whatever map
  }
  const OnnxWalkValue map = walk.GetInput(node, turned ? 1 : 0);
  std::string         input = map.map;
  const bool          negated = turned && node.type == "Sub"; // c - x = -x + c
  if (negated)
  {
    input = walk.Append(node, "mul", { input }, { { "other", -1.0 } });
  }
  const auto change = negated ? nullptr : pair.change;
  if (numbers.constant->GetCount() == 1)
  {
    const double number = numbers.constant->Get(0);
    return walk.Put(node, pair.withNumbers, map, { input }, { { "other", change ? change(number) : number } });
  }
  if (!numbers.constant->isFloat || !IsOfChannels(map, *numbers.constant))
  {
    throw MissingOperation("with an array that is no number for each channel");
  }
  const std::int64_t channels = walk.GetChannels(map.map);
  numbers = change ? Change(numbers, change) : numbers;
  const std::string array = walk.TakeArray(numbers, { channels });
  if (change) // weights are added and multiplied: what is taken off, or divided by, are means and deviations
  {
    walk.KeepConstant(array);
  }
  const Operation * const unbiased = node.type == "Add" ? walk.FindLast(node, turned ? 1 : 0, walk.GetType("conv"))
                                                        : nullptr; // a linear layer in two nodes
  if (unbiased && !unbiased->GetFlag("bias"))
  {
    Operation biased = *unbiased;
    biased.attributes["bias"] = true;
    biased.parameters["bias"] = array;
    return walk.PutAgain(node, map, biased);
  }
  if (std::string(pair.withNumbers) == "mul")
  {
    return walk.Put(node, "affine", map, { input }, { { "bias", false } }, { { "weight", array } });
  }
  const std::string ones =
    walk.KeepConstant(walk.AddArray(array + ".weight", std::vector<float>(channels, 1), { channels }));
  walk.Put(node, "affine", map, { input }, { { "bias", true } }, { { "weight", ones }, { "bias", array } });
}

void
ImportPair(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  const Pair pair = GetPair(node.type);
  if (!pair.type && walk.IsOfPixels(node, 1))
  {
    throw MissingOperation("by a map");
  }
  if (walk.IsOfPixels(node, 0) && walk.IsOfPixels(node, 1))
  {
    return CombineMaps(walk, node, pair.type);
  }
  CombineWithNumbers(walk, node, pair);
}

/** Of several maps. */
void
ImportSumOrMean(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue first = walk.GetInput(node, 0);
  std::string         sum = first.map;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
  {
    const OnnxWalkValue & next = walk.GetInput(node, i);
    if (!first.IsMap() || !next.IsMap() || next.axes != first.axes)
    {
      throw MissingOperation("of maps of different shapes");
    }
    sum = walk.Append(node, "add", { sum, next.map });
  }
  if (node.type == "Mean" && node.inputs.size() > 1)
  {
    sum = walk.Append(node, "mul", { sum }, { { "other", 1.0 / static_cast<double>(node.inputs.size()) } });
  }
  walk.Set(node, { sum, first.axes, first.shape, nullptr, {} });
}

/** The greatest or least of maps, or of a map and numbers. */
void
ImportExtremum(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  const char * const type = node.type == "Max" ? "maximum" : "minimum";
  std::string        found;
  OnnxWalkValue      first;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
  {
    const OnnxWalkValue value = walk.GetInput(node, i);
    if (value.IsMap())
    {
      if (!found.empty() && (value.axes != first.axes || value.shape != first.shape))
      {
        throw MissingOperation("of maps of different shapes");
      }
      first = found.empty() ? value : first;
      found = found.empty() ? value.map : walk.Append(node, type, { found, value.map });
    }
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
  {
    if (const OnnxWalkValue & value = walk.GetInput(node, i); !value.IsMap())
    {
      if (value.constant->GetCount() != 1)
      {
        throw MissingOperation("with an array");
      }
      found = walk.Append(node, type, { found }, { { "other", value.constant->Get(0) } });
    }
  }
  walk.Set(node, { found, first.axes, first.shape, nullptr, {} });
}

void
ImportNegation(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  const OnnxWalkValue map = walk.GetInput(node, 0);
  walk.Put(node, "mul", map, { map.map }, { { "other", -1.0 } });
}

/** The square or cube of a map. */
void
ImportPower(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  const OnnxConstantPointer exponent = walk.GetConstant(node, 1);
  if (exponent->GetCount() != 1 || (exponent->Get(0) != 2 && exponent->Get(0) != 3))
  {
    throw MissingOperation("by another number than 2 or 3");
  }
  const OnnxWalkValue map = walk.GetInput(node, 0);
  const std::string   power = exponent->Get(0) == 3 ? walk.Append(node, "mul", { map.map, map.map }) : map.map;
  walk.Put(node, "mul", map, { map.map, power });
}

} // namespace

std::vector<OnnxOperator>
GetOnnxArithmetic()
{
  return { { "Add", &ImportPair },     { "Sub", &ImportPair },      { "Mul", &ImportPair },
           { "Div", &ImportPair },     { "Sum", &ImportSumOrMean }, { "Mean", &ImportSumOrMean },
           { "Neg", &ImportNegation }, { "Pow", &ImportPower },     { "Max", &ImportExtremum },
           { "Min", &ImportExtremum } };
}

} // namespace gigapixel

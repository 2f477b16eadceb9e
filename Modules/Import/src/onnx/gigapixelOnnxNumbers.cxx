/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelOnnxOperators.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gigapixel
{
namespace
{

using Integers = std::vector<std::int64_t>;

/** What is computed from sizes is of a few numbers; weights are only turned and named anew. */
constexpr std::int64_t MostComputed = 65536;

std::int64_t
Count(const Integers & shape)
{
  std::int64_t count = 1;
  for (const std::int64_t length : shape)
  {
    if (length < 0 || (length > 0 && count > MostComputed / length))
    {
      throw MissingOperation("of so many numbers");
    }
    count *= length;
  }
  return count;
}

/** Steps from number to number along each axis; 0 along an axis that is broadcast. */
Integers
GetSteps(const Integers & shape, const Integers & broadcast)
{
  Integers     steps(broadcast.size(), 0);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
  {
    const std::size_t from = shape.size() - 1 - i, to = broadcast.size() - 1 - i;
    steps[to] = shape[from] == 1 ? 0 : step;
    step *= shape[from];
  }
  return steps;
}

/** The index of a number of the broadcast array, number `index` of it, in an array of these steps. */
std::size_t
GetPlace(std::int64_t index, const Integers & shape, const Integers & steps)
{
  std::int64_t place = 0;
  for (std::size_t i = shape.size(); i-- > 0;)
  {
    place += index % shape[i] * steps[i];
    index /= shape[i];
  }
  return static_cast<std::size_t>(place);
}

void
Push(OnnxConstant & constant, double value)
{
  if (constant.isFloat)
  {
    constant.floats.push_back(static_cast<float>(value));
  }
  else if (std::abs(value) < 9e15)
  {
    constant.integers.push_back(static_cast<std::int64_t>(value));
  }
  else
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it computes with numbers beyond all sizes"));
  }
}

double
Compute(const std::string & type, double a, double b, bool isFloat)
{
  if (type == "Div" || type == "Mod")
  {
    if (b == 0)
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it divides by 0"));
    }
    return type == "Mod" ? a - b * std::floor(a / b) : isFloat ? a / b : std::trunc(a / b);
  }
  if (type == "Pow")
  {
    return std::pow(a, b);
  }
  return type == "Add"              ? a + b
         : type == "Sub"            ? a - b
         : type == "Mul"            ? a * b
         : type == "Max"            ? std::max(a, b)
         : type == "Min"            ? std::min(a, b)
         : type == "Equal"          ? double(a == b)
         : type == "Greater"        ? double(a > b)
         : type == "Less"           ? double(a < b)
         : type == "GreaterOrEqual" ? double(a >= b)
         : type == "LessOrEqual"    ? double(a <= b)
         : type == "And"            ? double(a != 0 && b != 0)
                                    : double(a != 0 || b != 0);
}

OnnxConstant
ComputePair(const OnnxNode & node, const OnnxConstant & a, const OnnxConstant & b)
{
  OnnxConstant result;
  const bool   compares = node.type != "Add" && node.type != "Sub" && node.type != "Mul" && node.type != "Div" &&
                        node.type != "Mod" && node.type != "Max" && node.type != "Min" && node.type != "Pow";
  const Integers     shape = BroadcastShapes(a.shape, b.shape);
  const Integers     stepsA = GetSteps(a.shape, shape), stepsB = GetSteps(b.shape, shape);
  const std::int64_t count = Count(shape);
  result.shape = shape;
  result.isFloat = a.isFloat && !compares;
  for (std::int64_t i = 0; i < count; ++i)
  {
    const double x = a.Get(GetPlace(i, shape, stepsA)), y = b.Get(GetPlace(i, shape, stepsB));
    Push(result, Compute(node.type, x, y, a.isFloat));
  }
  return result;
}

OnnxConstant
ComputeEach(const OnnxNode & node, const OnnxConstant & a)
{
  OnnxConstant result;
  result.shape = a.shape;
  result.isFloat = a.isFloat;
  for (std::int64_t i = 0, count = Count(a.shape); i < count; ++i)
  {
    const double x = a.Get(i);
    Push(result,
         node.type == "Neg"          ? -x
         : node.type == "Floor"      ? std::floor(x)
         : node.type == "Ceil"       ? std::ceil(x)
         : node.type == "Round"      ? std::nearbyint(x)
         : node.type == "Sqrt"       ? std::sqrt(x)
         : node.type == "Not"        ? double(x == 0)
         : node.type == "Reciprocal" ? 1 / x
                                     : std::abs(x));
  }
  return result;
}

/** Numbers of an array at these places, in a new shape. */
OnnxConstant
Choose(const OnnxConstant & from, const std::vector<std::size_t> & places, const Integers & shape)
{
  OnnxConstant result;
  result.shape = shape;
  result.isFloat = from.isFloat;
  for (const std::size_t place : places)
  {
    from.isFloat ? result.floats.push_back(from.floats.at(place)) : result.integers.push_back(from.integers.at(place));
  }
  return result;
}

/** Weights are turned as well, whatever their size. */
OnnxConstant
Turn(const OnnxNode & node, const OnnxConstant & a)
{
  Integers order = node.GetIntegers("perm");
  if (order.empty())
  {
    order.resize(a.shape.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  if (order.size() != a.shape.size() || std::set<std::int64_t>(order.begin(), order.end()).size() != order.size())
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it turns other axes than there are"));
  }
  Integers steps(a.shape.size(), 1), shape, turned;
  for (std::size_t i = steps.size(); i-- > 1;)
  {
    steps[i - 1] = steps[i] * a.shape[i];
  }
  for (const std::int64_t axis : order)
  {
    shape.push_back(a.shape.at(GetOnnxAxis(axis, order.size())));
    turned.push_back(steps.at(GetOnnxAxis(axis, order.size())));
  }
  std::vector<std::size_t> places(a.GetCount());
  for (std::size_t i = 0; i < places.size(); ++i)
  {
    places[i] = GetPlace(static_cast<std::int64_t>(i), shape, turned);
  }
  return Choose(a, places, shape);
}

OnnxConstant
Reshape(OnnxConstant a, const Integers & wanted, bool keepsZeros)
{
  Integers     shape = wanted;
  const auto   count = static_cast<std::int64_t>(a.GetCount());
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
  {
    shape[i] = shape[i] == 0 && !keepsZeros ? a.shape.at(i) : shape[i];
    if (shape[i] < -1 || shape[i] > count)
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it computes with arrays that do not fit each other"));
    }
    known = shape[i] >= 0 ? MultiplyUpTo(known, shape[i], count + 1) : known;
  }
  std::replace(shape.begin(), shape.end(), std::int64_t{ -1 }, known > 0 ? count / known : 0);
  if (std::accumulate(shape.begin(), shape.end(), std::int64_t{ 1 }, [&](std::int64_t a_, std::int64_t b_) {
        return MultiplyUpTo(a_, b_, count + 1);
      }) != count)
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it computes with arrays that do not fit each other"));
  }
  a.shape = std::move(shape);
  return a;
}

OnnxConstant
Gather(const OnnxNode & node, const OnnxConstant & a, const OnnxConstant & indices)
{
  const std::size_t axis = GetOnnxAxis(node.GetInteger("axis", 0), a.shape.size());
  Count(a.shape);
  Integers           shape(a.shape.begin(), a.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const std::int64_t outer = Count(shape);
  const Integers     tail(a.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, a.shape.end());
  const std::int64_t inner = Count(tail), length = a.shape[axis];
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), tail.begin(), tail.end());
  Count(shape);
  std::vector<std::size_t> places;
  for (std::int64_t i = 0; i < outer; ++i)
  {
    for (const std::int64_t index : indices.integers)
    {
      const std::int64_t at = index < 0 ? index + length : index;
      if (at < 0 || at >= length)
      {
        throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it asks for a size that there is not"));
      }
      for (std::int64_t j = 0; j < inner; ++j)
      {
        places.push_back(static_cast<std::size_t>((i * length + at) * inner + j));
      }
    }
  }
  return Choose(a, places, shape);
}

/** Along one axis after the other. */
OnnxConstant
Slice(OnnxWalk & walk, const OnnxNode & node, OnnxConstant a)
{
  const Integers starts = walk.GetIntegers(node, 1, "starts"), ends = walk.GetIntegers(node, 2, "ends");
  Integers       axes = walk.GetIntegers(node, 3, "axes"), steps = walk.GetIntegers(node, 4, "steps");
  if (axes.empty())
  {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  steps.resize(steps.empty() ? starts.size() : steps.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i)
  {
    const std::size_t  axis = GetOnnxAxis(axes.at(i), a.shape.size());
    const std::int64_t length = a.shape[axis], step = steps.at(i);
    if (step == 0)
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it takes steps of no length"));
    }
    const auto clip = [&](std::int64_t index) {
      const std::int64_t counted = index < 0 ? (index < -length ? -1 : index + length) : index;
      return step > 0 ? std::clamp<std::int64_t>(counted, 0, length)
                      : std::clamp<std::int64_t>(counted, -1, length - 1);
    };
    OnnxConstant indices;
    // Steps beyond the axis' length take one index; a greater one would run over.
    const std::int64_t stride = std::clamp<std::int64_t>(step, -length - 1, length + 1);
    const std::int64_t first = clip(starts[i]), end = clip(ends.at(i));
    for (std::int64_t at = first; stride > 0 ? at < end : at > end; at += stride)
    {
      indices.integers.push_back(at);
    }
    indices.shape = { static_cast<std::int64_t>(indices.integers.size()) };
    OnnxNode gather;
    gather.attributes["axis"].integer = static_cast<std::int64_t>(axis);
    a = Gather(gather, a, indices);
  }
  return a;
}

OnnxConstant
Concatenate(OnnxWalk & walk, const OnnxNode & node)
{
  OnnxConstant all = *walk.GetConstant(node, 0);
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
  {
    const OnnxConstantPointer next = walk.GetConstant(node, i);
    if (all.shape.size() != 1 || next->shape.size() != 1 || next->isFloat != all.isFloat)
    {
      throw MissingOperation("of arrays of several axes");
    }
    all.floats.insert(all.floats.end(), next->floats.begin(), next->floats.end());
    all.integers.insert(all.integers.end(), next->integers.begin(), next->integers.end());
    all.shape[0] += next->shape[0];
    Count(all.shape);
  }
  return all;
}

Integers
Unsqueeze(const Integers & from, const Integers & axes)
{
  std::set<std::size_t> added;
  if (axes.size() > 8)
  {
    throw MissingOperation("to more axes than arrays have");
  }
  for (const std::int64_t axis : axes)
  {
    added.insert(GetOnnxAxis(axis, from.size() + axes.size()));
  }
  Integers    shape;
  std::size_t next = 0;
  for (std::size_t i = 0; i < from.size() + added.size(); ++i)
  {
    shape.push_back(added.count(i) > 0 || next >= from.size() ? 1 : from[next++]);
  }
  return shape;
}

Integers
Squeeze(const Integers & from, const Integers & axes)
{
  std::set<std::size_t> taken;
  for (const std::int64_t axis : axes)
  {
    taken.insert(GetOnnxAxis(axis, from.size()));
  }
  Integers shape;
  for (std::size_t i = 0; i < from.size(); ++i)
  {
    if (taken.empty() ? from[i] != 1 : taken.count(i) == 0)
    {
      shape.push_back(from[i]);
    }
  }
  return shape;
}

OnnxConstant
Cast(const OnnxNode & node, const OnnxConstant & a)
{
  const std::int64_t to = node.GetInteger("to", 1);
  const bool         isFloat = to == 1 || to == 10 || to == 11 || to == 16;
  if (isFloat == a.isFloat && to != 9)
  {
    return a;
  }
  OnnxConstant result;
  result.shape = a.shape;
  result.isFloat = isFloat;
  for (std::int64_t i = 0, count = Count(a.shape); i < count; ++i)
  {
    Push(result, to == 9 ? double(a.Get(i) != 0) : isFloat ? a.Get(i) : std::trunc(a.Get(i)));
  }
  return result;
}

OnnxConstant
Fill(const OnnxNode & node, const Integers & shape)
{
  const bool   given = node.Has("value") && node.attributes.at("value").tensor;
  OnnxConstant result;
  result.isFloat = !given || node.attributes.at("value").tensor->isFloat;
  const double value = given ? node.attributes.at("value").tensor->Get(0) : 0;
  result.shape = shape;
  for (std::int64_t i = 0, count = Count(shape); i < count; ++i)
  {
    Push(result, value);
  }
  return result;
}

OnnxConstant
Select(const OnnxConstant & condition, const OnnxConstant & a, const OnnxConstant & b)
{
  const Integers shape = BroadcastShapes(condition.shape, BroadcastShapes(a.shape, b.shape));
  const Integers steps = GetSteps(condition.shape, shape), stepsA = GetSteps(a.shape, shape),
                 stepsB = GetSteps(b.shape, shape);
  OnnxConstant result;
  result.shape = shape;
  result.isFloat = a.isFloat;
  for (std::int64_t i = 0, count = Count(shape); i < count; ++i)
  {
    const bool first = condition.Get(GetPlace(i, shape, steps)) != 0;
    Push(result, first ? a.Get(GetPlace(i, shape, stepsA)) : b.Get(GetPlace(i, shape, stepsB)));
  }
  return result;
}

OnnxConstant
MakeRange(const OnnxConstant & from, const OnnxConstant & to, const OnnxConstant & by)
{
  OnnxConstant result;
  result.isFloat = from.isFloat;
  const double step = by.Get(0), count = std::ceil((to.Get(0) - from.Get(0)) / step);
  if (!(count <= static_cast<double>(MostComputed)))
  {
    throw MissingOperation("of so many numbers");
  }
  for (double i = 0; i < count; ++i)
  {
    Push(result, from.Get(0) + i * step);
  }
  result.shape = { static_cast<std::int64_t>(result.GetCount()) };
  return result;
}

OnnxConstant
Expand(const OnnxConstant & a, const Integers & wanted)
{
  const Integers           shape = BroadcastShapes(a.shape, wanted), steps = GetSteps(a.shape, shape);
  std::vector<std::size_t> places;
  for (std::int64_t i = 0, count = Count(shape); i < count; ++i)
  {
    places.push_back(GetPlace(i, shape, steps));
  }
  return Choose(a, places, shape);
}

/** The number of a scale or zero that counts for a number of an array: of one for all, for each index of an axis, or
 * for each block along it. */
class ScalePlaces
{
public:
  ScalePlaces(const OnnxNode & node, const Integers & shape, const OnnxConstant & scale)
    : m_Count(static_cast<std::int64_t>(scale.GetCount()))
  {
    if (m_Count == 1)
    {
      return;
    }
    const std::size_t axis = GetOnnxAxis(node.GetInteger("axis", 1), shape.size());
    m_Length = shape[axis];
    m_Block = std::max<std::int64_t>(1, node.GetInteger("block_size", 0));
    const bool isBlocked = node.GetInteger("block_size", 0) > 0;
    for (std::size_t i = axis + 1; i < shape.size(); ++i)
    {
      m_Inner *= shape[i];
    }
    Integers wanted{ m_Length };
    if (isBlocked)
    {
      wanted = shape;
      wanted[axis] = (m_Length + m_Block - 1) / m_Block;
      m_Blocks = wanted[axis];
    }
    if (scale.shape != wanted)
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "its scale is of another shape than its numbers"));
    }
  }

  std::size_t
  Get(std::int64_t index) const
  {
    const std::int64_t inner = index % m_Inner, at = index / m_Inner % m_Length, outer = index / m_Inner / m_Length;
    const std::int64_t place = m_Blocks > 0 ? (outer * m_Blocks + at / m_Block) * m_Inner + inner : at;
    return static_cast<std::size_t>(m_Count == 1 ? 0 : place);
  }

private:
  std::int64_t m_Count;
  std::int64_t m_Length{ 1 };
  std::int64_t m_Inner{ 1 };
  std::int64_t m_Block{ 1 };
  std::int64_t m_Blocks{ 0 }; ///< along the axis; 0: there are none
};

/** DequantizeLinear, (a - zero) scale, or QuantizeLinear, round(a / scale) + zero in the range of zero's type. */
OnnxConstant
Scale(const OnnxNode & node, const OnnxConstant & a, const OnnxConstant & scale, const OnnxConstant & zero)
{
  const bool        forwards = node.type == "DequantizeLinear";
  const ScalePlaces places(node, a.shape, scale);
  const bool        hasZero = zero.GetCount() > 0;
  if (scale.GetCount() == 0 || (hasZero && zero.GetCount() != scale.GetCount()) || a.isFloat == forwards ||
      !scale.isFloat || (hasZero && zero.isFloat))
  {
    throw MissingOperation("of numbers of another type");
  }
  const auto [least, greatest] = OnnxConstant::GetLimits(hasZero ? zero.type : node.GetInteger("output_dtype", 0));
  OnnxConstant result;
  result.shape = a.shape;
  result.isFloat = forwards;
  result.type = forwards ? 0 : hasZero ? zero.type : node.GetInteger("output_dtype", 0);
  for (std::size_t i = 0; i < a.GetCount(); ++i)
  {
    const std::size_t place = places.Get(static_cast<std::int64_t>(i));
    const double      shift = hasZero ? zero.Get(place) : 0;
    if (forwards)
    {
      result.floats.push_back(static_cast<float>(a.Get(i) - shift) * scale.floats.at(place));
      continue;
    }
    const double quotient = std::nearbyint(double{ static_cast<float>(a.Get(i)) / scale.floats.at(place) });
    Push(result, std::clamp(quotient + shift, least, greatest));
  }
  return result;
}

OnnxConstant
ComputeNode(OnnxWalk & walk, const OnnxNode & node)
{
  const std::string &  type = node.type;
  const OnnxConstant & a = *walk.GetConstant(node, 0);
  if (type == "Concat")
  {
    return Concatenate(walk, node);
  }
  if (type == "Cast")
  {
    return Cast(node, a);
  }
  if (type == "Transpose")
  {
    return Turn(node, a);
  }
  if (type == "Reshape")
  {
    return Reshape(a, walk.GetIntegers(node, 1, "shape"), node.GetInteger("allowzero", 0) != 0);
  }
  if (type == "Squeeze")
  {
    return Reshape(a, Squeeze(a.shape, walk.GetIntegers(node, 1, "axes")), true);
  }
  if (type == "Unsqueeze")
  {
    return Reshape(a, Unsqueeze(a.shape, walk.GetIntegers(node, 1, "axes")), true);
  }
  if (type == "Gather")
  {
    return Gather(node, a, *walk.GetConstant(node, 1));
  }
  if (type == "Slice")
  {
    return Slice(walk, node, a);
  }
  if (type == "Expand")
  {
    return Expand(a, walk.GetIntegers(node, 1, "shape"));
  }
  if (type == "DequantizeLinear" || type == "QuantizeLinear")
  {
    const bool         hasZero = OnnxWalk::HasInput(node, 2);
    const OnnxConstant none;
    return Scale(node, a, *walk.GetConstant(node, 1), hasZero ? *walk.GetConstant(node, 2) : none);
  }
  if (type == "ConstantOfShape")
  {
    return Fill(node, walk.GetIntegers(node, 0, "shape"));
  }
  if (type == "Where")
  {
    return Select(a, *walk.GetConstant(node, 1), *walk.GetConstant(node, 2));
  }
  if (type == "Range")
  {
    return MakeRange(a, *walk.GetConstant(node, 1), *walk.GetConstant(node, 2));
  }
  if (node.inputs.size() == 1)
  {
    return ComputeEach(node, a);
  }
  if (type == "Clip")
  {
    throw MissingOperation("of numbers");
  }
  OnnxConstant result = a;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
  {
    result = ComputePair(node, result, *walk.GetConstant(node, i));
  }
  return result;
}

/** The shape of a map, or of numbers. */
void
ImportShape(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue & value = walk.GetInput(node, 0);
  const auto            rank = static_cast<std::int64_t>(value.shape.size());
  const auto            counted = [rank](std::int64_t index) {
    return std::clamp<std::int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  const std::int64_t first = counted(node.GetInteger("start", 0)), end = counted(node.GetInteger("end", rank));
  Integers           shape;
  for (std::int64_t i = first; i < end; ++i)
  {
    shape.push_back(value.shape[i]);
  }
  walk.Set(node,
           { {},
             {},
             { static_cast<std::int64_t>(shape.size()) },
             std::make_shared<OnnxConstant>(OnnxConstant::OfIntegers(shape)),
             {} });
}

void
ImportConstant(OnnxWalk & walk, const OnnxNode & node)
{
  auto constant = std::make_shared<OnnxConstant>();
  if (node.Has("value") && node.attributes.at("value").tensor)
  {
    *constant = *node.attributes.at("value").tensor;
  }
  else if (node.Has("value_int"))
  {
    constant->integers = { node.attributes.at("value_int").integer };
  }
  else if (node.Has("value_ints"))
  {
    *constant = OnnxConstant::OfIntegers(node.GetIntegers("value_ints"));
  }
  else if (node.Has("value_float") || node.Has("value_floats"))
  {
    constant->isFloat = true;
    constant->floats = node.Has("value_floats") ? node.attributes.at("value_floats").numbers
                                                : std::vector<float>{ node.attributes.at("value_float").number };
    constant->shape =
      node.Has("value_floats") ? Integers{ static_cast<std::int64_t>(constant->floats.size()) } : Integers();
  }
  else
  {
    throw MissingOperation("of no numbers");
  }
  walk.Set(node, { {}, {}, constant->shape, constant, node.outputs.front() });
}

} // namespace

void
OnnxWalk::CheckRoom() const
{
  // What is computed from sizes is little; arrays are turned and named anew, each a few times at most.
  constexpr std::size_t ofSizes = 1 << 24;
  if (m_Computed > ofSizes + 4 * m_File.size)
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it computes more numbers than a file of its size can need"));
  }
}

void
ComputeNumbers(OnnxWalk & walk, const OnnxNode & node)
{
  if (!IsOfNumbers(walk, node))
  {
    throw MissingOperation("");
  }
  walk.CheckRoom();
  const auto result = std::make_shared<OnnxConstant>(ComputeNode(walk, node));
  walk.TakeRoom(result->GetCount());
  walk.Set(node,
           { {},
             {},
             result->shape,
             result,
             node.inputs.size() == 1 || result->GetCount() > 64 ? walk.GetInput(node, 0).array : "" });
}

std::vector<OnnxOperator>
GetOnnxNumbers()
{
  std::vector<OnnxOperator> all{ { "Shape", &ImportShape }, { "Constant", &ImportConstant } };
  for (const char * type : { "ConstantOfShape",
                             "DequantizeLinear",
                             "QuantizeLinear",
                             "Where",
                             "Range",
                             "Floor",
                             "Ceil",
                             "Round",
                             "Sqrt",
                             "Reciprocal",
                             "Not",
                             "Abs",
                             "Mod",
                             "Equal",
                             "Greater",
                             "Less",
                             "GreaterOrEqual",
                             "LessOrEqual",
                             "And",
                             "Or" })
  {
    all.push_back({ type, &ComputeNumbers });
  }
  return all;
}

} // namespace gigapixel

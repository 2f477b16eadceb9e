/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelOnnxOperators.h"

#include <algorithm>
#include <numeric>

namespace gigapixel
{
namespace
{

using Integers = std::vector<std::int64_t>;

/** More than any map has, and so few that products of them and a few lengths do not overflow. */
constexpr std::int64_t MostValues = std::int64_t{ 1 } << 60;

template <typename TIterator>
std::int64_t
Multiply(TIterator begin, TIterator end)
{
  return std::accumulate(
    begin, end, std::int64_t{ 1 }, [](std::int64_t a, std::int64_t b) { return MultiplyUpTo(a, b, MostValues); });
}

/** The same map under another name. */
void
Pass(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue value = walk.GetInput(node, 0);
  walk.Set(node, value);
}

void
ImportDropout(OnnxWalk & walk, const OnnxNode & node)
{
  walk.LeaveOut("dropout");
  Pass(walk, node);
}

void
ImportCast(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  const std::int64_t type = node.GetInteger("to", 1);
  if (type != 1 && type != 10 && type != 11 && type != 16) // floats of any width
  {
    throw MissingOperation("to whole numbers");
  }
  Pass(walk, node);
}

/** Casts to the type of another value, which changes nothing of maps. */
void
ImportCastLike(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    OnnxNode cast = node;
    cast.type = "Cast";
    cast.inputs.resize(1);
    cast.attributes["to"].integer = walk.GetConstant(node, 1)->isFloat ? 1 : 7;
    return ComputeNumbers(walk, cast);
  }
  if (!walk.IsOfPixels(node, 1) && !walk.GetConstant(node, 1)->isFloat)
  {
    throw MissingOperation("to whole numbers");
  }
  if (!walk.IsOfPixels(node, 0))
  {
    OnnxNode cast = node;
    cast.type = "Cast";
    cast.inputs.resize(1);
    cast.attributes["to"].integer = 1;
    return ComputeNumbers(walk, cast);
  }
  Pass(walk, node);
}

void
ImportTranspose(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  const OnnxWalkValue value = walk.GetInput(node, 0);
  const Integers      order = node.GetIntegers("perm");
  OnnxWalkValue       turned = value;
  if (order.empty())
  {
    std::reverse(turned.axes.begin(), turned.axes.end());
    std::reverse(turned.shape.begin(), turned.shape.end());
    return walk.Set(node, turned);
  }
  if (order.size() != value.axes.size() || std::set<std::int64_t>(order.begin(), order.end()).size() != order.size())
  {
    throw InvalidArgument(
      Diagnostic("E-ONNX-FORMAT", "its node \"" + node.outputs.front() + "\" turns other axes than there are")
        .OfValue(node.outputs.front()));
  }
  for (std::size_t i = 0; i < order.size(); ++i)
  {
    const std::size_t from = GetOnnxAxis(order[i], order.size());
    turned.axes[i] = value.axes[from];
    turned.shape[i] = value.shape[from];
  }
  walk.Set(node, turned);
}

/** A map's axes in a shape that holds its values in the same order: those that are longer than 1 stay in theirs.
 * \param maps the axes of maps \throw MissingOperation it is another shape */
std::string
RenameAxes(const OnnxWalkValue & value, const Integers & shape, const std::string & maps)
{
  std::string longer;
  for (std::size_t i = 0; i < value.axes.size(); ++i)
  {
    longer += value.shape[i] > 1 ? std::string(1, value.axes[i]) : "";
  }
  std::string names;
  std::size_t next = 0;
  for (const std::int64_t length : shape)
  {
    if (length <= 1)
    {
      names += '1';
      continue;
    }
    const std::size_t from = next < longer.size() ? value.axes.find(longer[next]) : std::string::npos;
    if (from == std::string::npos || value.shape[from] != length)
    {
      throw MissingOperation("that changes more than the axes");
    }
    names += longer[next++];
  }
  if (next != longer.size())
  {
    throw MissingOperation("that changes more than the axes");
  }
  // Of length 1 the batch comes first, and one channel is where there is room; so are the sides of one pixel.
  for (const char axis : shape.size() == maps.size() ? maps : std::string("bc"))
  {
    const auto place = names.find('1');
    if (names.find(axis) == std::string::npos && place != std::string::npos)
    {
      names[place] = axis;
    }
  }
  return names;
}

void
Rename(OnnxWalk & walk, const OnnxNode & node, const Integers & shape)
{
  const OnnxWalkValue value = walk.GetInput(node, 0);
  walk.Set(node, { value.map, RenameAxes(value, shape, walk.GetMapAxes()), shape, nullptr, {} });
}

/** Channels in groups, for a norm of each of them, or the channels of such groups: {batch, groups, all else}.
 * \return whether it is one of both */
bool
ImportGroups(OnnxWalk & walk, const OnnxNode & node, const OnnxWalkValue & value, const Integers & shape)
{
  const std::int64_t channels = walk.GetChannels(value.map);
  const Extent       size = walk.GetSize(value.map);
  if (value.axes == walk.GetMapAxes() && shape.size() == 3 && shape[0] == 1 && channels % shape[1] == 0 &&
      shape[2] > 1 && shape[2] == MultiplyUpTo(Multiply(size.begin(), size.end()), channels / shape[1], MostValues))
  {
    walk.Set(node, { value.map, "bgp", shape, nullptr, {} });
    return true;
  }
  if (value.axes == "bgp" && shape == walk.GetShape(value.map, walk.GetMapAxes()))
  {
    walk.Set(node, { value.map, walk.GetMapAxes(), shape, nullptr, {} });
    return true;
  }
  return false;
}

void
ImportReshape(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  Integers            shape = walk.GetIntegers(node, 1, "shape");
  const OnnxWalkValue value = walk.GetInput(node, 0);
  const std::int64_t  count = Multiply(value.shape.begin(), value.shape.end());
  std::int64_t        known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
  {
    shape[i] =
      shape[i] == 0 && node.GetInteger("allowzero", 0) == 0 && i < value.shape.size() ? value.shape[i] : shape[i];
    if (shape[i] < -1 || shape[i] == 0 || shape[i] > count)
    {
      throw MissingOperation("that changes more than the axes");
    }
    known = shape[i] > 0 ? MultiplyUpTo(known, shape[i], count + 1) : known;
  }
  std::replace(shape.begin(), shape.end(), std::int64_t{ -1 }, count / known);
  if (std::count(shape.begin(), shape.end(), 0) > 0)
  {
    throw MissingOperation("that changes more than the axes");
  }
  if (ImportGroups(walk, node, value, shape))
  {
    return;
  }
  try
  {
    Rename(walk, node, shape);
  }
  catch (const MissingOperation & error)
  {
    if (shape.size() != 2 || shape[0] != 1)
    {
      throw;
    }
    walk.Miss(node, error.GetDiagnostic().why);
    walk.SetStandIn(node, "bc", shape); // all values are channels
  }
}

/** To two axes. */
void
ImportFlatten(OnnxWalk & walk, const OnnxNode & node)
{
  constexpr const char * others = "of other axes than a map's behind the batch";
  if (node.GetInteger("axis", 1) != 1 || !walk.IsOfPixels(node, 0))
  {
    throw MissingOperation(others);
  }
  const OnnxWalkValue value = walk.GetInput(node, 0);
  if (value.axes != walk.GetMapAxes())
  {
    throw MissingOperation(others);
  }
  const std::int64_t pixels = Multiply(value.shape.begin() + 2, value.shape.end());
  if (pixels != 1)
  {
    walk.Miss(node, "of all pixels (a layer that sees the whole image)");
    return walk.SetStandIn(node, "bc", { 1, MultiplyUpTo(pixels, value.shape[1], MostValues) });
  }
  Rename(walk, node, { 1, value.shape[1] });
}

void
ImportSqueeze(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  const OnnxWalkValue   value = walk.GetInput(node, 0);
  std::set<std::size_t> taken;
  for (const std::int64_t axis : walk.GetIntegers(node, 1, "axes"))
  {
    taken.insert(GetOnnxAxis(axis, value.shape.size()));
  }
  Integers shape;
  for (std::size_t i = 0; i < value.shape.size(); ++i)
  {
    if (taken.empty() ? value.shape[i] != 1 : taken.count(i) == 0)
    {
      shape.push_back(value.shape[i]);
    }
  }
  Rename(walk, node, shape);
}

void
ImportUnsqueeze(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  const OnnxWalkValue   value = walk.GetInput(node, 0);
  const Integers        axes = walk.GetIntegers(node, 1, "axes");
  std::set<std::size_t> added;
  if (axes.size() > 8)
  {
    throw MissingOperation("to more axes than maps have");
  }
  for (const std::int64_t axis : axes)
  {
    added.insert(GetOnnxAxis(axis, value.shape.size() + axes.size()));
  }
  Integers    shape;
  std::size_t next = 0;
  for (std::size_t i = 0; i < value.shape.size() + added.size(); ++i)
  {
    shape.push_back(added.count(i) > 0 || next >= value.shape.size() ? 1 : value.shape[next++]);
  }
  Rename(walk, node, shape);
}

} // namespace

std::vector<OnnxOperator>
GetOnnxLayout()
{
  return { { "Identity", &Pass },           { "Dropout", &ImportDropout },     { "Cast", &ImportCast },
           { "CastLike", &ImportCastLike }, { "Transpose", &ImportTranspose }, { "Reshape", &ImportReshape },
           { "Flatten", &ImportFlatten },   { "Squeeze", &ImportSqueeze },     { "Unsqueeze", &ImportUnsqueeze } };
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOnnxOperators.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>

namespace gigapixel
{

OnnxOperator::Function
OnnxOperator::Find(const std::string & type)
{
  static const std::map<std::string, Function> all = [] {
    std::map<std::string, Function> functions;
    for (const auto getFamily : { &GetOnnxWindows,
                                  &GetOnnxLinear,
                                  &GetOnnxPointwise,
                                  &GetOnnxArithmetic,
                                  &GetOnnxPlacement,
                                  &GetOnnxLayout,
                                  &GetOnnxWholeImage,
                                  &GetOnnxNumbers,
                                  &GetOnnxBranches })
    {
      for (const OnnxOperator & each : getFamily())
      {
        functions[each.type] = each.function;
      }
    }
    return functions;
  }();
  const auto found = all.find(type);
  return found == all.end() ? nullptr : found->second;
}

bool
IsOfNumbers(OnnxWalk & walk, const OnnxNode & node)
{
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
  {
    if (walk.IsOfPixels(node, i))
    {
      return false;
    }
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
  {
    if (OnnxWalk::HasInput(node, i))
    {
      walk.GetInput(node, i);
    }
  }
  return true;
}

std::vector<std::int64_t>
BroadcastShapes(const std::vector<std::int64_t> & a, const std::vector<std::int64_t> & b)
{
  std::vector<std::int64_t> shape(std::max(a.size(), b.size()), 1);
  for (const auto * each : { &a, &b })
  {
    for (std::size_t i = 0; i < each->size(); ++i)
    {
      std::int64_t &     length = shape[shape.size() - 1 - i];
      const std::int64_t other = (*each)[each->size() - 1 - i];
      if (length != 1 && other != 1 && length != other)
      {
        throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it computes with arrays that do not fit each other"));
      }
      length = length == 1 ? other : length;
    }
  }
  return shape;
}

std::int64_t
MultiplyUpTo(std::int64_t a, std::int64_t b, std::int64_t most)
{
  return b > 0 && a > most / b ? most : a * b;
}

std::size_t
GetOnnxAxis(std::int64_t axis, std::size_t rank)
{
  const auto         length = static_cast<std::int64_t>(rank);
  const std::int64_t counted = axis < 0 ? axis + length : axis;
  if (counted < 0 || counted >= length)
  {
    throw MissingOperation("along an axis that there is not");
  }
  return static_cast<std::size_t>(counted);
}

} // namespace gigapixel

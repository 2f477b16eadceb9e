/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWindowPadding.h"

namespace gigapixel::torchmodule
{
namespace
{

at::Tensor
TakeEach(at::Tensor map, const std::vector<std::int64_t> & steps)
{
  for (int axis = 0; axis < static_cast<int>(steps.size()); ++axis)
  {
    const int dimension = GetDimension(axis);
    map = map.slice(dimension, 0, map.size(dimension), steps[axis]);
  }
  return map;
}

} // namespace

WindowPadding::WindowPadding(const OperationCall & call)
  : PaddedWindow(call.operation, call.step.inputs.front(), call.step.output)
  , m_Call(call)
{}

at::Tensor
WindowPadding::Pad(const at::Tensor & input, double value) const
{
  const Box & box = m_Call.step.inputs.front();
  if (!taken.empty())
  {
    return MakeDense(TakeEach(input, taken));
  }
  if (!mirrors)
  {
    return MakeDense(Show(input, box, seen, value));
  }
  return MakeDense(ShowMirrored(m_Call, input, seen, m_Call.operation.GetWord("padding_mode")));
}

at::Tensor
WindowPadding::MakeMap() const
{
  return torchmodule::MakeMap(m_Call.channels[0], taken.empty() ? seen : m_Call.step.output, m_Call.options);
}

at::Tensor
WindowPadding::Unpad(const at::Tensor & gradient) const
{
  const Box & box = m_Call.step.inputs.front();
  if (!taken.empty())
  {
    at::Tensor all = torchmodule::MakeMap(gradient.size(1), box, gradient.options()).zero_();
    TakeEach(all, taken).copy_(gradient);
    return all;
  }
  if (!mirrors)
  {
    return Show(gradient, seen, box);
  }
  return DifferentiateMirrored(m_Call, gradient, seen, m_Call.operation.GetWord("padding_mode"));
}

} // namespace gigapixel::torchmodule

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWindowPadding.h"

namespace gigapixel::torchmodule
{

WindowPadding::WindowPadding(const OperationCall & call)
  : PaddedWindow(call.operation, call.step.inputs.front(), call.step.output)
  , m_Call(call)
{}

std::vector<std::int64_t>
WindowPadding::GetMirroredIndices(int axis) const
{
  std::vector<std::int64_t> indices;
  for (std::int64_t i = seen[axis].begin; i < seen[axis].end; ++i)
  {
    const std::int64_t real =
      GetMirrored(m_Call.operation.GetWord("padding_mode"), i, m_Call.step.sizes[axis].inputs.front());
    indices.push_back(real - m_Call.step.inputs.front()[axis].begin);
  }
  return indices;
}

at::Tensor
WindowPadding::Pad(const at::Tensor & input, double value) const
{
  const Box & box = m_Call.step.inputs.front();
  if (!mirrors || seen == box)
  {
    return MakeDense(Show(input, box, seen, value));
  }
  return MakeDense(Gather(Gather(input, 0, GetMirroredIndices(0)), 1, GetMirroredIndices(1)));
}

at::Tensor
WindowPadding::Unpad(const at::Tensor & gradient) const
{
  const Box & box = m_Call.step.inputs.front();
  if (!mirrors || seen == box)
  {
    return Show(gradient, seen, box);
  }
  return Scatter(
    Scatter(gradient, 1, GetMirroredIndices(1), box[1].GetLength()), 0, GetMirroredIndices(0), box[0].GetLength());
}

} // namespace gigapixel::torchmodule

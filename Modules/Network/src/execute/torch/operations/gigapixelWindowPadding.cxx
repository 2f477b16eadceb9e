/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWindowPadding.h"

namespace gigapixel::torchmodule
{

WindowPadding::WindowPadding(const OperationCall & call)
  : m_Call(call)
{
  const Operation & operation = call.operation;
  const bool        dilated = operation.attributes.count("dilation") > 0;
  bool              passed = true;
  const Box &       input = call.step.inputs.front();
  m_Mirrors = operation.attributes.count("padding_mode") > 0 && operation.GetWord("padding_mode") != "zeros";
  for (int axis = 0; axis < NetworkGraph::NumberOfAxes; ++axis)
  {
    kernel.push_back(operation.GetAlong("kernel_size", axis));
    stride.push_back(operation.GetAlong("stride", axis));
    dilation.push_back(dilated ? operation.GetAlong("dilation", axis) : 1);
    const Interval &   output = call.step.output[axis];
    const std::int64_t reach = (kernel[axis] - 1) * dilation[axis] + 1;
    const std::int64_t before = GetPadding(operation, axis).before;
    m_Seen[axis] = { output.begin * stride[axis] - before, (output.end - 1) * stride[axis] - before + reach };
    const std::int64_t same = input[axis].begin - m_Seen[axis].begin;
    padding.push_back(same);
    const std::int64_t padded = input[axis].GetLength() + 2 * same - reach;
    passed = passed && same >= 0 && padded >= 0 && padded / stride[axis] + 1 == output.GetLength();
  }
  if (passed && !m_Mirrors)
  {
    m_Seen = input;
  }
  else
  {
    padding.assign(NetworkGraph::NumberOfAxes, 0);
  }
}

std::vector<std::int64_t>
WindowPadding::GetMirroredIndices(int axis) const
{
  std::vector<std::int64_t> indices;
  for (std::int64_t i = m_Seen[axis].begin; i < m_Seen[axis].end; ++i)
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
  if (!m_Mirrors || m_Seen == box)
  {
    return MakeDense(Show(input, box, m_Seen, value));
  }
  return MakeDense(Gather(Gather(input, 0, GetMirroredIndices(0)), 1, GetMirroredIndices(1)));
}

at::Tensor
WindowPadding::Unpad(const at::Tensor & gradient) const
{
  const Box & box = m_Call.step.inputs.front();
  if (!m_Mirrors || m_Seen == box)
  {
    return Show(gradient, m_Seen, box);
  }
  return Scatter(
    Scatter(gradient, 1, GetMirroredIndices(1), box[1].GetLength()), 0, GetMirroredIndices(0), box[0].GetLength());
}

} // namespace gigapixel::torchmodule

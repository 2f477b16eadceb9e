/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWindowPadding.h"

namespace gigapixel::torchmodule
{

WindowPadding::WindowPadding(const OperationCall & call)
  : PaddedWindow(call.operation, call.step.inputs.front(), call.step.output)
  , m_Call(call)
{}

at::Tensor
WindowPadding::Pad(const at::Tensor & input, double value) const
{
  const Box & box = m_Call.step.inputs.front();
  if (!mirrors || seen == box)
  {
    return MakeDense(Show(input, box, seen, value));
  }
  return MakeDense(ShowMirrored(m_Call, input, seen, m_Call.operation.GetWord("padding_mode")));
}

at::Tensor
WindowPadding::Unpad(const at::Tensor & gradient) const
{
  const Box & box = m_Call.step.inputs.front();
  if (!mirrors || seen == box)
  {
    return Show(gradient, seen, box);
  }
  return DifferentiateMirrored(m_Call, gradient, seen, m_Call.operation.GetWord("padding_mode"));
}

} // namespace gigapixel::torchmodule

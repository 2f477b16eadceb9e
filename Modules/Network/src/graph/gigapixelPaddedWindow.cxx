/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPaddedWindow.h"

#include <utility>

namespace gigapixel
{

PaddedWindow::PaddedWindow(const Operation & operation, const Box & input, const Box & output)
  : seen(operation.axes)
  , mirrors(operation.attributes.count("padding_mode") > 0 && operation.GetWord("padding_mode") != "zeros")
{
  const bool dilated = operation.attributes.count("dilation") > 0;
  bool       passed = true;
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    kernel.push_back(operation.GetAlong("kernel_size", axis));
    stride.push_back(operation.GetAlong("stride", axis));
    dilation.push_back(dilated ? operation.GetAlong("dilation", axis) : 1);
    const std::int64_t reach = (kernel[axis] - 1) * dilation[axis] + 1;
    const std::int64_t before = GetPadding(operation, axis).before;
    seen[axis] = { output[axis].begin * stride[axis] - before, (output[axis].end - 1) * stride[axis] - before + reach };
    padding.push_back(input[axis].begin - seen[axis].begin);
    const std::int64_t left = input[axis].GetLength() + 2 * padding[axis] - reach;
    // LibTorch's poolings of volumes refuse windows that only their padding makes room for.
    const bool holds = operation.axes == 2 || input[axis].GetLength() >= kernel[axis];
    passed = passed && padding[axis] >= 0 && left >= 0 && left / stride[axis] + 1 == output[axis].GetLength() && holds;
  }
  const std::vector<std::int64_t> none(operation.axes, 0), one(operation.axes, 1);
  mirrors = mirrors && kernel != one; // a kernel of one pixel has no padding
  if (passed && !mirrors)
  {
    seen = input;
    if (kernel == one && padding == none && stride != one)
    {
      taken = std::exchange(stride, one);
    }
  }
  else
  {
    padding.assign(operation.axes, 0);
  }
}

} // namespace gigapixel

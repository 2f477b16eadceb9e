/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWindowPadding.h"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool2d_backward.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include <limits>

namespace gigapixel::torchmodule
{
namespace
{

at::Tensor
TakeGreatest(OperationCall & call)
{
  const WindowPadding window(call);
  const at::Tensor    input = window.Pad(call.inputs[0], -std::numeric_limits<double>::infinity());
  auto [output, indices] =
    at::max_pool2d_with_indices(input, window.kernel, window.stride, window.padding, window.dilation, false);
  if (call.step.keeps == Keeps::InputAndIndices)
  {
    call.kept = { indices };
  }
  return output;
}

std::vector<at::Tensor>
DifferentiateGreatest(OperationCall & call, const at::Tensor & gradient)
{
  const WindowPadding window(call);
  at::Tensor          input = window.MakeMap();
  at::max_pool2d_with_indices_backward_out(input,
                                           MakeDense(gradient),
                                           input,
                                           window.kernel,
                                           window.stride,
                                           window.padding,
                                           window.dilation,
                                           false,
                                           call.kept[0]);
  return { window.Unpad(input) };
}

/** How many pixels each output along an axis is the mean of: those of the map, or also those of its padding. */
std::vector<double>
CountPixels(const OperationCall & call, int axis)
{
  const std::int64_t  kernel = call.operation.GetAlong("kernel_size", axis);
  const std::int64_t  stride = call.operation.GetAlong("stride", axis);
  const std::int64_t  padding = call.operation.GetAlong("padding", axis);
  const std::int64_t  size = call.step.sizes[axis].inputs.front();
  const bool          padded = call.operation.GetFlag("count_include_pad");
  std::vector<double> counts;
  for (std::int64_t i = call.step.output[axis].begin; i < call.step.output[axis].end; ++i)
  {
    const std::int64_t begin = i * stride - padding;
    const std::int64_t end = std::min(begin + kernel, size + padding);
    counts.push_back(
      static_cast<double>(padded ? end - begin : std::min(end, size) - std::max<std::int64_t>(begin, 0)));
  }
  return counts;
}

at::Tensor
GetDivisors(const OperationCall & call)
{
  const auto rows = CountPixels(call, 0), columns = CountPixels(call, 1);
  return at::tensor(rows, call.options)
    .view({ 1, 1, -1, 1 })
    .mul(at::tensor(columns, call.options).view({ 1, 1, 1, -1 })); // whole numbers: exact
}

/** Zeros add nothing to sums, whoever adds them; what a sum is divided by is known here alone. */
constexpr std::int64_t SumUp = 1;

at::Tensor
TakeMean(OperationCall & call)
{
  const WindowPadding window(call);
  return at::avg_pool2d(window.Pad(call.inputs[0]), window.kernel, window.stride, window.padding, false, true, SumUp)
    .div_(GetDivisors(call));
}

std::vector<at::Tensor>
DifferentiateMean(OperationCall & call, const at::Tensor & gradient)
{
  const WindowPadding window(call);
  at::Tensor sums = window.MakeMap(); // which the operator also takes for the input, of which it sees the shape
  at::avg_pool2d_backward_out(sums,
                              MakeDense(gradient.div(GetDivisors(call))),
                              sums,
                              window.kernel,
                              window.stride,
                              window.padding,
                              false,
                              true,
                              SumUp);
  return { window.Unpad(sums) };
}

const TorchOperation MaxPooling("max_pool2d", &TakeGreatest, &DifferentiateGreatest);
const TorchOperation MeanPooling("avg_pool2d", &TakeMean, &DifferentiateMean);

} // namespace
} // namespace gigapixel::torchmodule

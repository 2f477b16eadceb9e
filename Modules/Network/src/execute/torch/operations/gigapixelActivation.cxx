/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"

#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/leaky_relu_backward.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/threshold_backward.h>

namespace gigapixel::torchmodule
{
namespace
{

at::Tensor
Rectify(OperationCall & call)
{
  return call.inPlace ? call.inputs[0].relu_() : call.inputs[0].relu();
}

std::vector<at::Tensor>
DifferentiateRectify(OperationCall & call, const at::Tensor & gradient)
{
  if (IsAlone(gradient) && gradient.is_contiguous(at::MemoryFormat::ChannelsLast))
  {
    at::Tensor input = gradient;
    at::threshold_backward_out(input, gradient, call.output, 0);
    return { input };
  }
  return { at::threshold_backward(gradient, call.output, 0) };
}

at::Tensor
RectifyLeaky(OperationCall & call)
{
  const double slope = call.operation.GetNumber("negative_slope");
  return call.inPlace ? at::leaky_relu_(call.inputs[0], slope) : at::leaky_relu(call.inputs[0], slope);
}

std::vector<at::Tensor>
DifferentiateRectifyLeaky(OperationCall & call, const at::Tensor & gradient)
{
  return { at::leaky_relu_backward(gradient, call.inputs[0], call.operation.GetNumber("negative_slope"), false) };
}

at::Tensor
Squash(OperationCall & call)
{
  return call.inPlace ? call.inputs[0].sigmoid_() : call.inputs[0].sigmoid();
}

std::vector<at::Tensor>
DifferentiateSquash(OperationCall & call, const at::Tensor & gradient)
{
  return { at::sigmoid_backward(gradient, call.output) };
}

const TorchOperation ReLU("relu", &Rectify, &DifferentiateRectify);
const TorchOperation LeakyReLU("leaky_relu", &RectifyLeaky, &DifferentiateRectifyLeaky);
const TorchOperation Sigmoid("sigmoid", &Squash, &DifferentiateSquash);

} // namespace
} // namespace gigapixel::torchmodule

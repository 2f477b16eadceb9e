/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWindowPadding.h"

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include <array>

namespace gigapixel::torchmodule
{
namespace
{

std::vector<std::int64_t>
GetDilation(const OperationCall & call, const WindowPadding & window)
{
  const bool point = window.kernel == std::vector<std::int64_t>(NetworkGraph::NumberOfAxes, 1);
  return point ? GetPointDilation(call.options) : window.dilation;
}

at::Tensor
Convolve(OperationCall & call)
{
  const WindowPadding window(call);
  return at::convolution(window.Pad(call.inputs[0]),
                         call.GetWeight("weight"),
                         call.GetWeight("bias"),
                         window.stride,
                         window.padding,
                         GetDilation(call, window),
                         false,
                         { 0, 0 },
                         call.operation.GetInteger("groups"));
}

std::vector<at::Tensor>
DifferentiateConvolution(OperationCall & call, const at::Tensor & gradient)
{
  const WindowPadding             window(call);
  const at::Tensor                bias = call.GetWeight("bias");
  const std::vector<std::int64_t> biasShape{ gradient.size(1) };
  auto [input, weight, shift] = at::convolution_backward(MakeDense(gradient),
                                                         window.Pad(call.inputs[0]),
                                                         call.GetWeight("weight"),
                                                         at::OptionalIntArrayRef(biasShape),
                                                         window.stride,
                                                         window.padding,
                                                         GetDilation(call, window),
                                                         false,
                                                         { 0, 0 },
                                                         call.operation.GetInteger("groups"),
                                                         std::array<bool, 3>{ call.wanted[0], true, bias.defined() });
  call.weightGradients["weight"] = weight;
  if (bias.defined())
  {
    call.weightGradients["bias"] = shift;
  }
  return { call.wanted[0] ? window.Unpad(input) : at::Tensor() };
}

const TorchOperation Convolution("conv2d", &Convolve, &DifferentiateConvolution);

} // namespace
} // namespace gigapixel::torchmodule

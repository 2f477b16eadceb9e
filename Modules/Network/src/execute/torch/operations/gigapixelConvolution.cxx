/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWindowPadding.h"

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
ConvolvePlain(OperationCall & call)
{
  const WindowPadding window(call);
  return Convolve(window.Pad(call.inputs[0]),
                  call.GetWeight("weight"),
                  call.GetWeight("bias"),
                  window.stride,
                  window.padding,
                  GetDilation(call, window),
                  call.operation.GetInteger("groups"));
}

std::vector<at::Tensor>
DifferentiatePlain(OperationCall & call, const at::Tensor & gradient)
{
  const WindowPadding window(call);
  const bool          bias = call.GetWeight("bias").defined();
  auto [input, weight, shift] = DifferentiateConvolution(MakeDense(gradient),
                                                         window.Pad(call.inputs[0]),
                                                         call.GetWeight("weight"),
                                                         window.stride,
                                                         window.padding,
                                                         GetDilation(call, window),
                                                         call.operation.GetInteger("groups"),
                                                         call.wanted[0],
                                                         bias);
  call.weightGradients["weight"] = weight;
  if (bias)
  {
    call.weightGradients["bias"] = shift;
  }
  return { call.wanted[0] ? window.Unpad(input) : at::Tensor() };
}

const TorchOperation Convolution("conv2d", &ConvolvePlain, &DifferentiatePlain);

} // namespace
} // namespace gigapixel::torchmodule

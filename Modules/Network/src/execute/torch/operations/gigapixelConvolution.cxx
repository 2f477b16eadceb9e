/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchConvolution.h"
#include "gigapixelWindowPadding.h"

namespace gigapixel::torchmodule
{
namespace
{

TorchConvolution
MakeConvolution(const OperationCall & call, const WindowPadding & window)
{
  return { call.GetWeight("weight"),
           call.GetWeight("bias"),
           window.stride,
           window.padding,
           window.dilation,
           call.operation.GetInteger("groups"),
           false,
           call.plain };
}

at::Tensor
ConvolvePlain(OperationCall & call)
{
  const WindowPadding window(call);
  return MakeConvolution(call, window).Compute(window.Pad(call.inputs[0]));
}

std::vector<at::Tensor>
DifferentiatePlain(OperationCall & call, const at::Tensor & gradient)
{
  const WindowPadding    window(call);
  const TorchConvolution convolution = MakeConvolution(call, window);
  const auto gradients = convolution.Differentiate(MakeDense(gradient), window.Pad(call.inputs[0]), call.wanted[0]);
  call.weightGradients["weight"] = gradients.weight;
  if (convolution.bias.defined())
  {
    call.weightGradients["bias"] = gradients.bias;
  }
  return { call.wanted[0] ? window.Unpad(gradients.input) : at::Tensor() };
}

const TorchOperation Convolution("conv2d", &ConvolvePlain, &DifferentiatePlain);
const TorchOperation ConvolutionOfVolumes("conv3d", &ConvolvePlain, &DifferentiatePlain);

} // namespace
} // namespace gigapixel::torchmodule

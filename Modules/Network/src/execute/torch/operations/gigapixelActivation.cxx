/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"

#include <ATen/ops/elu.h>
#include <ATen/ops/elu_backward.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardsigmoid_backward.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardswish_backward.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/hardtanh_backward.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/leaky_relu_backward.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mish_backward.h>
#include <ATen/ops/logit.h>
#include <ATen/ops/logit_backward.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/softplus_backward.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>
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

/** Slopes for maps of 1 x channels x height x width. */
at::Tensor
GetSlopes(const OperationCall & call)
{
  return AlongChannels(call.GetWeight("weight"), call.operation.axes);
}

at::Tensor
RectifyBySlopes(OperationCall & call)
{
  const at::Tensor & input = call.inputs[0];
  at::Tensor         output = input.clamp_max(0).mul_(GetSlopes(call));
  return output.add_(input.clamp_min(0));
}

std::vector<at::Tensor>
DifferentiateRectifyBySlopes(OperationCall & call, const at::Tensor & gradient)
{
  const at::Tensor & input = call.inputs[0];
  {
    const at::Tensor below = input.clamp_max(0).mul_(gradient);
    call.weightGradients["weight"] =
      call.GetWeight("weight").numel() == 1 ? below.sum().view({ 1 }) : below.sum(GetAllButChannels(below));
  }
  if (!call.wanted[0])
  {
    return { at::Tensor() };
  }
  at::Tensor       above = at::threshold_backward(gradient, input, 0);
  const at::Tensor below = gradient.sub(above).mul_(GetSlopes(call));
  return { above.add_(below) };
}

double
GetAlpha(const OperationCall & call)
{
  return call.operation.GetNumber("alpha");
}

at::Tensor
RectifyExponentially(OperationCall & call)
{
  return call.inPlace ? at::elu_(call.inputs[0], GetAlpha(call)) : at::elu(call.inputs[0], GetAlpha(call));
}

std::vector<at::Tensor>
DifferentiateRectifyExponentially(OperationCall & call, const at::Tensor & gradient)
{
  return { at::elu_backward(gradient, GetAlpha(call), 1, 1, false, call.inputs[0]) };
}

at::Tensor
RectifyByNormal(OperationCall & call)
{
  return at::gelu(call.inputs[0], call.operation.GetWord("approximate"));
}

std::vector<at::Tensor>
DifferentiateRectifyByNormal(OperationCall & call, const at::Tensor & gradient)
{
  // A contiguous input goes to oneDNN, which in LibTorch 1.13 leaves the result unwritten if the gradient is not so,
  // too.
  const at::Tensor & input = call.inputs[0];
  return { at::gelu_backward(
    input.is_contiguous() ? gradient.contiguous() : gradient, input, call.operation.GetWord("approximate")) };
}

at::Tensor
RectifyBySigmoid(OperationCall & call)
{
  return call.inPlace ? at::silu_(call.inputs[0]) : at::silu(call.inputs[0]);
}

std::vector<at::Tensor>
DifferentiateRectifyBySigmoid(OperationCall & call, const at::Tensor & gradient)
{
  return { at::silu_backward(gradient, call.inputs[0]) };
}

at::Tensor
RectifyBySoftplus(OperationCall & call)
{
  return call.inPlace ? at::mish_(call.inputs[0]) : at::mish(call.inputs[0]);
}

std::vector<at::Tensor>
DifferentiateRectifyBySoftplus(OperationCall & call, const at::Tensor & gradient)
{
  return { at::mish_backward(gradient, call.inputs[0]) };
}

at::Tensor
RectifyByHardSigmoid(OperationCall & call)
{
  return call.inPlace ? at::hardswish_(call.inputs[0]) : at::hardswish(call.inputs[0]);
}

std::vector<at::Tensor>
DifferentiateRectifyByHardSigmoid(OperationCall & call, const at::Tensor & gradient)
{
  return { at::hardswish_backward(gradient, call.inputs[0]) };
}

at::Tensor
SquashPiecewise(OperationCall & call)
{
  return call.inPlace ? at::hardsigmoid_(call.inputs[0]) : at::hardsigmoid(call.inputs[0]);
}

std::vector<at::Tensor>
DifferentiateSquashPiecewise(OperationCall & call, const at::Tensor & gradient)
{
  return { at::hardsigmoid_backward(gradient, call.inputs[0]) };
}

at::Tensor
SquashToBothSides(OperationCall & call)
{
  return call.inPlace ? call.inputs[0].tanh_() : call.inputs[0].tanh();
}

std::vector<at::Tensor>
DifferentiateSquashToBothSides(OperationCall & call, const at::Tensor & gradient)
{
  return { at::tanh_backward(gradient, call.output) };
}

at::Tensor
ClampToRange(OperationCall & call)
{
  const double least = call.operation.GetNumber("min_val"), greatest = call.operation.GetNumber("max_val");
  return call.inPlace ? at::hardtanh_(call.inputs[0], least, greatest) : at::hardtanh(call.inputs[0], least, greatest);
}

std::vector<at::Tensor>
DifferentiateClampToRange(OperationCall & call, const at::Tensor & gradient)
{
  return { at::hardtanh_backward(
    gradient, call.inputs[0], call.operation.GetNumber("min_val"), call.operation.GetNumber("max_val")) };
}

at::Tensor
NormalizeExponentials(OperationCall & call)
{
  return MakeDense(at::softmax(call.inputs[0], 1));
}

std::vector<at::Tensor>
DifferentiateNormalizeExponentials(OperationCall & call, const at::Tensor & gradient)
{
  // LibTorch 1.13's own function gives other numbers where channels lie beside each other.
  at::Tensor weighted = gradient.mul(call.output);
  return { weighted.sub_(call.output.mul(weighted.sum({ 1 }, true))) };
}

at::Tensor
AddOneToExponential(OperationCall & call)
{
  return at::softplus(call.inputs[0], call.operation.GetNumber("beta"), call.operation.GetNumber("threshold"));
}

std::vector<at::Tensor>
DifferentiateAddOneToExponential(OperationCall & call, const at::Tensor & gradient)
{
  return { at::softplus_backward(
    gradient, call.inputs[0], call.operation.GetNumber("beta"), call.operation.GetNumber("threshold")) };
}

double
GetLeast(const OperationCall & call)
{
  return call.operation.GetNumber("eps");
}

at::Tensor
TakeLogarithm(OperationCall & call)
{
  const at::Tensor & input = call.inputs[0];
  return call.inPlace ? input.clamp_min_(GetLeast(call)).log_() : input.clamp_min(GetLeast(call)).log_();
}

std::vector<at::Tensor>
DifferentiateLogarithm(OperationCall & call, const at::Tensor & gradient)
{
  const at::Tensor & input = call.inputs[0];
  at::Tensor         above = at::threshold_backward(gradient, input, GetLeast(call));
  return { above.div_(input.clamp_min(GetLeast(call))) };
}

at::Tensor
TakeLogit(OperationCall & call)
{
  return call.inPlace ? call.inputs[0].logit_(GetLeast(call)) : call.inputs[0].logit(GetLeast(call));
}

std::vector<at::Tensor>
DifferentiateLogit(OperationCall & call, const at::Tensor & gradient)
{
  return { at::logit_backward(gradient, call.inputs[0], GetLeast(call)) };
}

const TorchOperation ReLU("relu", &Rectify, &DifferentiateRectify);
const TorchOperation LeakyReLU("leaky_relu", &RectifyLeaky, &DifferentiateRectifyLeaky);
const TorchOperation PReLU("prelu", &RectifyBySlopes, &DifferentiateRectifyBySlopes);
const TorchOperation ELU("elu", &RectifyExponentially, &DifferentiateRectifyExponentially);
const TorchOperation GELU("gelu", &RectifyByNormal, &DifferentiateRectifyByNormal);
const TorchOperation SiLU("silu", &RectifyBySigmoid, &DifferentiateRectifyBySigmoid);
const TorchOperation Mish("mish", &RectifyBySoftplus, &DifferentiateRectifyBySoftplus);
const TorchOperation HardSwish("hardswish", &RectifyByHardSigmoid, &DifferentiateRectifyByHardSigmoid);
const TorchOperation Sigmoid("sigmoid", &Squash, &DifferentiateSquash);
const TorchOperation HardSigmoid("hardsigmoid", &SquashPiecewise, &DifferentiateSquashPiecewise);
const TorchOperation Tanh("tanh", &SquashToBothSides, &DifferentiateSquashToBothSides);
const TorchOperation HardTanh("hardtanh", &ClampToRange, &DifferentiateClampToRange);
const TorchOperation Softmax("softmax", &NormalizeExponentials, &DifferentiateNormalizeExponentials);
const TorchOperation Softplus("softplus", &AddOneToExponential, &DifferentiateAddOneToExponential);
const TorchOperation Logarithm("log", &TakeLogarithm, &DifferentiateLogarithm);
const TorchOperation Logit("logit", &TakeLogit, &DifferentiateLogit);

} // namespace
} // namespace gigapixel::torchmodule

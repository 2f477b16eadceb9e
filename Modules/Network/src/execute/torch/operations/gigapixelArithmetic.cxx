/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/max.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/minimum.h>

namespace gigapixel::torchmodule
{
namespace
{

at::Tensor
Concatenate(OperationCall & call)
{
  return at::cat(call.inputs, 1);
}

std::vector<at::Tensor>
DifferentiateConcatenation(OperationCall & call, const at::Tensor & gradient)
{
  std::vector<at::Tensor> gradients;
  std::int64_t            first = 0;
  for (const std::int64_t channels : call.channels)
  {
    gradients.push_back(gradient.narrow(1, first, channels));
    first += channels;
  }
  return gradients;
}

bool
HasTwo(const OperationCall & call)
{
  return call.inputs.size() == 2;
}

double
GetOther(const OperationCall & call)
{
  return call.operation.GetNumber("other");
}

at::Tensor
Add(OperationCall & call)
{
  const at::Tensor & input = call.inputs[0];
  if (!HasTwo(call))
  {
    return call.inPlace ? input.add_(GetOther(call)) : input.add(GetOther(call));
  }
  return call.inPlace ? input.add_(call.inputs[1]) : input.add(call.inputs[1]);
}

std::vector<at::Tensor>
DifferentiateAdd(OperationCall & call, const at::Tensor & gradient)
{
  return std::vector<at::Tensor>(call.inputs.size(), gradient);
}

at::Tensor
Subtract(OperationCall & call)
{
  const at::Tensor & input = call.inputs[0];
  if (!HasTwo(call))
  {
    return call.inPlace ? input.sub_(GetOther(call)) : input.sub(GetOther(call));
  }
  return call.inPlace ? input.sub_(call.inputs[1]) : input.sub(call.inputs[1]);
}

std::vector<at::Tensor>
DifferentiateSubtract(OperationCall & call, const at::Tensor & gradient)
{
  if (!HasTwo(call))
  {
    return { gradient };
  }
  return { gradient, call.wanted[1] ? gradient.neg() : at::Tensor() };
}

at::Tensor
Multiply(OperationCall & call)
{
  const at::Tensor & input = call.inputs[0];
  if (!HasTwo(call))
  {
    return call.inPlace ? input.mul_(GetOther(call)) : input.mul(GetOther(call));
  }
  return call.inPlace ? input.mul_(call.inputs[1]) : input.mul(call.inputs[1]);
}

std::vector<at::Tensor>
DifferentiateMultiply(OperationCall & call, const at::Tensor & gradient)
{
  if (!HasTwo(call))
  {
    return { gradient.mul(GetOther(call)) };
  }
  at::Tensor second = call.wanted[1] ? gradient.mul(call.inputs[0]) : at::Tensor();
  if (second.defined() && call.channels[1] < call.channels[0]) // a map of one channel multiplies all of them
  {
    second = second.sum(1, true);
  }
  return { call.wanted[0] ? gradient.mul(call.inputs[1]) : at::Tensor(), second };
}

at::Tensor
AverageChannels(OperationCall & call)
{
  return MakeDense(call.inputs[0].mean(1, true));
}

std::vector<at::Tensor>
DifferentiateAverage(OperationCall & call, const at::Tensor & gradient)
{
  return { call.MakeInputMap(0).copy_(gradient.div(static_cast<double>(call.channels[0]))) };
}

at::Tensor
ChooseGreatestChannel(OperationCall & call)
{
  return MakeDense(std::get<0>(call.inputs[0].max(1, true)));
}

std::vector<at::Tensor>
DifferentiateGreatestChannel(OperationCall & call, const at::Tensor & gradient)
{
  at::Tensor ofInput = call.MakeInputMap(0).zero_();
  ofInput.scatter_(1, std::get<1>(call.inputs[0].max(1, true)), gradient);
  return { ofInput };
}

template <bool TIsGreater>
at::Tensor
ChooseOneOfBoth(OperationCall & call)
{
  const at::Tensor & input = call.inputs[0];
  if (!HasTwo(call))
  {
    return TIsGreater ? input.clamp_min(GetOther(call)) : input.clamp_max(GetOther(call));
  }
  return TIsGreater ? at::maximum(input, call.inputs[1]) : at::minimum(input, call.inputs[1]);
}

/** Two values that are the same have half of the gradient each, as in PyTorch. */
template <bool TIsGreater>
std::vector<at::Tensor>
DifferentiateOneOfBoth(OperationCall & call, const at::Tensor & gradient)
{
  const at::Tensor & input = call.inputs[0];
  if (!HasTwo(call))
  {
    const double other = GetOther(call);
    return { gradient.mul((TIsGreater ? input.ge(other) : input.le(other)).to(gradient.scalar_type())) };
  }
  const at::Tensor & second = call.inputs[1];
  at::Tensor         share = (TIsGreater ? input.gt(second) : input.lt(second)).to(gradient.scalar_type());
  share.add_(input.eq(second).to(gradient.scalar_type()), 0.5);
  at::Tensor first = gradient.mul(share);
  return { first, call.wanted[1] ? gradient.sub(first) : at::Tensor() };
}

const TorchOperation Concatenation("cat", &Concatenate, &DifferentiateConcatenation);
const TorchOperation Addition("add", &Add, &DifferentiateAdd);
const TorchOperation Subtraction("sub", &Subtract, &DifferentiateSubtract);
const TorchOperation Multiplication("mul", &Multiply, &DifferentiateMultiply);
const TorchOperation ChannelMean("channel_mean", &AverageChannels, &DifferentiateAverage);
const TorchOperation ChannelMaximum("channel_max", &ChooseGreatestChannel, &DifferentiateGreatestChannel);
const TorchOperation Maximum("maximum", &ChooseOneOfBoth<true>, &DifferentiateOneOfBoth<true>);
const TorchOperation Minimum("minimum", &ChooseOneOfBoth<false>, &DifferentiateOneOfBoth<false>);

} // namespace
} // namespace gigapixel::torchmodule

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"

#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>

#include <array>

namespace gigapixel::torchmodule
{
namespace
{

/** What an array's gradient is of what each value of the map gives: over the map, or where the array has one number
 * over the channels as well. */
at::Tensor
SumFor(const at::Tensor & array, const at::Tensor & given)
{
  return array.numel() == given.size(1) ? given.sum(GetAllButChannels(given)) : given.sum().view({ 1 });
}

/** A factor and a term for each channel, or one for all: affine, and a batch norm with frozen statistics. */
at::Tensor
ScaleAndShift(OperationCall & call)
{
  const at::Tensor weight = AlongChannels(call.GetWeight("weight"), call.operation.axes), bias = call.GetWeight("bias");
  at::Tensor       output = call.inPlace ? call.inputs[0].mul_(weight) : call.inputs[0].mul(weight);
  return bias.defined() ? output.add_(AlongChannels(bias, call.operation.axes)) : output;
}

std::vector<at::Tensor>
DifferentiateScaleAndShift(OperationCall & call, const at::Tensor & gradient)
{
  call.weightGradients["weight"] = SumFor(call.GetWeight("weight"), gradient.mul(call.inputs[0]));
  if (call.GetWeight("bias").defined())
  {
    call.weightGradients["bias"] = SumFor(call.GetWeight("bias"), gradient);
  }
  return { call.wanted[0] ? gradient.mul(AlongChannels(call.GetWeight("weight"), call.operation.axes)) : at::Tensor() };
}

/** One term for all. */
at::Tensor
Shift(OperationCall & call)
{
  const at::Tensor bias = call.GetWeight("bias");
  return call.inPlace ? call.inputs[0].add_(bias) : call.inputs[0].add(bias);
}

std::vector<at::Tensor>
DifferentiateShift(OperationCall & call, const at::Tensor & gradient)
{
  call.weightGradients["bias"] = gradient.sum().view({ 1 });
  return { call.wanted[0] ? gradient.clone() : at::Tensor() };
}

// Channels as the last dimension.
at::Tensor
ToRows(const at::Tensor & map)
{
  return MakeDense(map).movedim(1, -1);
}

at::Tensor
FromRows(const at::Tensor & rows)
{
  return rows.movedim(-1, 1);
}

/** Each pixel's channels get mean 0 and deviation 1. */
at::Tensor
NormalizeLayer(OperationCall & call)
{
  auto [output, mean, deviation] = at::native_layer_norm(ToRows(call.inputs[0]),
                                                         { call.channels[0] },
                                                         call.GetWeight("weight"),
                                                         call.GetWeight("bias"),
                                                         call.operation.GetNumber("eps"));
  if (call.step.keeps == Keeps::Input)
  {
    call.kept = { mean, deviation };
  }
  return FromRows(output);
}

std::vector<at::Tensor>
DifferentiateLayer(OperationCall & call, const at::Tensor & gradient)
{
  const at::Tensor weight = call.GetWeight("weight");
  auto [input, scale, shift] =
    at::native_layer_norm_backward(ToRows(gradient),
                                   ToRows(call.inputs[0]),
                                   { call.channels[0] },
                                   call.kept[0],
                                   call.kept[1],
                                   weight,
                                   call.GetWeight("bias"),
                                   std::array<bool, 3>{ call.wanted[0], weight.defined(), weight.defined() });
  if (weight.defined())
  {
    call.weightGradients["weight"] = scale;
    call.weightGradients["bias"] = shift;
  }
  return { call.wanted[0] ? FromRows(input) : at::Tensor() };
}

const TorchOperation BatchNorm("batch_norm", &ScaleAndShift, &DifferentiateScaleAndShift);
const TorchOperation Affine("affine", &ScaleAndShift, &DifferentiateScaleAndShift);
const TorchOperation ShiftAll("shift", &Shift, &DifferentiateShift);
const TorchOperation LayerNorm("layer_norm", &NormalizeLayer, &DifferentiateLayer);

} // namespace
} // namespace gigapixel::torchmodule

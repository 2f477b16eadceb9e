/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"

#include <ATen/ops/pixel_shuffle.h>
#include <ATen/ops/pixel_unshuffle.h>

namespace gigapixel::torchmodule
{
namespace
{

std::int64_t
GetFactor(const OperationCall & call)
{
  return call.operation.GetInteger("upscale_factor");
}

/** What the part of the input that is read becomes: the output, and perhaps a few pixels around it. */
Box
GetShuffled(const OperationCall & call)
{
  Box box = call.step.inputs.front();
  for (Interval & interval : box)
  {
    interval = { interval.begin * GetFactor(call), interval.end * GetFactor(call) };
  }
  return box;
}

at::Tensor
Shuffle(OperationCall & call)
{
  const at::Tensor shuffled = at::pixel_shuffle(call.inputs[0], GetFactor(call));
  return MakeDense(Show(shuffled, GetShuffled(call), call.step.output));
}

std::vector<at::Tensor>
DifferentiateShuffle(OperationCall & call, const at::Tensor & gradient)
{
  return { at::pixel_unshuffle(Show(gradient, call.step.output, GetShuffled(call)), GetFactor(call)) };
}

const TorchOperation PixelShuffle("pixel_shuffle", &Shuffle, &DifferentiateShuffle);

} // namespace
} // namespace gigapixel::torchmodule

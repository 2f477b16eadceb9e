/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>

namespace gigapixel::torchmodule
{
namespace
{

// Of operations with a second input, whose size alone counts, only the first one has a gradient.
std::vector<at::Tensor>
GiveFirst(const OperationCall & call, at::Tensor gradient)
{
  std::vector<at::Tensor> gradients(call.inputs.size());
  gradients[0] = std::move(gradient);
  return gradients;
}

/** Where pad's output lies in the coordinates of its input. */
Box
GetPadded(const OperationCall & call)
{
  Box padded = call.step.output;
  for (int axis = 0; axis < call.operation.axes; ++axis)
  {
    const std::int64_t before = call.operation.GetAlong("before", axis);
    padded[axis] = { padded[axis].begin - before, padded[axis].end - before };
  }
  return padded;
}

at::Tensor
Pad(OperationCall & call)
{
  const std::string mode = call.operation.GetWord("mode");
  return mode == "constant"
           ? Show(call.inputs[0], call.step.inputs.front(), GetPadded(call), call.operation.GetNumber("value"))
           : ShowMirrored(call, call.inputs[0], GetPadded(call), mode);
}

std::vector<at::Tensor>
DifferentiatePad(OperationCall & call, const at::Tensor & gradient)
{
  const std::string mode = call.operation.GetWord("mode");
  return GiveFirst(call,
                   mode == "constant" ? Show(gradient, GetPadded(call), call.step.inputs.front())
                                      : DifferentiateMirrored(call, gradient, GetPadded(call), mode));
}

at::Tensor
Crop(OperationCall & call)
{
  return call.inputs[0];
}

std::vector<at::Tensor>
DifferentiateCrop(OperationCall & call, const at::Tensor & gradient)
{
  return GiveFirst(call, gradient);
}

at::Tensor
ChooseSteps(const OperationCall & call, at::Tensor map)
{
  for (int axis = 0; axis < call.operation.axes; ++axis)
  {
    const int dimension = GetDimension(axis);
    map = map.slice(dimension, 0, map.size(dimension), call.operation.GetAlong("step", axis));
  }
  return map;
}

at::Tensor
Slice(OperationCall & call)
{
  return ChooseSteps(call, call.inputs[0]);
}

std::vector<at::Tensor>
DifferentiateSlice(OperationCall & call, const at::Tensor & gradient)
{
  at::Tensor input = call.MakeInputMap(0).zero_();
  ChooseSteps(call, input).copy_(gradient);
  return { input };
}

at::Tensor
PadChannels(OperationCall & call)
{
  const std::int64_t before = call.operation.GetInteger("before"), after = call.operation.GetInteger("after");
  at::Tensor         output = MakeMap(before + call.channels[0] + after, call.step.output, call.options).zero_();
  output.narrow(1, before, call.channels[0]).copy_(call.inputs[0]);
  return output;
}

std::vector<at::Tensor>
DifferentiatePadChannels(OperationCall & call, const at::Tensor & gradient)
{
  return { gradient.narrow(1, call.operation.GetInteger("before"), call.channels[0]) };
}

at::Tensor
SliceChannels(OperationCall & call)
{
  const std::int64_t channels = call.operation.GetInteger("channels");
  at::Tensor         output = MakeMap(channels, call.step.output, call.options);
  return output.copy_(call.inputs[0].narrow(1, call.operation.GetInteger("start"), channels));
}

std::vector<at::Tensor>
DifferentiateSliceChannels(OperationCall & call, const at::Tensor & gradient)
{
  at::Tensor input = call.MakeInputMap(0).zero_();
  input.narrow(1, call.operation.GetInteger("start"), gradient.size(1)).copy_(gradient);
  return { input };
}

const TorchOperation Padding("pad", &Pad, &DifferentiatePad);
const TorchOperation Cropping("crop", &Crop, &DifferentiateCrop);
const TorchOperation Slicing("slice", &Slice, &DifferentiateSlice);
const TorchOperation ChannelPadding("pad_channels", &PadChannels, &DifferentiatePadChannels);
const TorchOperation ChannelSlicing("slice_channels", &SliceChannels, &DifferentiateSliceChannels);

} // namespace
} // namespace gigapixel::torchmodule

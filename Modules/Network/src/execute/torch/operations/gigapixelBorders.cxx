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
  for (int axis = 0; axis < NetworkGraph::NumberOfAxes; ++axis)
  {
    const std::int64_t before = call.operation.GetAlong("before", axis);
    padded[axis] = { padded[axis].begin - before, padded[axis].end - before };
  }
  return padded;
}

std::vector<std::int64_t>
GetMirroredIndices(const OperationCall & call, int axis)
{
  const Interval            padded = GetPadded(call)[axis];
  std::vector<std::int64_t> indices;
  for (std::int64_t i = padded.begin; i < padded.end; ++i)
  {
    const std::int64_t real = GetMirrored(call.operation.GetWord("mode"), i, call.step.sizes[axis].inputs.front());
    indices.push_back(real - call.step.inputs.front()[axis].begin);
  }
  return indices;
}

at::Tensor
Pad(OperationCall & call)
{
  if (call.operation.GetWord("mode") == "constant")
  {
    return Show(call.inputs[0], call.step.inputs.front(), GetPadded(call), call.operation.GetNumber("value"));
  }
  return Gather(Gather(call.inputs[0], 0, GetMirroredIndices(call, 0)), 1, GetMirroredIndices(call, 1));
}

std::vector<at::Tensor>
DifferentiatePad(OperationCall & call, const at::Tensor & gradient)
{
  const Box & box = call.step.inputs.front();
  if (call.operation.GetWord("mode") == "constant")
  {
    return GiveFirst(call, Show(gradient, GetPadded(call), box));
  }
  const at::Tensor rows = Scatter(gradient, 1, GetMirroredIndices(call, 1), box[1].GetLength());
  return GiveFirst(call, Scatter(rows, 0, GetMirroredIndices(call, 0), box[0].GetLength()));
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
  for (int axis = 0; axis < NetworkGraph::NumberOfAxes; ++axis)
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

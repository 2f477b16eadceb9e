/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_bilinear2d_backward.h>
#include <ATen/ops/upsample_nearest2d.h>

#include <cmath>

namespace gigapixel::torchmodule
{
namespace
{

bool
IsNearest(const OperationCall & call)
{
  return call.operation.GetWord("mode") == "nearest";
}

/** By the library's operator on the input's part: what it gets wrong at a part's ends that are not the map's is not
 * asked for. */
bool
Doubles(const OperationCall & call)
{
  return DoublesMaps(call.operation, call.step.sizes);
}

Box
GetDoubled(const Box & input)
{
  Box doubled = input;
  for (Interval & interval : doubled)
  {
    interval = { 2 * interval.begin, 2 * interval.end };
  }
  return doubled;
}

std::vector<std::int64_t>
GetShape(std::int64_t channels, const Box & box)
{
  return { 1, channels, box[0].GetLength(), box[1].GetLength() };
}

/** Of each output along an axis the two inputs that it lies between, in the input's part, and the second one's share.
 */
struct Neighbors
{
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> after;
  std::vector<double>       share;

  Neighbors(const OperationCall & call, int axis)
  {
    const AxisSizes &  sizes = call.step.sizes[axis];
    const std::int64_t size = sizes.inputs.front(), first = call.step.inputs.front()[axis].begin;
    for (std::int64_t i = call.step.output[axis].begin; i < call.step.output[axis].end; ++i)
    {
      if (IsNearest(call))
      {
        before.push_back(GetNearestSource(call.operation, axis, i, size, sizes.output) - first);
        continue;
      }
      const double source = GetBilinearSource(call.operation, axis, i, size, sizes.output);
      const auto   index = std::min(static_cast<std::int64_t>(std::floor(source)), size - 1);
      before.push_back(index - first);
      share.push_back(source - static_cast<double>(index));
      // Where the second one has no share, the part may end before it.
      after.push_back((share.back() > 0 ? std::min(index + 1, size - 1) : index) - first);
    }
  }

  /** The shares, to multiply a map with. */
  at::Tensor
  GetShare(int axis, const at::TensorOptions & options) const
  {
    const at::Tensor values = at::tensor(share, at::kDouble).to(options);
    return axis == 0 ? values.view({ 1, 1, -1, 1 }) : values.view({ 1, 1, 1, -1 });
  }
};

at::Tensor
InterpolateAlong(const OperationCall & call, int axis, const at::Tensor & map)
{
  const Neighbors neighbors(call, axis);
  at::Tensor      before = Gather(map, axis, neighbors.before);
  if (IsNearest(call))
  {
    return before;
  }
  const at::Tensor share = neighbors.GetShare(axis, call.options);
  return before.mul_(share.neg().add_(1)).add_(Gather(map, axis, neighbors.after).mul_(share));
}

at::Tensor
DifferentiateAlong(const OperationCall & call, int axis, const at::Tensor & gradient)
{
  const Neighbors    neighbors(call, axis);
  const std::int64_t length = call.step.inputs.front()[axis].GetLength();
  if (IsNearest(call))
  {
    return Scatter(gradient, axis, neighbors.before, length);
  }
  const at::Tensor share = neighbors.GetShare(axis, call.options);
  const at::Tensor sum = Scatter(gradient.mul(share.neg().add_(1)), axis, neighbors.before, length);
  return sum.add_(Scatter(gradient.mul(share), axis, neighbors.after, length));
}

at::Tensor
Interpolate(OperationCall & call)
{
  if (!Doubles(call))
  {
    return InterpolateAlong(call, 1, InterpolateAlong(call, 0, call.inputs[0]));
  }
  const Box             doubled = GetDoubled(call.step.inputs.front());
  const at::Tensor      input = MakeDense(call.inputs[0]);
  const auto            shape = GetShape(input.size(1), doubled);
  const at::IntArrayRef size = at::IntArrayRef(shape).slice(2);
  const at::Tensor      all = IsNearest(call) ? at::upsample_nearest2d(input, size, 2.0, 2.0)
                                              : at::upsample_bilinear2d(input, size, false, 2.0, 2.0);
  return Show(all, doubled, call.step.output);
}

std::vector<at::Tensor>
DifferentiateInterpolation(OperationCall & call, const at::Tensor & gradient)
{
  std::vector<at::Tensor> gradients(call.inputs.size());
  if (!Doubles(call))
  {
    gradients[0] = DifferentiateAlong(call, 0, DifferentiateAlong(call, 1, gradient));
    return gradients;
  }
  const Box             doubled = GetDoubled(call.step.inputs.front());
  const at::Tensor      all = MakeDense(Show(gradient, call.step.output, doubled));
  const auto            input = GetShape(call.channels.front(), call.step.inputs.front());
  const auto            shape = GetShape(call.channels.front(), doubled);
  const at::IntArrayRef size = at::IntArrayRef(shape).slice(2);
  // Of four copies of a value it is their sum: LibTorch 1.13's own function rounds each addition to it in bf16.
  gradients[0] = IsNearest(call) ? at::avg_pool2d(all, { 2, 2 }, { 2, 2 }, { 0, 0 }, false, true, 1)
                                 : at::upsample_bilinear2d_backward(all, size, input, false, 2.0, 2.0);
  return gradients;
}

const TorchOperation Interpolation("interpolate", &Interpolate, &DifferentiateInterpolation);

} // namespace
} // namespace gigapixel::torchmodule

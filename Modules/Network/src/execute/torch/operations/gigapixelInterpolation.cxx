/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_bilinear2d_backward.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/upsample_nearest3d.h>
#include <ATen/ops/upsample_trilinear3d.h>
#include <ATen/ops/upsample_trilinear3d_backward.h>

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
      const double source = GetLinearSource(call.operation, axis, i, size, sizes.output);
      const auto   index = std::min(static_cast<std::int64_t>(std::floor(source)), size - 1);
      before.push_back(index - first);
      share.push_back(source - static_cast<double>(index));
      // Where the second one has no share, the part may end before it.
      after.push_back((share.back() > 0 ? std::min(index + 1, size - 1) : index) - first);
    }
  }

  /** The shares, to multiply a map with. */
  at::Tensor
  GetShare(int axis, int axes, const at::TensorOptions & options) const
  {
    return AlongAxis(at::tensor(share, at::kDouble).to(options), axis, axes);
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
  const at::Tensor share = neighbors.GetShare(axis, call.operation.axes, call.options);
  return before.mul_(share.neg().add_(1)).add_(Gather(map, axis, neighbors.after).mul_(share));
}

at::Tensor
DifferentiateAlong(const OperationCall & call, int axis, const at::Tensor & gradient)
{
  const Neighbors    neighbors(call, axis);
  const std::int64_t length = call.step.inputs.front()[axis].GetLength();
  if (IsNearest(call))
  {
    return Scatter(gradient, axis, neighbors.before, length, call.plain);
  }
  const at::Tensor share = neighbors.GetShare(axis, call.operation.axes, call.options);
  const at::Tensor sum = Scatter(gradient.mul(share.neg().add_(1)), axis, neighbors.before, length, call.plain);
  return sum.add_(Scatter(gradient.mul(share), axis, neighbors.after, length, call.plain));
}

at::Tensor
Interpolate(OperationCall & call)
{
  if (!Doubles(call))
  {
    at::Tensor map = call.inputs[0];
    for (int axis = 0; axis < call.operation.axes; ++axis)
    {
      map = InterpolateAlong(call, axis, map);
    }
    return map;
  }
  const Box             doubled = GetDoubled(call.step.inputs.front());
  const at::Tensor      input = MakeDense(call.inputs[0]);
  const auto            shape = GetShape(input.size(1), doubled);
  const at::IntArrayRef size = at::IntArrayRef(shape).slice(2);
  const bool            flat = call.operation.axes == 2;
  const at::Tensor      all = IsNearest(call) ? (flat ? at::upsample_nearest2d(input, size, 2.0, 2.0)
                                                      : at::upsample_nearest3d(input, size, 2.0, 2.0, 2.0))
                                              : (flat ? at::upsample_bilinear2d(input, size, false, 2.0, 2.0)
                                                      : at::upsample_trilinear3d(input, size, false, 2.0, 2.0, 2.0));
  return Show(all, doubled, call.step.output);
}

/** Of a map that is made twice as large along an axis, whose outputs are at a quarter and three quarters between two
 * inputs. In one order, whereas LibTorch's operators on GPUs add in any. */
at::Tensor
DifferentiateDoubledAlong(int axis, const at::Tensor & gradient)
{
  const int          dimension = GetDimension(axis);
  const std::int64_t length = gradient.size(dimension) / 2;
  const at::Tensor   even = gradient.slice(dimension, 0, 2 * length, 2);
  const at::Tensor   odd = gradient.slice(dimension, 1, 2 * length, 2);
  at::Tensor         sum = even.add(odd).mul_(0.75);
  const auto         give = [&](std::int64_t to, const at::Tensor & from, std::int64_t first, std::int64_t number) {
    sum.narrow(dimension, to, number).add_(from.narrow(dimension, first, number), 0.25);
  };
  give(0, even, 1, length - 1);
  give(0, even, 0, 1); // beyond the ends there are copies of the last pixels
  give(1, odd, 0, length - 1);
  give(length - 1, odd, length - 1, 1);
  return sum;
}

std::vector<at::Tensor>
DifferentiateInterpolation(OperationCall & call, const at::Tensor & gradient)
{
  std::vector<at::Tensor> gradients(call.inputs.size());
  if (!Doubles(call))
  {
    gradients[0] = gradient;
    for (int axis = call.operation.axes; axis-- > 0;)
    {
      gradients[0] = DifferentiateAlong(call, axis, gradients[0]);
    }
    return gradients;
  }
  const Box        doubled = GetDoubled(call.step.inputs.front());
  const at::Tensor all = MakeDense(Show(gradient, call.step.output, doubled));
  if (call.plain && !IsNearest(call))
  {
    gradients[0] = all;
    for (int axis = call.operation.axes; axis-- > 0;)
    {
      gradients[0] = DifferentiateDoubledAlong(axis, gradients[0]);
    }
    return gradients;
  }
  const auto            input = GetShape(call.channels.front(), call.step.inputs.front());
  const auto            shape = GetShape(call.channels.front(), doubled);
  const at::IntArrayRef size = at::IntArrayRef(shape).slice(2);
  // Of copies of a value it is their sum: LibTorch 1.13's own function rounds each addition to it in bf16.
  const bool                      flat = call.operation.axes == 2;
  const std::vector<std::int64_t> two(call.operation.axes, 2), none(call.operation.axes, 0);
  gradients[0] = IsNearest(call) ? (flat ? &at::avg_pool2d : &at::avg_pool3d)(all, two, two, none, false, true, 1)
                 : flat          ? at::upsample_bilinear2d_backward(all, size, input, false, 2.0, 2.0)
                                 : at::upsample_trilinear3d_backward(all, size, input, false, 2.0, 2.0, 2.0);
  return gradients;
}

const TorchOperation Interpolation("interpolate", &Interpolate, &DifferentiateInterpolation);

} // namespace
} // namespace gigapixel::torchmodule

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlices.h"
#include "gigapixelWindowPadding.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool2d_backward.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/avg_pool3d_backward.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>
#include <ATen/ops/max_pool3d_with_indices_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <limits>

namespace gigapixel::torchmodule
{
namespace
{

/** Of a volume: slice by slice, and of these along z. LibTorch 1.13's own function takes 10 to 50 times as long as the
 * pixels take to be read. Of equal values the first one counts, in the order of the map's pixels. */
std::tuple<at::Tensor, at::Tensor>
TakeGreatestBySlices(const WindowPadding & window, const at::Tensor & input, const Box & part)
{
  const std::int64_t pixels = input.size(3) * input.size(4); // of a slice
  at::Tensor         output = MakeMap(input.size(1), part, input.options());
  at::Tensor         indices = MakeMap(input.size(1), part, input.options().dtype(at::kLong)).zero_();
  output.fill_(-std::numeric_limits<double>::infinity());
  const at::Tensor from = ToSlices(input), to = ToSlices(output), toIndices = ToSlices(indices);
  for (std::int64_t tap = 0; tap < window.kernel[0]; ++tap)
  {
    const SlicesOfTap slices =
      GetSlicesOfTap(tap, from.size(0), to.size(0), window.stride[0], window.dilation[0], window.padding[0]);
    if (slices.number == 0)
    {
      continue;
    }
    auto [values, places] = at::max_pool2d_with_indices(MakeDenseSlices(slices.OfInput(from)),
                                                        WithoutDepth(window.kernel),
                                                        WithoutDepth(window.stride),
                                                        WithoutDepth(window.padding),
                                                        WithoutDepth(window.dilation),
                                                        false);
    const at::Tensor first =
      at::arange(slices.number, input.options().dtype(at::kLong)).mul_(slices.stride).add_(slices.firstInput);
    places.add_(first.mul_(pixels).view({ -1, 1, 1, 1 }));
    const at::Tensor greatest = slices.OfOutput(to), ofGreatest = slices.OfOutput(toIndices);
    // What is no number stays to be seen.
    const at::Tensor greater = values.gt(greatest).logical_or_(values.ne(values));
    greatest.copy_(at::where(greater, values, greatest));
    ofGreatest.copy_(at::where(greater, places, ofGreatest));
  }
  return { output, indices };
}

at::Tensor
TakeGreatest(OperationCall & call)
{
  const WindowPadding window(call);
  const at::Tensor    input = window.Pad(call.inputs[0], -std::numeric_limits<double>::infinity());
  auto [output, indices] =
    call.operation.axes == 2
      ? at::max_pool2d_with_indices(input, window.kernel, window.stride, window.padding, window.dilation, false)
      : TakeGreatestBySlices(window, input, call.step.output);
  if (call.step.keeps == Keeps::InputAndIndices)
  {
    call.kept = { indices };
  }
  return output;
}

/** \class Taps
 * \brief The places of a window, of each of which every output sees another pixel: what outputs give to pixels is added
 * place by place, always in this order. LibTorch's own operators on GPUs add to one pixel in any order. */
class Taps
{
public:
  /** \param map as WindowPadding::MakeMap() makes it: the input as the operator sees it */
  Taps(const WindowPadding & window, const at::Tensor & map, const at::Tensor & output)
    : m_Window(window)
    , m_Map(map)
    , m_Outputs(output.sizes().slice(2).vec())
  {}

  /** \param part (indices in the map of what outputs see there) the outputs' part of their gradient */
  template <typename F>
  at::Tensor
  AddUp(const F & part) const
  {
    const auto axes = static_cast<int>(m_Outputs.size());
    at::Tensor sums = MakePadded();
    for (const std::vector<std::int64_t> & tap : GetAll())
    {
      at::Tensor seen = sums;
      for (int axis = 0; axis < axes; ++axis)
      {
        const std::int64_t first = tap[axis] * m_Window.dilation[axis], step = m_Window.stride[axis];
        seen = seen.slice(GetDimension(axis), first, first + (m_Outputs[axis] - 1) * step + 1, step);
      }
      seen.add_(part(GetIndices(tap)));
    }
    for (int axis = 0; axis < axes; ++axis)
    {
      sums = sums.narrow(GetDimension(axis), m_Window.padding[axis], m_Map.size(GetDimension(axis)));
    }
    return sums;
  }

private:
  at::Tensor
  MakePadded() const
  {
    std::vector<std::int64_t> shape = m_Map.sizes().vec();
    for (std::size_t axis = 0; axis < m_Outputs.size(); ++axis)
    {
      shape[2 + axis] += 2 * m_Window.padding[axis];
    }
    const auto format = m_Outputs.size() == 2 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::ChannelsLast3d;
    return at::empty(shape, m_Map.options().memory_format(format)).zero_();
  }

  std::vector<std::vector<std::int64_t>>
  GetAll() const
  {
    std::vector<std::vector<std::int64_t>> taps{ {} };
    for (const std::int64_t length : m_Window.kernel)
    {
      std::vector<std::vector<std::int64_t>> longer;
      for (const std::vector<std::int64_t> & tap : taps)
      {
        for (std::int64_t i = 0; i < length; ++i)
        {
          longer.push_back(tap);
          longer.back().push_back(i);
        }
      }
      taps = longer;
    }
    return taps;
  }

  /** Row by row, as max_pool2d counts them. */
  at::Tensor
  GetIndices(const std::vector<std::int64_t> & tap) const
  {
    const auto              axes = static_cast<int>(m_Outputs.size());
    const at::TensorOptions options = m_Map.options().dtype(at::kLong);
    at::Tensor              indices = at::zeros(std::vector<std::int64_t>(GetDimension(axes), 1), options);
    for (int axis = 0; axis < axes; ++axis)
    {
      const std::int64_t first = tap[axis] * m_Window.dilation[axis] - m_Window.padding[axis];
      const at::Tensor   places = at::arange(m_Outputs[axis], options).mul_(m_Window.stride[axis]).add_(first);
      indices = indices.mul(m_Map.size(GetDimension(axis))).add(AlongAxis(places, axis, axes));
    }
    return indices;
  }

  const WindowPadding &           m_Window;
  const at::Tensor &              m_Map;
  const std::vector<std::int64_t> m_Outputs;
};

std::vector<at::Tensor>
DifferentiateGreatest(OperationCall & call, const at::Tensor & gradient)
{
  const WindowPadding window(call);
  if (call.plain)
  {
    const at::Tensor map = window.MakeMap(), none = at::zeros({}, gradient.options());
    return { window.Unpad(Taps(window, map, gradient).AddUp([&](const at::Tensor & indices) {
      return at::where(call.kept[0].eq(indices), gradient, none);
    })) };
  }
  at::Tensor input = window.MakeMap();
  if (call.operation.axes == 2)
  {
    at::max_pool2d_with_indices_backward_out(input,
                                             MakeDense(gradient),
                                             input,
                                             window.kernel,
                                             window.stride,
                                             window.padding,
                                             window.dilation,
                                             false,
                                             call.kept[0]);
    return { window.Unpad(input) };
  }
  // Into maps with channels beside each other it would write, and read indices, as if they were not.
  input = at::max_pool3d_with_indices_backward(
    gradient, input, window.kernel, window.stride, window.padding, window.dilation, false, call.kept[0].contiguous());
  return { window.Unpad(input) };
}

/** How many pixels each output along an axis is the mean of: those of the map, or also those of its padding. */
std::vector<double>
CountPixels(const OperationCall & call, int axis)
{
  const std::int64_t  kernel = call.operation.GetAlong("kernel_size", axis);
  const std::int64_t  stride = call.operation.GetAlong("stride", axis);
  const std::int64_t  padding = call.operation.GetAlong("padding", axis);
  const std::int64_t  size = call.step.sizes[axis].inputs.front();
  const bool          padded = call.operation.GetFlag("count_include_pad");
  std::vector<double> counts;
  for (std::int64_t i = call.step.output[axis].begin; i < call.step.output[axis].end; ++i)
  {
    const std::int64_t begin = i * stride - padding;
    const std::int64_t end = std::min(begin + kernel, size + padding);
    counts.push_back(
      static_cast<double>(padded ? end - begin : std::min(end, size) - std::max<std::int64_t>(begin, 0)));
  }
  return counts;
}

at::Tensor
GetDivisors(const OperationCall & call)
{
  const int  axes = call.operation.axes;
  at::Tensor divisors = at::ones(std::vector<std::int64_t>(GetDimension(axes), 1), call.options);
  for (int axis = 0; axis < axes; ++axis) // whole numbers: exact
  {
    divisors = divisors.mul(AlongAxis(at::tensor(CountPixels(call, axis), call.options), axis, axes));
  }
  return divisors;
}

/** Zeros add nothing to sums, whoever adds them; what a sum is divided by is known here alone. */
constexpr std::int64_t SumUp = 1;

at::Tensor
TakeMean(OperationCall & call)
{
  const WindowPadding window(call);
  const auto          pool = call.operation.axes == 2 ? &at::avg_pool2d : &at::avg_pool3d;
  return pool(window.Pad(call.inputs[0]), window.kernel, window.stride, window.padding, false, true, SumUp)
    .div_(GetDivisors(call));
}

std::vector<at::Tensor>
DifferentiateMean(OperationCall & call, const at::Tensor & gradient)
{
  const WindowPadding window(call);
  at::Tensor sums = window.MakeMap(); // which the operator also takes for the input, of which it sees the shape
  if (call.plain)
  {
    const at::Tensor part = gradient.div(GetDivisors(call));
    return { window.Unpad(Taps(window, sums, part).AddUp([&](const at::Tensor &) { return part; })) };
  }
  if (call.operation.axes == 2)
  {
    at::avg_pool2d_backward_out(sums,
                                MakeDense(gradient.div(GetDivisors(call))),
                                sums,
                                window.kernel,
                                window.stride,
                                window.padding,
                                false,
                                true,
                                SumUp);
    return { window.Unpad(sums) };
  }
  sums = at::avg_pool3d_backward(
    gradient.div(GetDivisors(call)), sums, window.kernel, window.stride, window.padding, false, true, SumUp);
  return { window.Unpad(sums) };
}

const TorchOperation MaxPooling("max_pool2d", &TakeGreatest, &DifferentiateGreatest);
const TorchOperation MeanPooling("avg_pool2d", &TakeMean, &DifferentiateMean);
const TorchOperation MaxPoolingOfVolumes("max_pool3d", &TakeGreatest, &DifferentiateGreatest);
const TorchOperation MeanPoolingOfVolumes("avg_pool3d", &TakeMean, &DifferentiateMean);

} // namespace
} // namespace gigapixel::torchmodule

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"
#include "gigapixelTorchConvolution.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace gigapixel::torchmodule
{
namespace
{

using Numbers = std::vector<std::int64_t>;

/** Windows that spread over many outputs: computed for all outputs that the input's part reaches, and cropped. */
class Spread
{
public:
  explicit Spread(const OperationCall & call)
    : m_Call(call)
    , m_Reached(call.operation.axes)
  {
    for (int axis = 0; axis < call.operation.axes; ++axis)
    {
      m_Stride.push_back(call.operation.GetAlong("stride", axis));
      m_Dilation.push_back(call.operation.GetAlong("dilation", axis));
      const std::int64_t reach = (call.operation.GetAlong("kernel_size", axis) - 1) * m_Dilation[axis] + 1;
      const std::int64_t padding = call.operation.GetAlong("padding", axis);
      const Interval &   input = call.step.inputs.front()[axis];
      m_Reached[axis] = { input.begin * m_Stride[axis] - padding, (input.end - 1) * m_Stride[axis] - padding + reach };
    }
  }

  at::Tensor
  ComputeOutput() const
  {
    // Outputs that no input reaches are the bias alone.
    const at::Tensor sums = MakeConvolution().Compute(MakeDense(m_Call.inputs[0]));
    const at::Tensor shown = MakeDense(Show(sums, m_Reached, m_Call.step.output));
    const at::Tensor bias = m_Call.GetWeight("bias");
    return bias.defined() ? shown.add_(AlongChannels(bias, m_Call.operation.axes)) : shown;
  }

  at::Tensor
  Differentiate(OperationCall & call, const at::Tensor & gradient) const
  {
    const at::Tensor spread = MakeDense(Show(gradient, m_Call.step.output, m_Reached));
    const auto       gradients = MakeConvolution().Differentiate(spread, MakeDense(m_Call.inputs[0]), call.wanted[0]);
    call.weightGradients["weight"] = gradients.weight;
    if (m_Call.GetWeight("bias").defined())
    {
      call.weightGradients["bias"] = gradient.sum(GetAllButChannels(gradient));
    }
    return gradients.input;
  }

private:
  /** Without its bias. */
  TorchConvolution
  MakeConvolution() const
  {
    return { m_Call.GetWeight("weight"),
             {},
             m_Stride,
             Numbers(m_Stride.size(), 0),
             m_Dilation,
             m_Call.operation.GetInteger("groups"),
             true,
             m_Call.plain };
  }

  const OperationCall & m_Call;
  Numbers               m_Stride;
  Numbers               m_Dilation;
  Box                   m_Reached; ///< outputs that the input's part adds to
};

/** Windows that touch each other and do not overlap: each output is of one input, so that this is a 1x1 convolution to
 * all places of the window, whose channels are then put into these places. Much faster than LibTorch 1.13's transposed
 * convolution. */
class Tiling
{
public:
  explicit Tiling(const OperationCall & call)
    : m_Call(call)
    , m_Channels(call.operation.GetInteger("out_channels"))
  {
    for (int axis = 0; axis < call.operation.axes; ++axis)
    {
      m_Kernel.push_back(call.operation.GetAlong("kernel_size", axis));
      m_Places *= m_Kernel.back();
    }
  }

  at::Tensor
  ComputeOutput() const
  {
    const at::Tensor all = MakePoint().Compute(MakeDense(m_Call.inputs[0]));
    at::Tensor       output = MakeMap(m_Channels, m_Call.step.output, m_Call.options);
    ForEachPlace(MakeDense(all), output, [](const at::Tensor & place, const at::Tensor & part) { part.copy_(place); });
    return output;
  }

  at::Tensor
  Differentiate(OperationCall & call, const at::Tensor & gradient) const
  {
    const Box &      box = m_Call.step.inputs.front();
    const at::Tensor all = MakeMap(m_Places * m_Channels, box, m_Call.options).zero_();
    ForEachPlace(all, gradient, [](const at::Tensor & place, const at::Tensor & part) { place.copy_(part); });
    const TorchConvolution point = MakePoint();
    const auto             gradients = point.Differentiate(all, MakeDense(m_Call.inputs[0]), call.wanted[0]);
    Numbers                shape = m_Kernel;
    shape.insert(shape.end(), { m_Channels, m_Call.channels.front() });
    // The taps come last, behind input and output channels.
    call.weightGradients["weight"] = gradients.weight.reshape(shape).movedim({ -1, -2 }, { 0, 1 });
    if (point.bias.defined())
    {
      call.weightGradients["bias"] = gradients.bias.view({ m_Places, m_Channels }).sum(0);
    }
    return gradients.input;
  }

private:
  TorchConvolution
  MakePoint() const
  {
    const at::Tensor bias = m_Call.GetWeight("bias");
    const Numbers    ones(m_Kernel.size(), 1), none(m_Kernel.size(), 0);
    return { GetPointWeight(), bias.defined() ? bias.repeat({ m_Places }) : bias, ones, none, ones, 1, false,
             m_Call.plain };
  }

  /** Of the 1x1 convolution: an output channel for each place of the window and channel. */
  at::Tensor
  GetPointWeight() const
  {
    const at::Tensor weight = m_Call.GetWeight("weight").movedim({ 0, 1 }, { -1, -2 });
    Numbers          shape(GetDimension(m_Call.operation.axes), 1);
    shape[0] = m_Places * m_Channels;
    shape[1] = m_Call.channels.front();
    return MakeDense(weight.reshape(shape));
  }

  /** Calls f for each place of the window with what the map `all` has for it, and where that is in the output. */
  template <typename F>
  void
  ForEachPlace(const at::Tensor & all, const at::Tensor & output, const F & f) const
  {
    for (std::int64_t place = 0; place < m_Places; ++place)
    {
      at::Tensor   places = all.narrow(1, place * m_Channels, m_Channels);
      at::Tensor   part = output;
      std::int64_t rest = place;
      for (int axis = m_Call.operation.axes; axis-- > 0; rest /= m_Kernel[axis])
      {
        Choose(axis, rest % m_Kernel[axis], m_Kernel[axis], places, part);
      }
      f(places, part);
    }
  }

  /** The inputs along an axis whose output at `place` of the window is asked for, and these outputs. */
  void
  Choose(int axis, std::int64_t place, std::int64_t kernel, at::Tensor & places, at::Tensor & part) const
  {
    const Interval &   input = m_Call.step.inputs.front()[axis];
    const Interval &   output = m_Call.step.output[axis];
    const std::int64_t begin = std::max(input.begin, (output.begin - place + kernel - 1) / kernel);
    const std::int64_t end = std::max(begin, std::min(input.end, (output.end - 1 - place + kernel) / kernel));
    places = places.slice(GetDimension(axis), begin - input.begin, end - input.begin);
    const std::int64_t first = std::min(begin * kernel + place - output.begin, output.GetLength());
    part = part.slice(GetDimension(axis), first, std::min(first + (end - begin) * kernel, output.GetLength()), kernel);
  }

  const OperationCall & m_Call;
  std::int64_t          m_Channels;
  Numbers               m_Kernel;
  std::int64_t          m_Places{ 1 }; ///< of the window
};

at::Tensor
ConvolveTransposed(OperationCall & call)
{
  return HasTouchingWindows(call.operation) ? Tiling(call).ComputeOutput() : Spread(call).ComputeOutput();
}

std::vector<at::Tensor>
DifferentiateTransposed(OperationCall & call, const at::Tensor & gradient)
{
  return { HasTouchingWindows(call.operation) ? Tiling(call).Differentiate(call, gradient)
                                              : Spread(call).Differentiate(call, gradient) };
}

const TorchOperation TransposedConvolution("conv_transpose2d", &ConvolveTransposed, &DifferentiateTransposed);
const TorchOperation TransposedConvolutionOfVolumes("conv_transpose3d", &ConvolveTransposed, &DifferentiateTransposed);

} // namespace
} // namespace gigapixel::torchmodule

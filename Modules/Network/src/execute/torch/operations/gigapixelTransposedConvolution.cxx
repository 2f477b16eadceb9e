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
  {
    for (int axis = 0; axis < NetworkGraph::NumberOfAxes; ++axis)
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
    return bias.defined() ? shown.add_(bias.view({ 1, -1, 1, 1 })) : shown;
  }

  at::Tensor
  Differentiate(OperationCall & call, const at::Tensor & gradient) const
  {
    const at::Tensor spread = MakeDense(Show(gradient, m_Call.step.output, m_Reached));
    const auto       gradients = MakeConvolution().Differentiate(spread, MakeDense(m_Call.inputs[0]), call.wanted[0]);
    call.weightGradients["weight"] = gradients.weight;
    if (m_Call.GetWeight("bias").defined())
    {
      call.weightGradients["bias"] = gradient.sum({ 0, 2, 3 });
    }
    return gradients.input;
  }

private:
  /** Without its bias. */
  TorchConvolution
  MakeConvolution() const
  {
    return {
      m_Call.GetWeight("weight"), {}, m_Stride, { 0, 0 }, m_Dilation, m_Call.operation.GetInteger("groups"), true
    };
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
    , m_Height(call.operation.GetAlong("kernel_size", 0))
    , m_Width(call.operation.GetAlong("kernel_size", 1))
    , m_Channels(call.operation.GetInteger("out_channels"))
  {}

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
    const at::Tensor all = MakeMap(m_Height * m_Width * m_Channels, box, m_Call.options).zero_();
    ForEachPlace(all, gradient, [](const at::Tensor & place, const at::Tensor & part) { place.copy_(part); });
    const TorchConvolution point = MakePoint();
    const auto             gradients = point.Differentiate(all, MakeDense(m_Call.inputs[0]), call.wanted[0]);
    const Numbers          shape{ m_Height, m_Width, m_Channels, m_Call.channels.front() };
    call.weightGradients["weight"] = gradients.weight.reshape(shape).permute({ 3, 2, 0, 1 });
    if (point.bias.defined())
    {
      call.weightGradients["bias"] = gradients.bias.view({ m_Height * m_Width, m_Channels }).sum(0);
    }
    return gradients.input;
  }

private:
  TorchConvolution
  MakePoint() const
  {
    const at::Tensor bias = m_Call.GetWeight("bias");
    return {
      GetPointWeight(), bias.defined() ? bias.repeat({ m_Height * m_Width }) : bias, { 1, 1 }, { 0, 0 }, { 1, 1 }
    };
  }

  /** Of the 1x1 convolution: an output channel for each place of the window and channel. */
  at::Tensor
  GetPointWeight() const
  {
    const at::Tensor weight = m_Call.GetWeight("weight").permute({ 2, 3, 1, 0 });
    return MakeDense(weight.reshape({ m_Height * m_Width * m_Channels, m_Call.channels.front(), 1, 1 }));
  }

  /** Calls f for each place of the window with what the map `all` has for it, and where that is in the output. */
  template <typename F>
  void
  ForEachPlace(const at::Tensor & all, const at::Tensor & output, const F & f) const
  {
    for (std::int64_t y = 0; y < m_Height; ++y)
    {
      for (std::int64_t x = 0; x < m_Width; ++x)
      {
        at::Tensor places = all.narrow(1, (y * m_Width + x) * m_Channels, m_Channels);
        at::Tensor part = output;
        Choose(0, y, m_Height, places, part);
        Choose(1, x, m_Width, places, part);
        f(places, part);
      }
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
  std::int64_t          m_Height;
  std::int64_t          m_Width;
  std::int64_t          m_Channels;
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

} // namespace
} // namespace gigapixel::torchmodule

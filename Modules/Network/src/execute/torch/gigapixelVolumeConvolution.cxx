/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlices.h"
#include "gigapixelTorchConvolution.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace gigapixel::torchmodule
{

bool
TorchConvolution::IsOfVolumes() const
{
  return weight.dim() == 5 && !transposed && !plain;
}

TorchConvolution
TorchConvolution::GetTap(std::int64_t tap) const
{
  return { MakeDenseSlices(weight.select(2, tap)),
           {},
           WithoutDepth(stride),
           WithoutDepth(padding),
           WithoutDepth(dilation),
           groups };
}

at::Tensor
TorchConvolution::ComputeBySlices(const at::Tensor & input) const
{
  std::vector<std::int64_t> shape{ 1, weight.size(0) };
  for (std::size_t axis = 0; axis < stride.size(); ++axis)
  {
    const auto d = static_cast<std::int64_t>(2 + axis);
    shape.push_back(GetNumberOfOutputs(input.size(d), weight.size(d), stride[axis], dilation[axis], padding[axis]));
  }
  at::Tensor       output = at::empty(shape, input.options().memory_format(at::MemoryFormat::ChannelsLast3d));
  const at::Tensor from = ToSlices(input), to = ToSlices(output);
  bias.defined() ? output.copy_(bias.view({ 1, -1, 1, 1, 1 }).expand_as(output)) : output.zero_();
  for (std::int64_t tap = 0; tap < weight.size(2); ++tap)
  {
    const SlicesOfTap slices = GetSlicesOfTap(tap, from.size(0), to.size(0), stride[0], dilation[0], padding[0]);
    if (slices.number > 0)
    {
      slices.OfOutput(to).add_(GetTap(tap).Compute(MakeDenseSlices(slices.OfInput(from))));
    }
  }
  return output;
}

TorchConvolution::Gradients
TorchConvolution::DifferentiateBySlices(const at::Tensor & gradient, const at::Tensor & input, bool wanted) const
{
  Gradients        sums;
  const at::Tensor from = ToSlices(input), ofOutput = ToSlices(gradient);
  at::Tensor       ofInput;
  if (wanted)
  {
    sums.input = at::empty(input.sizes(), input.options().memory_format(at::MemoryFormat::ChannelsLast3d)).zero_();
    ofInput = ToSlices(sums.input);
  }
  sums.weight = at::zeros(weight.sizes(), gradient.options().memory_format(at::MemoryFormat::Contiguous));
  for (std::int64_t tap = 0; tap < weight.size(2); ++tap)
  {
    const SlicesOfTap slices = GetSlicesOfTap(tap, from.size(0), ofOutput.size(0), stride[0], dilation[0], padding[0]);
    if (slices.number > 0)
    {
      const Gradients ofTap = GetTap(tap).Differentiate(
        MakeDenseSlices(slices.OfOutput(ofOutput)), MakeDenseSlices(slices.OfInput(from)), wanted);
      sums.weight.select(2, tap).copy_(ofTap.weight);
      if (wanted)
      {
        slices.OfInput(ofInput).add_(ofTap.input);
      }
    }
  }
  if (bias.defined())
  {
    sums.bias = gradient.sum({ 0, 2, 3, 4 });
  }
  return sums;
}

} // namespace gigapixel::torchmodule

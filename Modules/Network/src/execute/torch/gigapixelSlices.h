/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSlices_h
#define gigapixelSlices_h

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <vector>

namespace gigapixel::torchmodule
{

// A window that goes over a volume is, for each of its taps along z, one that goes over slices: these lie in memory as
// the images of a batch do, and operators for images are faster than those for volumes, keep channels beside each
// other, and are there in every version of LibTorch.

/** A volume as the batch of its slices: in the same memory, where that has no gaps and channels beside each other. */
inline at::Tensor
ToSlices(const at::Tensor & volume)
{
  return volume.contiguous(at::MemoryFormat::ChannelsLast3d).squeeze(0).transpose(0, 1);
}

inline at::Tensor
MakeDenseSlices(const at::Tensor & slices)
{
  return slices.contiguous(at::MemoryFormat::ChannelsLast);
}

/** Of an attribute with a number for each axis: those for slices. */
inline std::vector<std::int64_t>
WithoutDepth(const std::vector<std::int64_t> & values)
{
  return { values.begin() + 1, values.end() };
}

/** The slices of the output that a tap sees slices of the input for, and these. */
struct SlicesOfTap
{
  std::int64_t firstOutput;
  std::int64_t firstInput;
  std::int64_t number;
  std::int64_t stride; ///< from slice to slice of the input

  at::Tensor
  OfOutput(const at::Tensor & slices) const
  {
    return slices.narrow(0, firstOutput, number);
  }

  at::Tensor
  OfInput(const at::Tensor & slices) const
  {
    return slices.slice(0, firstInput, firstInput + (number - 1) * stride + 1, stride);
  }
};

/** Along z, of an input and output with so many slices. \param padding before the first slice */
inline SlicesOfTap
GetSlicesOfTap(std::int64_t tap,
               std::int64_t input,
               std::int64_t output,
               std::int64_t stride,
               std::int64_t dilation,
               std::int64_t padding)
{
  const std::int64_t offset = tap * dilation - padding; // of the first output's
  const std::int64_t first = offset < 0 ? (-offset + stride - 1) / stride : 0;
  const std::int64_t end = std::min(output, offset < input ? (input - 1 - offset) / stride + 1 : 0);
  return { first, first * stride + offset, std::max<std::int64_t>(0, end - first), stride };
}

/** Outputs of a window, which is padded before and behind. */
inline std::int64_t
GetNumberOfOutputs(std::int64_t input,
                   std::int64_t kernel,
                   std::int64_t stride,
                   std::int64_t dilation,
                   std::int64_t padding)
{
  return (input + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1;
}

} // namespace gigapixel::torchmodule

#endif

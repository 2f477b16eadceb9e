/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelReducedPixels_h
#define gigapixelReducedPixels_h

#include "gigapixelOperationCall.h"

namespace gigapixel::torchmodule
{

// What operations reduce an image to, in a tile: pixels, of sums.

inline std::vector<double>
ToVector(const at::Tensor & sums)
{
  const at::Tensor dense = sums.to(at::kCPU).contiguous();
  return { dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel() };
}

/** On the CPU. \param values channels beside each other, row by row */
inline at::Tensor
ToPixels(const std::vector<double> & values, int channels, const Box & box, at::ScalarType type)
{
  at::Tensor map = MakeMap(channels, box, at::kDouble);
  std::copy(values.begin(), values.end(), map.data_ptr<double>());
  return map.to(type);
}

/** Of a tile that has all of the image. \param part what the forward pass of the operation computed */
inline std::vector<double>
SumOfTile(const Operation & operation, const TileProgram::Step & step, const at::Tensor & part)
{
  std::vector<double> sums;
  OperationSchema::Find(operation.type)
    ->getReduction(operation)
    ->add(operation, sums, ToVector(part), step.inputs.front());
  return sums;
}

} // namespace gigapixel::torchmodule

#endif

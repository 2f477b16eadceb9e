/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMapAxes_h
#define gigapixelMapAxes_h

#include <ATen/core/Tensor.h>

#include <vector>

namespace gigapixel::torchmodule
{

/** The tensor's dimension of an axis. */
constexpr int
GetDimension(int axis)
{
  return axis + 2;
}

inline int
GetNumberOfAxes(const at::Tensor & map)
{
  return static_cast<int>(map.dim()) - GetDimension(0);
}

/** All dimensions of a map but that of its channels, to sum over. */
inline std::vector<std::int64_t>
GetAllButChannels(const at::Tensor & map)
{
  std::vector<std::int64_t> dimensions{ 0 };
  for (int axis = 0; axis < GetNumberOfAxes(map); ++axis)
  {
    dimensions.push_back(GetDimension(axis));
  }
  return dimensions;
}

/** A value of each channel, in the shape by which it meets each pixel of a map of so many axes. */
inline at::Tensor
AlongChannels(const at::Tensor & values, int axes)
{
  std::vector<std::int64_t> shape(GetDimension(axes), 1);
  shape[1] = -1;
  return values.view(shape);
}

} // namespace gigapixel::torchmodule

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumeGrid.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace gigapixel
{
namespace
{

std::string
ToText(const Size & size)
{
  return std::to_string(size.width) + " x " + std::to_string(size.height) + " x " + std::to_string(size.depth);
}

std::string
ToText(const std::array<double, 3> & numbers)
{
  std::ostringstream text;
  text << numbers[0] << ", " << numbers[1] << ", " << numbers[2];
  return text.str();
}

/** In mm. */
std::array<double, 3>
GetPlace(const VolumeGrid & grid, const std::array<double, 3> & index)
{
  std::array<double, 3> place = grid.origin;
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    for (std::size_t i = 0; i < 3; ++i)
    {
      place[i] += index[axis] * grid.spacing[axis] * grid.axes[axis][i];
    }
  }
  return place;
}

} // namespace

std::string
VolumeGrid::DescribeDifference(const VolumeGrid & other) const
{
  constexpr double Rounding = 0.01; // of a voxel
  if (other.size.width != size.width || other.size.height != size.height || other.size.depth != size.depth)
  {
    return "has " + ToText(other.size) + " voxels, not " + ToText(size);
  }
  const double tolerance = Rounding * *std::min_element(spacing.begin(), spacing.end());
  const auto   last = std::array<double, 3>{ static_cast<double>(size.width - 1),
                                             static_cast<double>(size.height - 1),
                                             static_cast<double>(size.depth - 1) };
  for (int corner = 0; corner < 8; ++corner)
  {
    const std::array<double, 3> index{ (corner & 1) != 0 ? last[0] : 0,
                                       (corner & 2) != 0 ? last[1] : 0,
                                       (corner & 4) != 0 ? last[2] : 0 };
    const auto here = GetPlace(*this, index), there = GetPlace(other, index);
    for (std::size_t i = 0; i < 3; ++i)
    {
      if (!(std::abs(here[i] - there[i]) <= tolerance))
      {
        return "lies elsewhere: its voxel " + ToText(index) + " is at " + ToText(there) + " mm, not at " + ToText(here);
      }
    }
  }
  return {};
}

double
VolumeGrid::GetVoxelVolume() const
{
  const auto & [a, b, c] = axes;
  const double determinant =
    a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
  return std::abs(determinant) * spacing[0] * spacing[1] * spacing[2];
}

double
VolumeGrid::GetShear() const
{
  double shear = 0;
  for (std::size_t i = 0; i < 3; ++i)
  {
    const auto & a = axes[i];
    const auto & b = axes[(i + 1) % 3];
    shear = std::max(shear, std::abs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]));
  }
  return shear;
}

} // namespace gigapixel

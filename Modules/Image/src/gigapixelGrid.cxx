/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGrid.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{

bool
Grid::IsSpacingKnown() const
{
  constexpr double least = 0.05e-3; // mm
  constexpr double most = 200e-3;
  return std::all_of(spacing.begin(), spacing.end(), [&](double s) { return s >= least && s <= most; });
}

double
Grid::GetMicronsPerPixel() const
{
  return this->IsSpacingKnown() ? 1000 * (spacing[0] + spacing[1]) / 2 : 0.0;
}

std::optional<std::array<bool, 2>>
FindMirroredAxes(const Grid & grid, const Grid & other)
{
  constexpr double    tolerance = 1e-6;
  std::array<bool, 2> mirrored{};
  for (std::size_t i = 0; i < 2; ++i)
  {
    const double cosine = grid.direction[i] * other.direction[i] + grid.direction[2 + i] * other.direction[2 + i];
    if (std::abs(std::abs(cosine) - 1) > tolerance)
    {
      return std::nullopt;
    }
    mirrored[i] = cosine < 0;
  }
  return mirrored;
}

Grid
Unmirror(const Grid & grid, const std::array<bool, 2> & mirrored)
{
  const std::int64_t sizes[] = { grid.size.width, grid.size.height };
  Grid               result = grid;
  for (std::size_t i = 0; i < 2; ++i)
  {
    const double length = static_cast<double>(sizes[i] - 1) * grid.spacing[i];
    for (std::size_t j = 0; mirrored[i] && j < 2; ++j)
    {
      result.origin[j] += length * grid.direction[2 * j + i];
      result.direction[2 * j + i] = -grid.direction[2 * j + i];
    }
  }
  return result;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PlaneGrid.h"

#include "gigapixelSession.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gigapixel::commandline
{
namespace
{
/** Whether a fine axis of so many pixels becomes a coarse one by this factor; sizes are rounded up, or down by some
 * programs. */
bool
Fits(std::int64_t fine, std::int64_t coarse, std::int64_t factor)
{
  return factor > 0 && ((fine + factor - 1) / factor == coarse || fine / factor == coarse);
}

/** The integer factor between the sizes of both axes; a power of two where several fit; 0: there is none. */
std::int64_t
FindFactor(const std::array<std::int64_t, 2> & fine, const std::array<std::int64_t, 2> & coarse)
{
  std::int64_t       found = 0;
  const std::int64_t most = fine[0] / std::max<std::int64_t>(coarse[0] - 1, 1) + 1;
  for (std::int64_t factor = std::max<std::int64_t>(fine[0] / (coarse[0] + 1), 1); factor <= most; ++factor)
  {
    if (Fits(fine[0], coarse[0], factor) && Fits(fine[1], coarse[1], factor))
    {
      const bool isPowerOfTwo = (factor & (factor - 1)) == 0;
      if (isPowerOfTwo)
      {
        return factor;
      }
      found = found == 0 ? factor : found;
    }
  }
  return found;
}

/** Pixels of \a to per pixel of \a from by their extents. */
std::array<double, 2>
ScaleByExtent(const PlaneGrid & from, const PlaneGrid & to)
{
  if (const std::int64_t down = FindFactor(from.size, to.size))
  {
    return { 1.0 / static_cast<double>(down), 1.0 / static_cast<double>(down) };
  }
  if (const std::int64_t up = FindFactor(to.size, from.size))
  {
    return { static_cast<double>(up), static_cast<double>(up) };
  }
  return { static_cast<double>(to.size[0]) / static_cast<double>(from.size[0]),
           static_cast<double>(to.size[1]) / static_cast<double>(from.size[1]) };
}

/** The integer that a ratio above 1 means, up to the rounding of numbers and sizes; else the ratio. */
double
SnapRatio(double ratio, std::int64_t fine, std::int64_t coarse)
{
  const double whole = std::round(ratio);
  const double deviation = std::abs(ratio - whole) / ratio;
  const bool   isWhole = deviation < 1e-4 || (deviation < 1e-2 && Fits(fine, coarse, static_cast<std::int64_t>(whole)));
  return isWhole ? whole : ratio;
}

double
ScaleByResolution(const PlaneGrid & from, const PlaneGrid & to, std::size_t axis)
{
  const double scale = from.spacing[axis] / to.spacing[axis];
  return scale < 1 ? 1 / SnapRatio(1 / scale, from.size[axis], to.size[axis])
                   : SnapRatio(scale, to.size[axis], from.size[axis]);
}

std::string
FormatExtent(const PlaneGrid & grid, bool inMillimeters)
{
  std::string text =
    grid.name + " has " + std::to_string(grid.size[0]) + " x " + std::to_string(grid.size[1]) + " pixels";
  if (inMillimeters)
  {
    text += " (" + FormatNumber(static_cast<double>(grid.size[0]) * grid.spacing[0], 3) + " x " +
            FormatNumber(static_cast<double>(grid.size[1]) * grid.spacing[1], 3) + " mm)";
  }
  return text;
}
} // namespace

std::int64_t
AxisMatch::operator()(std::int64_t pixel) const
{
  return static_cast<std::int64_t>(std::floor((static_cast<double>(pixel) + 0.5) * scale + offset));
}

GridMatch
GridMatch::Make(const PlaneGrid & from, const PlaneGrid & to, bool partial)
{
  GridMatch match;
  match.inMillimeters = from.HasSpacing() && to.HasSpacing();
  if (partial && !match.inMillimeters)
  {
    throw std::runtime_error("The place of " + from.name + " on " + to.name +
                             " is unknown, because a resolution is: --partial needs both.");
  }
  const auto byExtent = ScaleByExtent(from, to);
  bool       isSame = true;
  for (std::size_t axis = 0; axis < 2; ++axis)
  {
    AxisMatch & match_of_axis = match.axes[axis];
    match_of_axis.scale = match.inMillimeters ? ScaleByResolution(from, to, axis) : byExtent[axis];
    const double offset = match.inMillimeters ? (from.corner[axis] - to.corner[axis]) / to.spacing[axis] : 0.0;
    match_of_axis.offset = std::abs(offset - std::round(offset)) < 1e-3 ? std::round(offset) : offset;

    const double extent = static_cast<double>(from.size[axis]) * match_of_axis.scale;
    const auto   whole = static_cast<double>(to.size[axis]);
    const double tolerance = std::max({ 1.0, match_of_axis.scale, 0.01 * std::max(extent, whole) });
    const bool   isInside = match_of_axis.offset > -tolerance && match_of_axis.offset + extent < whole + tolerance;
    const bool   coincides = std::abs(match_of_axis.offset) <= tolerance && std::abs(extent - whole) <= tolerance;
    isSame = isSame && (partial ? isInside : coincides);
  }
  // Without resolutions each axis fits by itself; then the shapes have to agree.
  const double shape = match.axes[0].scale / match.axes[1].scale;
  const auto   least = static_cast<double>(std::min({ from.size[0], from.size[1], to.size[0], to.size[1] }));
  const bool   sameShape = std::abs(shape - 1) <= std::max(0.01, 1 / least);
  if (!isSame || (!match.inMillimeters && !sameShape))
  {
    throw std::runtime_error("These are not of the same slide: " + FormatExtent(from, match.inMillimeters) + ", " +
                             FormatExtent(to, match.inMillimeters) + '.');
  }
  return match;
}

} // namespace gigapixel::commandline

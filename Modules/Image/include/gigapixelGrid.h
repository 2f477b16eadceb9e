/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGrid_h
#define gigapixelGrid_h

#include "GigapixelImageExport.h"
#include "gigapixelSource.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace gigapixel
{

/** Resolutions that differ by less count as one: what is sold as 20x is 0.45 to 0.55 um a pixel, by the scanner. */
constexpr double ResolutionTolerance = 0.1;

/** \class Grid
 * \brief Where an image's pixels lie in the plane of the glass, in ITK's terms. */
struct GigapixelImage_EXPORT Grid
{
  Size                  size;                        ///< in pixels
  std::array<double, 2> spacing{ { 1, 1 } };         ///< mm between pixel centers, x and y
  std::array<double, 2> origin{ { 0, 0 } };          ///< mm, center of pixel (0, 0)
  std::array<double, 4> direction{ { 1, 0, 0, 1 } }; ///< row by row

  /** Whether the spacing says something. ITK's default of 1 mm does not, nor does what programs write that know no
   * resolution (72 dpi). Known is 0.05 um, below which light resolves nothing, to 200 um: the 1024th part of 0.2 um. */
  bool IsSpacingKnown() const;

  /** Mean of x and y in micrometers; 0: unknown. */
  double GetMicronsPerPixel() const;

  /** The grid of anything that describes an image as itk::ImageIOBase does. */
  template <typename TImageIO>
  static Grid
  Of(const TImageIO & io)
  {
    Grid grid;
    grid.size = { static_cast<std::int64_t>(io.GetDimensions(0)), static_cast<std::int64_t>(io.GetDimensions(1)) };
    for (unsigned axis = 0; axis < 2; ++axis)
    {
      const std::vector<double> direction = io.GetDirection(axis);
      grid.spacing[axis] = io.GetSpacing(axis);
      grid.origin[axis] = io.GetOrigin(axis);
      grid.direction[axis] = direction[0];
      grid.direction[2 + axis] = direction[1];
    }
    return grid;
  }
};

/** Which axes of a grid run against those of another one: programs count rows and columns from either end. None: they
 * do not run along each other at all. */
GigapixelImage_EXPORT std::optional<std::array<bool, 2>> FindMirroredAxes(const Grid & grid, const Grid & other);

/** The grid of the same pixels, counted from the other end along these axes. */
GigapixelImage_EXPORT Grid Unmirror(const Grid & grid, const std::array<bool, 2> & mirrored);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PlaneGrid_h
#define PlaneGrid_h

#include "GigapixelCommandLineExport.h"

#include <array>
#include <cstdint>
#include <string>

namespace gigapixel::commandline
{

/** Where the pixels of a slide's level or of a mask lie on the glass. */
struct PlaneGrid
{
  std::string                 name; ///< of the file, for messages
  std::array<std::int64_t, 2> size{};
  std::array<double, 2>       spacing{}; ///< mm; 0 where unknown
  std::array<double, 2>       corner{};  ///< mm from the slide's outer corner to the first pixel's

  bool
  HasSpacing() const
  {
    return spacing[0] > 0 && spacing[1] > 0;
  }
};

/** Coordinates along one axis of one grid in pixels of another. */
struct GigapixelCommandLine_EXPORT AxisMatch
{
  double scale{ 1 };  ///< pixels of the other per pixel
  double offset{ 0 }; ///< the other's coordinate of the first pixel's outer edge

  /** The other's pixel that this pixel's center lies in; may lie outside the other. */
  std::int64_t operator()(std::int64_t pixel) const;

  /** From the other grid's pixels to this one's. */
  AxisMatch
  GetInverse() const
  {
    return { 1 / scale, -offset / scale };
  }
};

/** \class GridMatch
 * \brief How one grid lies over another: in mm where both know their resolution, else by their extents (both show the
 * same rectangle). Ratios that are integers up to the rounding of sizes are integers, and no offset is smaller than
 * 1e-3 of a pixel. */
struct GigapixelCommandLine_EXPORT GridMatch
{
  std::array<AxisMatch, 2> axes;
  bool                     inMillimeters{ true };

  /** \param partial \a from may cover a part of \a to
   * \throw std::runtime_error with both extents, where they differ by more than a pixel of the coarser grid and more
   * than 1 %: these are not of the same slide */
  static GridMatch Make(const PlaneGrid & from, const PlaneGrid & to, bool partial = false);
};

} // namespace gigapixel::commandline

#endif

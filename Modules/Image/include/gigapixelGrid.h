/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGrid_h
#define gigapixelGrid_h

#include "GigapixelImageExport.h"
#include "gigapixelSource.h"

#include <array>

namespace gigapixel
{

/** Resolutions that differ by less count as one: what is sold as 20x is 0.45 to 0.55 um a pixel, by the scanner. */
constexpr double ResolutionTolerance = 0.1;

/** \class Grid
 * \brief Where an image's pixels lie in the plane of the glass, in ITK's terms. */
struct GigapixelImage_EXPORT Grid
{
  Size                  size;
  std::array<double, 2> spacing{ { 1, 1 } };         ///< mm between pixel centers, x and y
  std::array<double, 2> origin{ { 0, 0 } };          ///< mm, center of pixel (0, 0)
  std::array<double, 4> direction{ { 1, 0, 0, 1 } }; ///< row by row

  /** Whether the spacing says something. ITK's default of 1 mm does not, nor does what programs write that know no
   * resolution (72 dpi). Known is 0.05 um, below which light resolves nothing, to 200 um: the 1024th part of 0.2 um. */
  bool IsSpacingKnown() const;

  /** Mean of x and y in micrometers; 0: unknown. */
  double GetMicronsPerPixel() const;
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelUsualSides_h
#define gigapixelUsualSides_h

#include "GigapixelNetworkExport.h"

#include <cstdint>
#include <vector>

namespace gigapixel
{

/** Sides of squares, or of cubes with about as many pixels. */
struct GigapixelNetwork_EXPORT UsualSides
{
  std::vector<std::int64_t> tiles;            ///< that are tried
  std::vector<std::int64_t> described;        ///< of tiles that summaries of networks tell of
  std::int64_t              tile;             ///< of a model that names none
  std::int64_t              leastMeasured;    ///< of images that measure the pace of a machine
  std::int64_t              greatestMeasured; ///< likewise

  /** \param axes of the image, 2 or 3 */
  static const UsualSides & Of(int axes);
};

} // namespace gigapixel

#endif

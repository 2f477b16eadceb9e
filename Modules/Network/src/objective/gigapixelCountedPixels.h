/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelCountedPixels_h
#define gigapixelCountedPixels_h

#include "gigapixelSource.h"
#include "graph/gigapixelGraphGeometry.h"

#include <vector>

namespace gigapixel
{

/** Which pixels of a part of a map count where the map is pooled: those that tissue belongs to, see
 * GraphGeometry::GetNearest() and PixelSource::ReadTissue().
 * \param counted gets 1 or 0 for each pixel of the part, row by row; nothing where the image knows of no tissue: all
 * \return whether any counts */
GigapixelNetwork_EXPORT bool FindCounted(const GraphGeometry &       geometry,
                                         int                         operation,
                                         const Box &                 part,
                                         const PixelSource &         pixels,
                                         std::vector<std::uint8_t> & counted);

} // namespace gigapixel

#endif

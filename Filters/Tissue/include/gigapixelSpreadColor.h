/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSpreadColor_h
#define gigapixelSpreadColor_h

#include "GigapixelTissueExport.h"
#include "gigapixelBitWindow.h"
#include "gigapixelTissueRule.h"

namespace gigapixel
{

/** How far JPEG spreads color, in pixels: 4:2:0 keeps it at half the resolution, and decoders interpolate between. */
constexpr std::size_t SpreadReach = 2;

/** Clears in a mask what has its color from the tissue beside it, or from stain that lies on the glass.
 *
 * JPEG mostly keeps color at half the resolution of gray, so color lies on the glass along every outline, while the
 * gray values stay the glass's. With Y the gray value (Rec. 601, rounded) and dY how much less it is than that of the
 * rule's glass, a pixel is cleared where
 *
 * - glass is beside it: the least dY of its 3 x 3 pixels is at most 3, and
 * - it is hardly darker: five times its dY is less than the largest dY within SpreadReach (5 x 5 pixels), which is that
 *   of clearly stained tissue, at least 32.
 *
 * So pale tissue with nothing darker near it stays, as do the membranes of fat cells.
 *
 * Haze is stain that stayed on the glass, of frozen sections above all: pale, and without the structure that tissue has
 * even where it is pale. A pixel is cleared where dY is at most 40 and differs by at most 8 within SpreadReach.
 *
 * block: rows of RGB, in pixels of 3 bytes, which reach SpreadReach further than wanted unless the image ends there;
 * mask: the wanted pixels, rows maskStride bytes apart. */
GigapixelTissue_EXPORT void ClearSpreadColor(const TissueRule &  rule,
                                             const PixelBlock &  block,
                                             const PixelWindow & wanted,
                                             unsigned char *     mask,
                                             std::size_t         maskStride);

} // namespace gigapixel

#endif

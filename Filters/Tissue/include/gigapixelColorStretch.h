/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelColorStretch_h
#define gigapixelColorStretch_h

#include "GigapixelTissueExport.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gigapixel
{

/** How many pixels of an image have each value of red, green and blue; gray pixels count in all three. */
struct GigapixelTissue_EXPORT ColorCounts
{
  std::array<std::array<std::uint64_t, 256>, 3> values{}; ///< how often each value occurs in R, G and B

  ColorCounts & operator+=(const ColorCounts & other); ///< adds the counts of another part of the slide
};

/** Adds `count` pixels of 1 (gray) or 3 (RGB) interleaved bytes. */
GigapixelTissue_EXPORT void CountColors(const unsigned char * pixels,
                                        std::size_t           count,
                                        unsigned              channels,
                                        ColorCounts &         counts);

/** What a byte becomes. */
using ByteTable = std::array<std::uint8_t, 256>;

/** Stretches the values of a channel to the whole range, so that what is pale, or hardly shines, looks as anything else
 * does: the 1st percentile becomes 0, Otsu's threshold between it and the 99th 128, and the 99th 255; between them the
 * table is linear, rounded. Where the two percentiles lie less than LeastStretchedRange apart, it is one line of 255 /
 * LeastStretchedRange around their middle, lest noise become a picture. No pixels: every value stays. */
GigapixelTissue_EXPORT ByteTable MakeColorStretch(const std::array<std::uint64_t, 256> & counts);

constexpr int LeastStretchedRange = 24; ///< see MakeColorStretch()

} // namespace gigapixel

#endif

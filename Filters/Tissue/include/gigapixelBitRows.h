/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelBitRows_h
#define gigapixelBitRows_h

#include "GigapixelTissueExport.h"

#include <cstddef>
#include <cstdint>

namespace gigapixel
{

/** Writes one bit per pixel, bit 0 of bits[0] first: 1 where pixels[i] is not 0. Writes whole words, (count + 63) / 64
 * of them; the bits past the last pixel are 0. */
GigapixelTissue_EXPORT void PackBits(const unsigned char * pixels, std::size_t count, std::uint64_t * bits);

/** Writes 255 for a 1 and 0 for a 0: pixel i from bit first + i, bit 0 of bits[0] being bit 0. */
GigapixelTissue_EXPORT void UnpackBits(const std::uint64_t * bits,
                                       std::size_t           first,
                                       std::size_t           count,
                                       unsigned char *       pixels);

} // namespace gigapixel

#endif

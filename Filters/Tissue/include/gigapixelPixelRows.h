/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPixelRows_h
#define gigapixelPixelRows_h

#include "GigapixelTissueExport.h"

#include <cstddef>
#include <cstdint>

namespace gigapixel
{

/** Mean of blocks of factor x factor pixels, rounded half up, of one row of blocks.
 * rows: `rowCount` (1 ... factor) rows of `width` pixels of `channels` interleaved bytes, `stride` bytes apart. The
 * last block may be narrower than factor: its mean is that of its real pixels. output: ceil(width / factor) pixels.
 * factor at most 256, so that a column's sum fits 16 bits. */
GigapixelTissue_EXPORT void BlockMeanRow(const unsigned char * rows,
                                         std::size_t           stride,
                                         std::size_t           rowCount,
                                         std::size_t           width,
                                         unsigned              channels,
                                         unsigned              factor,
                                         unsigned char *       output);

/** Repeats every pixel `factor` times: output pixel i is input pixel (phase + i) / factor. */
GigapixelTissue_EXPORT void RepeatPixels(const unsigned char * input,
                                         std::size_t           phase,
                                         std::size_t           count,
                                         unsigned              factor,
                                         unsigned char *       output);

} // namespace gigapixel

#endif

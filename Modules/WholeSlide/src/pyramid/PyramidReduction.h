/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidReduction_h
#define PyramidReduction_h

#include <cstddef>

namespace gigapixel
{

/** A rectangle of pixels with interleaved channels inside a larger image. */
template <typename TSample>
struct PixelBlock
{
  TSample *   samples;
  std::size_t rowSamples; // from a row to the next
  std::size_t width;
  std::size_t height;
  std::size_t channels; // 1 or 3
};

/** Halves a rectangle, rounding its sides up: each pixel of \a to is the upper left one of its 2x2 block. \a to has
 * (width + 1) / 2 by (height + 1) / 2 pixels, or more, of which the others are left alone. For unsigned samples of 8,
 * 16 and 32 bit and float. */
template <typename TSample>
void ReduceByUpperLeft(const PixelBlock<const TSample> & from, const PixelBlock<TSample> & to);

/** The same with the mean of the block's real pixels (2 at an odd edge, 1 at an odd corner), halves rounded up. Not for
 * samples of 32 bit but float. */
template <typename TSample>
void ReduceByMean(const PixelBlock<const TSample> & from, const PixelBlock<TSample> & to);

} // namespace gigapixel

#endif

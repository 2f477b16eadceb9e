/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidReduction_h
#define PyramidReduction_h

#include <cstddef>
#include <cstdint>

namespace gigapixel
{

/** A rectangle of 8-bit pixels with interleaved channels inside a larger image. */
template <typename TSample>
struct PixelBlock
{
  TSample *   samples;
  std::size_t rowBytes; // from a row to the next
  std::size_t width;
  std::size_t height;
  std::size_t channels;
};

/** Halves a rectangle, rounding its sides up: each pixel of \a to is the upper left one of its 2x2 block. \a to has
 * (width + 1) / 2 by (height + 1) / 2 pixels, or more, of which the others are left alone. */
void ReduceByUpperLeft(const PixelBlock<const std::uint8_t> & from, const PixelBlock<std::uint8_t> & to);

/** The same with the mean of the block's real pixels (2 at an odd edge, 1 at an odd corner), halves rounded up. */
void ReduceByMean(const PixelBlock<const std::uint8_t> & from, const PixelBlock<std::uint8_t> & to);

} // namespace gigapixel

#endif

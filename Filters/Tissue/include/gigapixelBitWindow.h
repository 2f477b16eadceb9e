/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelBitWindow_h
#define gigapixelBitWindow_h

#include "GigapixelTissueExport.h"

#include <cstddef>

namespace gigapixel
{

/** Which window is laid over every pixel of a mask, and what lies outside the image. Discs hold the offsets with
 * dx^2 + dy^2 <= (r + 1/2)^2, which is ITK's ball. */
enum class BitWindow
{
  /** Foreground where more than half of the (2r+1)^2 pixels of the square are: the median of a binary image. Outside
   * lies the nearest pixel of the image. */
  Majority,
  /** Foreground where the whole disc is foreground. Outside lies foreground. */
  Erode,
  /** Foreground where any pixel of the disc is foreground. Outside lies background. */
  Dilate
};

/** Rows of a mask in memory: what a window reads. */
struct PixelBlock
{
  const unsigned char * pixels; ///< the first one; 0 is background
  /** Bytes from one row to the next. */
  std::size_t stride;
  std::size_t width;  ///< pixels
  std::size_t height; ///< rows
};

/** The pixels wanted, in the block's own coordinates. The block must reach `radius` further on every side, except where
 * the image itself ends with the block. */
struct PixelWindow
{
  std::size_t x;      ///< first column
  std::size_t y;      ///< first row
  std::size_t width;  ///< pixels
  std::size_t height; ///< rows
};

/** So that the pixels of a square of 2r+1 are a number of 64 bits. */
constexpr std::size_t LargestWindowRadius = std::size_t{ 1 } << 30;

/** Lays the window of that radius over the wanted pixels and writes 0 or 255; output rows lie outputStride bytes apart.
 * Time per pixel grows with log(radius) for Majority, with the radius for the discs (1/64 of an operation each); where
 * every window holds the whole image, it no longer grows. radius: at most LargestWindowRadius. */
GigapixelTissue_EXPORT void ApplyWindow(BitWindow           kind,
                                        std::size_t         radius,
                                        const PixelBlock &  block,
                                        const PixelWindow & wanted,
                                        unsigned char *     output,
                                        std::size_t         outputStride);

} // namespace gigapixel

#endif

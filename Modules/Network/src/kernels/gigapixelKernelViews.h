/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelKernelViews_h
#define gigapixelKernelViews_h

#include <cstddef>
#include <cstdint>

namespace gigapixel
{
namespace kernels
{

/** Rows of 8-bit samples, channels interleaved: what a PixelSource writes. What lies outside takes part in a
 * convolution as zero, after scaling and inversion. */
struct PixelView
{
  const std::uint8_t * samples{ nullptr };
  std::int64_t         width{ 0 };  ///< pixels
  std::int64_t         height{ 0 }; ///< pixels
  std::ptrdiff_t       pitch{ 0 };  ///< bytes from row to row
  int                  channels{ 1 };
  bool                 invert{ true }; ///< value = (255 - sample) / 255, else sample / 255
};

/** A map of float (or const float), at the resolution of a layer, in any layout: a LibTorch tensor of shape
 * [1, channels, height, width] hands over its strides 1, 2 and 3 (in elements), whether it is contiguous or
 * channels_last. */
template <typename T>
struct MapView
{
  T *            values{ nullptr };
  std::int64_t   height{ 0 };
  std::int64_t   width{ 0 };
  std::ptrdiff_t channelStride{ 0 };
  std::ptrdiff_t rowStride{ 0 };
  std::ptrdiff_t columnStride{ 1 };
};

/** Half-open rectangle of full-resolution pixels [x, x + width) x [y, y + height), relative to the first pixel of the
 * map that a transposed convolution yields. */
struct CoreRegion
{
  std::int64_t x{ 0 };
  std::int64_t y{ 0 };
  std::int64_t width{ 0 };
  std::int64_t height{ 0 };
};

} // namespace kernels
} // namespace gigapixel

#endif

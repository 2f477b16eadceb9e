/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelConvolution_h
#define gigapixelConvolution_h

namespace gigapixel
{
namespace kernels
{

/** A convolution; its input channels are those of what it is applied to. Output (row, column) sees the input from
 * (row * stride - padding, column * stride - padding) on, zeros outside. */
struct Convolution
{
  int           outputChannels{ 1 };
  int           kernel{ 1 };
  int           stride{ 1 };
  int           padding{ 0 };
  const float * weight{ nullptr }; ///< [outputChannels][inputChannels][kernel][kernel]
  const float * bias{ nullptr };   ///< [outputChannels]
  bool          relu{ true };      ///< output = max(0, convolution + bias)
  bool          adds{ false };     ///< the output is added to what its map holds
};

} // namespace kernels
} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWeightGradient_h
#define gigapixelWeightGradient_h

#include "gigapixelKernelViews.h"

namespace gigapixel
{
namespace kernels
{

/** How a convolution's kernel goes over a map along one axis: output p sees the inputs p * stride + k * dilation -
 * padding, 0 <= k < kernel, and zeros outside. */
struct KernelAxis
{
  int kernel{ 1 };
  int stride{ 1 };
  int dilation{ 1 };
  int padding{ 0 };
};

/** A map whose channels lie side by side. */
struct ChannelsLastMap
{
  MapView<const float> view; ///< channelStride 1, columnStride not below the channels
  int                  channels{ 1 };
};

/** Gradient of a convolution's weight, for maps of many channels: sum over all positions p of the products of the
 * output's gradient at p and of the inputs that p sees. One thread, the same bits every time on the same instruction
 * set; sums in float of 256 positions each, added in float.
 *
 * \param gradient of the output
 * \param weightGradient [output channels][input channels][kernel rows][kernel columns], replaced
 * \throw std::bad_alloc */
void ComputeWeightGradient(const ChannelsLastMap & input,
                           const ChannelsLastMap & gradient,
                           const KernelAxis &      rows,
                           const KernelAxis &      columns,
                           float *                 weightGradient);

} // namespace kernels
} // namespace gigapixel

#endif

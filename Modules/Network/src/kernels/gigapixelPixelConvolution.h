/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPixelConvolution_h
#define gigapixelPixelConvolution_h

#include "gigapixelConvolution.h"
#include "gigapixelKernelViews.h"

namespace gigapixel
{
namespace kernels
{

/** Convolves pixels without ever making a float image of them.
 *
 * Output (row, column) sees the pixels from (row * stride - padding, column * stride - padding) on. The size of the
 * output is the map's: a map that goes beyond the pixels sees zeros there.
 * One thread, deterministic, any alignment. */
void ConvolvePixels(const PixelView & pixels, const Convolution & convolution, const MapView<float> & output);

/** Adds the gradients of the weights and of the bias to what the caller's arrays hold.
 *
 * \param output the map that ConvolvePixels wrote; with relu the gradient counts only where it is positive. Not read
 * (may be empty) without relu.
 * \param outputGradient gradient with respect to the (activated) output, same size
 * \param weightGradient [outputChannels][inputChannels][kernel][kernel]
 * \param biasGradient [outputChannels]
 *
 * Products are added in float over short strips (relative error of about 1e-7 of the sum of magnitudes), strips in
 * double, always in the same order. convolution.weight and bias are not read. */
void AddPixelConvolutionGradient(const PixelView &            pixels,
                                 const Convolution &          convolution,
                                 const MapView<const float> & output,
                                 const MapView<const float> & outputGradient,
                                 double *                     weightGradient,
                                 double *                     biasGradient);

} // namespace kernels
} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMapConvolution_h
#define gigapixelMapConvolution_h

#include "gigapixelConvolution.h"
#include "gigapixelKernelViews.h"

namespace gigapixel
{
namespace kernels
{

// Convolutions between maps of float, in any layout; planar maps (columnStride 1) are read fastest. The three products
// of a convolution are enough for both kinds of layers, because a transposed convolution is the input gradient of a
// convolution: its forward pass is ConvolveMapTransposed, its input gradient ConvolveMap, its weight gradient
// AddMapConvolutionGradient with the roles of input and output gradient exchanged.
// One thread, deterministic, any alignment; sums in float, as accurate as a dot product of their length.

/** A map and its channels. */
struct InputMap
{
  MapView<const float> view;
  int                  channels{ 1 };
};

/** \param convolution bias null: zeros
 * \param output outputChannels; outputs that see beyond the input see zeros there */
void ConvolveMap(const InputMap & input, const Convolution & convolution, const MapView<float> & output);

/** Input (i, j) goes, times the weights, to the outputs (i * stride - padding + ky, j * stride - padding + kx).
 *
 * \param transposed weight [inputChannels][outputChannels][kernel][kernel]; bias null: zeros
 * \param output outputChannels; its size tells how many rows and columns are wanted */
void ConvolveMapTransposed(const InputMap & input, const Convolution & transposed, const MapView<float> & output);

/** Adds the weight gradient of a convolution to what weightGradient holds.
 *
 * \param convolution weight, bias and relu are not read
 * \param outputGradient outputChannels, where ReLU was closed already zero (see CloseReLU)
 * \param weightGradient [outputChannels][inputChannels][kernel][kernel] */
void AddMapConvolutionGradient(const InputMap &             input,
                               const Convolution &          convolution,
                               const MapView<const float> & outputGradient,
                               double *                     weightGradient);

/** A gradient with zeros where the activated output is not positive; what is left is added to the bias gradient.
 * \param activated values null: nothing is zeroed
 * \param gradient same size, columnStride 1 as in activated
 * \param closed likewise; it may be the gradient itself */
void CloseReLU(const MapView<const float> & activated,
               int                          channels,
               const MapView<const float> & gradient,
               const MapView<float> &       closed,
               double *                     biasGradient);

} // namespace kernels
} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelKernelTargets.h"
#include "gigapixelPixelConvolution.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gigapixelPixelConvolution.cxx"
#include <hwy/foreach_target.h>
#include "gigapixelConvolutionStrips-inl.h"
#include "gigapixelPixelPlanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

void
Forward(const PixelView & pixels, const Convolution & convolution, const MapView<float> & output)
{
  ForwardStrip<PixelPlanes> strip(pixels, convolution);
  ForEachColumns<PixelPlanes>(output.width,
                              [&](std::int64_t column, int columns) HWY_ATTR { strip.Run(output, column, columns); });
}

void
AddGradient(const PixelView &            pixels,
            const Convolution &          convolution,
            const MapView<const float> & output,
            const MapView<const float> & outputGradient,
            double *                     weightGradient,
            double *                     biasGradient)
{
  GradientStrip<PixelPlanes> strip(pixels, convolution);
  ForEachColumns<PixelPlanes>(outputGradient.width, [&](std::int64_t column, int columns) HWY_ATTR {
    strip.Run(output, outputGradient, column, columns);
  });
  strip.AddTo(weightGradient, biasGradient);
}

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gigapixel
{
namespace kernels
{
HWY_EXPORT(Forward);
HWY_EXPORT(AddGradient);

void
ConvolvePixels(const PixelView & pixels, const Convolution & convolution, const MapView<float> & output)
{
  HWY_DYNAMIC_DISPATCH(Forward)(pixels, convolution, output);
}

void
AddPixelConvolutionGradient(const PixelView &            pixels,
                            const Convolution &          convolution,
                            const MapView<const float> & output,
                            const MapView<const float> & outputGradient,
                            double *                     weightGradient,
                            double *                     biasGradient)
{
  HWY_DYNAMIC_DISPATCH(AddGradient)(pixels, convolution, output, outputGradient, weightGradient, biasGradient);
}

} // namespace kernels
} // namespace gigapixel
#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Stands in until the fused kernels are in the tree; TileNetwork does not call them before.
#include "kernels/gigapixelPixelConvolution.h"
#include "kernels/gigapixelPixelLoss.h"

#include <stdexcept>

namespace gigapixel
{
namespace kernels
{

void
ConvolvePixels(const PixelView &, const PixelConvolution &, const MapView<float> &)
{
  throw std::logic_error("not built");
}

void
AddPixelConvolutionGradient(const PixelView &,
                            const PixelConvolution &,
                            const MapView<const float> &,
                            const MapView<const float> &,
                            double *,
                            double *)
{
  throw std::logic_error("not built");
}

void
AddPixelLoss(const MapView<const float> &,
             const PixelLogits &,
             const CoreRegion &,
             const std::uint8_t *,
             std::ptrdiff_t,
             const MapView<float> &,
             double *,
             double *,
             LossSum &)
{
  throw std::logic_error("not built");
}

void
PredictProbabilities(const MapView<const float> &, const PixelLogits &, const CoreRegion &, const MapView<float> &)
{
  throw std::logic_error("not built");
}

void
PredictLabels(const MapView<const float> &,
              const PixelLogits &,
              const CoreRegion &,
              double,
              std::uint8_t,
              std::uint8_t *,
              std::ptrdiff_t)
{
  throw std::logic_error("not built");
}

} // namespace kernels
} // namespace gigapixel

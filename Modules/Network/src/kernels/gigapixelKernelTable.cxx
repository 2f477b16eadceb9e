/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelKernelTable.h"

namespace kernels = gigapixel::kernels;

extern "C" __attribute__((visibility("default"))) const kernels::KernelTable GigapixelKernelTable;

const kernels::KernelTable GigapixelKernelTable{ &kernels::ConvolvePixels,
                                                 &kernels::AddPixelConvolutionGradient,
                                                 &kernels::ConvolveMap,
                                                 &kernels::ConvolveMapTransposed,
                                                 &kernels::AddMapConvolutionGradient,
                                                 &kernels::CloseReLU,
                                                 &kernels::AddPixelLoss,
                                                 &kernels::ScorePixels,
                                                 &kernels::Predict,
                                                 &kernels::PredictLabels,
                                                 &kernels::ComputeWeightGradient };

/** Of an engine that holds the kernels itself. */
const kernels::KernelTable &
kernels::GetKernels()
{
  return GigapixelKernelTable;
}

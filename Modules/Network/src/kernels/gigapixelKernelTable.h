/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelKernelTable_h
#define gigapixelKernelTable_h

#include "gigapixelMapConvolution.h"
#include "gigapixelPixelConvolution.h"
#include "gigapixelPixelLoss.h"
#include "gigapixelWeightGradient.h"

namespace gigapixel
{
namespace kernels
{

/** The kernels as pointers. Where the engine is a shared library they are functions of the module
 * GigapixelFusedKernels, which is loaded with the first network that is computed: Highway's library measures the
 * processor's clock for some milliseconds when it is loaded, for programs that compute no network at all, too. */
struct KernelTable
{
  decltype(&ConvolvePixels)              convolvePixels;
  decltype(&AddPixelConvolutionGradient) addPixelConvolutionGradient;
  decltype(&ConvolveMap)                 convolveMap;
  decltype(&ConvolveMapTransposed)       convolveMapTransposed;
  decltype(&AddMapConvolutionGradient)   addMapConvolutionGradient;
  decltype(&CloseReLU)                   closeReLU;
  decltype(&AddPixelLoss)                addPixelLoss;
  decltype(&ScorePixels)                 scorePixels;
  decltype(&Predict)                     predict;
  decltype(&PredictLabels)               predictLabels;
  decltype(&ComputeWeightGradient)       computeWeightGradient;
};

/** \throw std::runtime_error the module does not load */
__attribute__((visibility("default"))) const KernelTable & GetKernels();

} // namespace kernels
} // namespace gigapixel

#endif

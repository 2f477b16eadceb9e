/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPixelLoss_h
#define gigapixelPixelLoss_h

#include "gigapixelKernelViews.h"
#include "gigapixelLossTerms.h"

namespace gigapixel
{
namespace kernels
{

/** The last layer: a transposed convolution whose kernel is its stride, so that every full-resolution pixel hangs on
 * one position of the map only, without activation. Its outputs are logits: of the object against the background
 * (one output channel: sigmoid), or one per class (softmax). */
struct PixelLogits
{
  int           inputChannels{ 1 };
  int           outputChannels{ 1 };
  int           stride{ 1 };       ///< and kernel
  const float * weight{ nullptr }; ///< [inputChannels][outputChannels][stride][stride]
  const float * bias{ nullptr };   ///< [outputChannels]
};

/** Truth of the core: classes[(y - core.y) * pitch + x - core.x]. Pixels whose class is none of the layer's
 * (LabelSource::Ignored is 255) take no part. */
struct TruthView
{
  const std::uint8_t * classes{ nullptr };
  std::ptrdiff_t       pitch{ 0 };
};

/** Where the gradients of the last layer go. */
struct LogitGradient
{
  MapView<float> map;               ///< of its input: overwritten, zero where no pixel takes part
  double *       weight{ nullptr }; ///< in the layout of the weights: added to
  double *       bias{ nullptr };   ///< [outputChannels], added to
};

/** Last layer, loss and backward pass in one go, without a full-resolution map of floats.
 *
 * \param map the layer's input; it yields height * stride x width * stride pixels
 * \param sum added to; Dice, whose loss is none of single pixels, leaves sum.loss as it is
 *
 * All gradients belong to the sum of the pixels' losses, not to the mean. Sums over strips of pixels are taken in
 * float, those over strips in double, always in the same order. One thread. */
void AddPixelLoss(const MapView<const float> & map,
                  const PixelLogits &          logits,
                  const CoreRegion &           core,
                  const TruthView &            truth,
                  const LossTerms &            terms,
                  const LogitGradient &        gradient,
                  LossSum &                    sum);

/** Loss (for Dice: the sums that it is made from) and labels of the core's pixels, without a backward pass.
 * \param labels as in PredictLabels with the threshold 0.5 and the object 1, with the truth's pitch */
void ScorePixels(const MapView<const float> & map,
                 const PixelLogits &          logits,
                 const CoreRegion &           core,
                 const TruthView &            truth,
                 const LossTerms &            terms,
                 std::uint8_t *               labels,
                 LossSum &                    sum);

/** Logits of the core's pixels, or their probabilities: sigmoid of the only logit, or softmax.
 * \param values one per output channel and pixel of the core, in any layout: interleaved is
 * { values, height, width, 1, width * channels, channels } */
void Predict(const MapView<const float> & map,
             const PixelLogits &          logits,
             const CoreRegion &           core,
             PixelValue                   value,
             const MapView<float> &       values);

/** Labels of the core's pixels, without computing a probability.
 *
 * One output channel: `object` where the probability is at least the threshold (the logit is compared with
 * log(threshold / (1 - threshold)); a probability within about 1e-7 of the threshold may fall on either side), else 0.
 * More: the class of the greatest logit; of two equal ones the second class, as one output channel has it at 0.5, of
 * more the first of equals; threshold and object are not used.
 * \param labels labels[(y - core.y) * pitch + x - core.x] */
void PredictLabels(const MapView<const float> & map,
                   const PixelLogits &          logits,
                   const CoreRegion &           core,
                   double                       threshold,
                   std::uint8_t                 object,
                   std::uint8_t *               labels,
                   std::ptrdiff_t               pitch);

} // namespace kernels
} // namespace gigapixel

#endif

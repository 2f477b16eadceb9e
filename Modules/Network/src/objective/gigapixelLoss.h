/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLoss_h
#define gigapixelLoss_h

#include "gigapixelNetworkDescription.h"
#include "losses/gigapixelLossEntry.h"

namespace gigapixel
{

/** Terms of a network's loss, as far as they are known before any pixel was seen: all but those by sums, which are 0.
 */
GigapixelNetwork_EXPORT LossTerms MakeLossTerms(const NetworkDescription & network);

/** The values that ObjectiveKind::predict() takes. */
inline PixelValue
GetPredictedValue(const NetworkDescription & network)
{
  if (!network.objective.GetKind().takesProbabilities)
  {
    return PixelValue::Logit;
  }
  return network.probabilities == NetworkDescription::Probabilities::Sigmoid ? PixelValue::EachProbability
                                                                             : PixelValue::Probability;
}

// A loss by sums is 1 - sum of w[c] D[c] over the classes of an image, with weights of sum 1. The overlap D of a class,
// such as its Dice, is a fraction of three sums over the pixels: hits p t, probabilities p and truths t, p being the
// probability and t the truth (1 or 0) of a pixel. The loss is no sum over pixels, but its gradient is one as soon as
// the three sums are known: a first pass over the image takes them. Both functions are in units of the mean over
// pixels: loss and gradient times the number of pixels, so that small numbers keep their digits. Where a loss of single
// pixels is added, its weighted mean is brought to these units by the number of pixels over the sum of their weights,
// which is known after that first pass.

/** \param sum of all pixels of the image: its loss and weight become those of the whole image */
GigapixelNetwork_EXPORT void TakeSumLoss(const NetworkDescription & network, LossSum & sum);

/** \param sum of all pixels of the image */
GigapixelNetwork_EXPORT LossTerms MakeSumTerms(const NetworkDescription & network, const LossSum & sum);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLoss_h
#define gigapixelLoss_h

#include "gigapixelNetworkDescription.h"
#include "kernels/gigapixelLossTerms.h"

namespace gigapixel
{

/** A fraction of sums, and the derivatives of its numerator and denominator. */
struct Overlap
{
  double numerator;
  double denominator;
  double numeratorByHits{ 0 };
  double denominatorByHits{ 0 };
  double numeratorByProbabilities{ 0 };
  double denominatorByProbabilities{ 0 };
};

/** Terms of a network's loss, as far as they are known before any pixel was seen: all but those by sums, which are 0.
 */
GigapixelNetwork_EXPORT LossTerms MakeLossTerms(const NetworkDescription & network);

#define GIGAPIXEL_PIXEL_LOSS(Name, file, option, least, most)                                                          \
  double Get##Name##Loss(double logProbability, double & slope);
#define GIGAPIXEL_SUM_LOSS(Name, file, option, least, most)                                                            \
  Overlap Get##Name##Overlap(double hits, double probabilities, double truths);
#include "gigapixelLossList.h"

/** What a class' probability is computed by. */
inline PixelValue
GetProbabilityValue(const NetworkDescription & network)
{
  return network.probabilities == NetworkDescription::Probabilities::Sigmoid ? PixelValue::EachProbability
                                                                             : PixelValue::Probability;
}

// A loss by sums is 1 - sum of w[c] D[c] over the classes of an image, with weights of sum 1. The overlap D of a class,
// such as its Dice, is a fraction of three sums over the pixels: hits p t, probabilities p and truths t, p being the
// probability and t the truth (1 or 0) of a pixel. The loss is no sum over pixels, but its gradient is one as soon as
// the three sums are known: a first pass over the image takes them. Both functions are in units of the mean over
// pixels: loss and gradient times the number of pixels, so that small numbers keep their digits. Where cross-entropy is
// added (nnU-Net's sum, each with the factor 1: Isensee et al., Nature Methods 18, 2021), its weighted mean is brought
// to these units by the number of pixels over the sum of their weights, which is known after that first pass.

/** \param sum of all pixels of the image: its loss and weight become those of the whole image */
GigapixelNetwork_EXPORT void TakeSumLoss(const NetworkDescription & network, LossSum & sum);

/** \param sum of all pixels of the image */
GigapixelNetwork_EXPORT LossTerms MakeSumTerms(const NetworkDescription & network, const LossSum & sum);

} // namespace gigapixel

#endif

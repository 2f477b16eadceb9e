/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLoss_h
#define gigapixelLoss_h

#include "gigapixelNetworkDescription.h"
#include "kernels/gigapixelLossTerms.h"

namespace gigapixel
{

/** Terms of a network's loss, as far as they are known before any pixel was seen: all but Dice's, which are 0. */
GigapixelNetwork_EXPORT LossTerms MakeLossTerms(const NetworkDescription & network);

#define GIGAPIXEL_PIXEL_LOSS(Name, file, option, least, most)                                                          \
  double Get##Name##Loss(double logProbability, double & slope);
#include "gigapixelLossList.h"

/** What a class' probability is computed by. */
inline PixelValue
GetProbabilityValue(const NetworkDescription & network)
{
  return network.probabilities == NetworkDescription::Probabilities::Sigmoid ? PixelValue::EachProbability
                                                                             : PixelValue::Probability;
}

// The Dice loss of an image is 1 - sum of w[c] D[c] over the classes, with weights of sum 1 and
// D[c] = (2 sum of p[c] t[c] + 1) / (sum of p[c] + sum of t[c] + 1),
// p the probability and t the truth (1 or 0) of a pixel (Milletari et al., V-Net, 3DV 2016, without the squares). The
// 1, one pixel, keeps a class that an image lacks from dividing by 0. It is no sum over pixels, but its gradient is one
// as soon as the three sums are known: a first pass over the image takes them. Both functions are in units of the mean
// over pixels: loss and gradient times the number of pixels, so that small numbers keep their digits. Where
// cross-entropy is added to it (nnU-Net's sum, each with the factor 1: Isensee et al., Nature Methods 18, 2021), its
// weighted mean is brought to these units by the number of pixels over the sum of their weights, which is known after
// that first pass.

/** \param sum of all pixels of the image: its loss and weight become those of the whole image */
GigapixelNetwork_EXPORT void TakeDiceLoss(const NetworkDescription & network, LossSum & sum);

/** \param sum of all pixels of the image */
GigapixelNetwork_EXPORT LossTerms MakeDiceTerms(const NetworkDescription & network, const LossSum & sum);

} // namespace gigapixel

#endif

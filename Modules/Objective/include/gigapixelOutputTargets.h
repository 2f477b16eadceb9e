/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOutputTargets_h
#define gigapixelOutputTargets_h

#include "GigapixelObjectiveExport.h"

#include <vector>

namespace gigapixel
{

/** What the outputs of a network should be for one image.
 *
 * The loss of the image is the sum over the outputs z of w f(z, t), with their weights w and targets t. Logistic:
 * f(z, t) = log(1 + exp(z)) - t z, binary cross-entropy of the probability 1 / (1 + exp(-z)). Else f(z, t) = (z - t)^2.
 */
struct GigapixelObjective_EXPORT OutputTargets
{
  std::vector<double> targets;            ///< of each output; NaN: not known, it takes no part
  std::vector<double> weights;            ///< of each output
  bool                isLogistic{ true }; ///< whether outputs are logits, else values

  /** \param outputs become the gradient of the loss \return the loss */
  double TakeLoss(std::vector<double> & outputs) const;
};

/** Sets the weights of all images of one set. The mean over the images of their losses is then the mean of f over all
 * targets that are known.
 * \param balance whether, of each output, the two targets 0 and 1 count the same: f gets the factor n / (2 m) as well,
 * of n images whose target is known, m of which have the same one; where all have the same one, it is 1 */
GigapixelObjective_EXPORT void WeighTargets(std::vector<OutputTargets> & images, bool balance);

} // namespace gigapixel

#endif

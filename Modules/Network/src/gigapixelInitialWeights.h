/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelInitialWeights_h
#define gigapixelInitialWeights_h

#include "gigapixelNetworkDescription.h"

namespace gigapixel
{

/** Weights to begin with, such that no seed stalls.
 *
 * He's normal distribution (variance 2 / fan-in), but output channels in mirrored pairs, w and -w: pixels and the maps
 * behind a ReLU are never negative, so that a drawn filter answers with the same sign nearly everywhere and one of two
 * would be dead from the start; of a mirrored pair one is alive for every input. Biases are 0. The last layer begins
 * at 0.03 of that scale, around the logarithm of the classes' shares, so that the first steps need not unlearn a random
 * picture.
 * \param shares of the classes among the training pixels
 * \return as in ParameterLayout, every value a float */
GigapixelNetwork_EXPORT std::vector<double> MakeInitialWeights(const NetworkDescription &  network,
                                                               std::uint64_t               seed,
                                                               const std::vector<double> & shares);

/** Pixels of each class, counted in blocks on a grid over the labels: enough for the shares, at little cost. */
GigapixelNetwork_EXPORT void CountClasses(LabelSource & labels, std::vector<std::int64_t> & counts);

} // namespace gigapixel

#endif

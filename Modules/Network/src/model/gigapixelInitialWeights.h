/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelInitialWeights_h
#define gigapixelInitialWeights_h

#include "gigapixelNetworkDescription.h"

#include <functional>

namespace gigapixel
{

/** Weights to begin with, such that no seed stalls.
 *
 * Of a network of layers: pixels (inverted) and the maps behind a ReLU are never negative, so that a drawn filter
 * answers with the same sign nearly everywhere, and Adam's steps, which are of one size for all weights, move all of a
 * large kernel the same way: units that the output holds against class 1 are dead after a few steps, and where chance
 * has drawn no other kind the training stalls. Chance is therefore kept out of the signs:
 * - He's normal distribution (variance 2 / fan-in), but output channels in mirrored pairs, w and -w: one of them is
 *   alive for every input.
 * - The last layer's weights are all of one size, three times He's deviation; each pair of its inputs speaks for one
 *   class and against the others, class after class. So there are always units alive that may grow with their class.
 * - The kernel of a transposed convolution begins as one value: the picture grows by its nearest neighbors, as Aitken
 * et al., "Checkerboard artifact free sub-pixel convolution" (2017), do with sub-pixel convolutions. Kernels of random
 *   taps would cancel the gradient on its way down.
 * - Biases are 0, but the last ones: the logarithm of the classes' shares (of their odds for one logit).
 *
 * Of a graph, whose many channels leave less to chance:
 * - He's normal distribution where the output is rectified, with half of the variance where it is not: so the second
 *   moment of the maps stays what it is from operation to operation.
 * - Norms scale by 1 and shift by 0, and their statistics are 0 and 1. They are frozen and so begin as the identity:
 *   they do not hold back the sums of residual blocks, which would double at each of them. The norm that ends the
 *   residual branch of an addition therefore scales by 0 (Goyal et al., "Accurate, large minibatch SGD" (2017)), so
 * that each block begins as its shortcut.
 * - Where residual branches end with a factor for all channels in place of a norm (Zhang, Dauphin, Ma, "Fixup
 *   initialization" (2019)), the last convolution of each and the network's last weights are 0, and the branch's others
 *   are smaller, the more branches there are.
 * - Biases are 0, but the last ones, as above.
 * \param shares of the classes among the training pixels
 * \param threads that draw the arrays of a graph, which changes no bit
 * \return in the order of NetworkDescription::GetParameters(), every value a float; each array depends on the seed and
 * its place alone */
GigapixelNetwork_EXPORT std::vector<double> MakeInitialWeights(const NetworkDescription &  network,
                                                               std::uint64_t               seed,
                                                               const std::vector<double> & shares,
                                                               int                         threads = 1);

/** Pixels of each class, counted in blocks on a grid over the labels: enough for the shares, at little cost.
 * \param report is called before each row of blocks */
GigapixelNetwork_EXPORT void CountClasses(LabelSource &                 labels,
                                          std::vector<std::int64_t> &   counts,
                                          const std::function<void()> & report);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelChannelLines_h
#define gigapixelChannelLines_h

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace gigapixel::torchmodule
{

// What norms over the whole image take of a tile, by LibTorch's operators, on any device. They compute in double, a few
// rows at a time, since a whole map in double would take more memory than the plan counts.

/** Of each channel what its values become: (x - mean) * factor + term. */
struct ChannelLines
{
  std::vector<double> means;
  std::vector<double> factors;
  std::vector<double> terms;
};

/** \param counted of the pixels, 0: they become 0; empty: all count \return in the map's type */
at::Tensor MapLinesInBands(const at::Tensor &                map,
                           const ChannelLines &              lines,
                           const std::vector<std::uint8_t> & counted);

/** The number of pixels that count, of each channel the mean, and of each the sum of squared differences to it: on the
 * CPU. */
at::Tensor SumUpMomentsInBands(const at::Tensor & map, const std::vector<std::uint8_t> & counted);

/** Of each channel the sum of the gradient, and of its product with what the map differs from the mean. */
std::pair<std::vector<double>, std::vector<double>> SumUpProductsInBands(const at::Tensor &          gradient,
                                                                         const at::Tensor &          map,
                                                                         const std::vector<double> & means);

} // namespace gigapixel::torchmodule

#endif

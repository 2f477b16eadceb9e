/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPaddedWindow_h
#define gigapixelPaddedWindow_h

#include "gigapixelGraphGeometry.h"

#include <algorithm>

namespace gigapixel
{

/** \class PaddedWindow
 * \brief How a convolution or pooling of a part of a map is padded: where the real map ends, and nowhere else.
 *
 * Zeros that are the same number at both ends and do not change the number of outputs are left to the operator, which
 * adds them without a copy; else the part has to be copied into a padded one. Of what a kernel of one pixel strides
 * over, the operator sees nothing: the pixels that it reads are copied, and it computes with a stride of 1. */
struct GigapixelNetwork_EXPORT PaddedWindow
{
  /** \param input the part that is read for this part of the output */
  PaddedWindow(const Operation & operation, const Box & input, const Box & output);

  // Along each axis, for the operator.
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> dilation;
  std::vector<std::int64_t> padding;

  std::vector<std::int64_t> taken; ///< strides, where only the pixels they lead to are copied; empty: all are seen

  Box  seen;    ///< what is to be shown to the operator: the input, or one that may end beyond the real map
  bool mirrors; ///< whether there are pixels of the map beyond its end, instead of one value
};

/** The gradient of a convolution's weight is computed in bf16 from so many rows of its output at a time: oneDNN puts
 * both maps into another order for that, which takes as much memory as they do. Rows of a map that the operator
 * pads stay together. */
constexpr std::int64_t
GetBandRows(std::int64_t rows)
{
  constexpr std::int64_t MostBands = 8, LeastRows = 64;
  const std::int64_t     bands = std::clamp<std::int64_t>(rows / LeastRows, 1, MostBands);
  return (rows + bands - 1) / bands;
}

} // namespace gigapixel

#endif

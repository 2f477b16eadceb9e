/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelActivationMap_h
#define gigapixelActivationMap_h

#include "gigapixelSource.h"

#include <array>
#include <vector>

namespace gigapixel
{

/** \class ActivationMap
 * \brief What of an image its label comes from: a value for each pixel of the map that a network pools last.
 *
 * Of networks that pool by attention it is the attention, times the number of pixels that count: 1 is as much as a
 * pixel has on average. Of others it is the class activation (Selvaraju et al., Grad-CAM, ICCV 2017, equations 1 and
 * 2): the channels of the map, weighted by the gradient of the class' logit, and no less than 0. That gradient is
 * summed over pixels and not averaged, so that where the mean is pooled and one layer of neurons follows, the values
 * are parts of the logit: their mean, were there no negative ones, is the logit without its bias. 0 where a pixel does
 * not count.
 */
struct ActivationMap
{
  bool               isAttention{ false }; ///< whether values are attention, else class activation
  int                label{ 0 };           ///< the class whose activation it is
  Size               size;                 ///< of the map, in values
  std::vector<float> values;               ///< row by row
  std::array<double, 2>
    first{}; ///< x, y of the first value's middle in the image, in pixels; 0: the middle of its first
  std::array<double, 2> step{}; ///< from value to value, in pixels of the image
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelImageNorms_h
#define gigapixelImageNorms_h

#include "gigapixelModel.h"

namespace gigapixel
{

/** The same network whose batch norms take the statistics of each image, over all of its pixels, in place of those that
 * they keep: instance norms with the same factors. \throw std::invalid_argument it has no batch norms, or one of a map
 * of one pixel, or is not computed then */
Model TakeNormsOfImage(Model model);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelClassifierPresets_h
#define gigapixelClassifierPresets_h

#include "gigapixelNetworkPresets.h"

namespace gigapixel
{

/** ResNet (He et al., CVPR 2016; of 50 in version 1.5) with its mean over the whole image, whatever its size.
 * \param depth 18, 34 or 50 */
NetworkPreset MakeResNetPreset(int depth);

} // namespace gigapixel

#endif

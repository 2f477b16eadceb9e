/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelUNetPresets_h
#define gigapixelUNetPresets_h

#include "gigapixelNetworkPresets.h"

namespace gigapixel
{

/** The U-Net of Ronneberger et al., MICCAI 2015, with padded convolutions, so that its output has the image's size. */
NetworkPreset MakeUNetPreset();

/** The 3D U-Net of Cicek et al., MICCAI 2016, with padded convolutions likewise. */
NetworkPreset MakeUNetOfVolumesPreset();

/** A decoder as U-Nets have it behind a ResNet (He et al., CVPR 2016).
 * \param depth 18, 34 or 50 */
NetworkPreset MakeResNetUNetPreset(int depth);

} // namespace gigapixel

#endif

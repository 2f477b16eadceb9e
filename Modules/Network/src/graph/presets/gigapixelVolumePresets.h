/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumePresets_h
#define gigapixelVolumePresets_h

#include "gigapixelNetworkPresets.h"

namespace gigapixel
{

/** The network of Myronenko, 3D MRI brain tumor segmentation using autoencoder regularization, BrainLes 2018, without
 * the autoencoder, as MONAI's SegResNet has it by default, and under its names. */
NetworkPreset MakeSegResNetPreset();

/** MeshNet (Fedorov et al., End-to-end learning of brain tissue segmentation from imperfect labeling, IJCNN 2017), as
 * brainchop has it, and under its names. */
NetworkPreset MakeMeshNetPreset();

} // namespace gigapixel

#endif

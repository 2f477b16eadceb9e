/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef VolumePrediction_h
#define VolumePrediction_h

#include "NetworkCommands.h"

#include "gigapixelModel.h"
#include "itkGigapixelVolumeSource.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel::commandline
{

/** The labels of a volume. */
struct VolumePrediction
{
  std::vector<std::uint8_t> labels; ///< a byte for each voxel of the volume, x fastest
  std::string               steps;  ///< for people, what was done beside the network; empty: nothing
};

/** Reads a volume, shows the network what its description says: the box around what is not 0, normalized and brought
 * to the spacing that it was trained on; and gives what it makes of that in the volume's own voxels.
 * \throw Interrupted */
VolumePrediction PredictVolume(const itk::GigapixelVolume & volume,
                               const Model &                model,
                               const MemoryPlan &           plan,
                               const Tiling &               tiling,
                               const ArgumentValues &       values,
                               Progress &                   progress);

/** How many voxels the network is shown at most: those of the volume, at the spacing that it was trained on. */
Size GetShownSize(const itk::GigapixelVolume & volume, const NetworkDescription & network);

} // namespace gigapixel::commandline

#endif

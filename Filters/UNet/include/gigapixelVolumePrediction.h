/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumePrediction_h
#define gigapixelVolumePrediction_h

#include "GigapixelUNetExport.h"
#include "gigapixelDevice.h"
#include "gigapixelModel.h"

#include <functional>
#include <memory>
#include <string>

namespace gigapixel
{

/** How a volume is computed. None of it changes a result but the threshold, and the tiles' size last bits. */
struct VolumeRun
{
  double       threshold{ 0.5 };
  int          threads{ 0 };  ///< 0: as many as the machine has cores
  std::int64_t memory{ 0 };   ///< peak resident bytes of the process; 0: the machine's
  std::int64_t tileSize{ 0 }; ///< side of a tile's core in voxels; WholeImage: one tile; 0: the plan's
  Device       device{};
  std::string  scratch; ///< folder for maps of a network that sees the whole volume; empty: in memory
};

/** \throw std::runtime_error a sentence where the model does not take volumes of so many channels, or labels whole ones
 */
GigapixelUNet_EXPORT void CheckTakesVolume(const Model & model, Size size, unsigned channels);

/** A volume as the network takes it, its values normalized, and predicted exactly.
 * \param voxels in memory
 * \param labels of Predictor::PredictLabels(), a byte for each voxel; or null
 * \param probabilities of Predictor::Predict(), in its place
 * \param progress called with 0..1; returning false stops
 * \return false: it was stopped
 * \throw std::runtime_error, std::invalid_argument what does not suit; MemoryLimitError it has no room */
GigapixelUNet_EXPORT bool PredictVolume(const Model &                        model,
                                        const std::shared_ptr<PixelSource> & voxels,
                                        const VolumeRun &                    run,
                                        std::uint8_t *                       labels,
                                        float *                              probabilities,
                                        const std::function<bool(double)> &  progress);

} // namespace gigapixel

#endif

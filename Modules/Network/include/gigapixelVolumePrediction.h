/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumePrediction_h
#define gigapixelVolumePrediction_h

#include "gigapixelMemoryPlan.h"
#include "gigapixelModel.h"
#include "gigapixelVolumeOrientation.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** How the labels of a volume are computed. */
struct VolumeRun
{
  double                       threshold{ 0.5 }; ///< of networks with one output: class 1 is where it is at least this
  int                          threads{ 0 };     ///< tiles, or patches, at the same time; 0: as many as there are cores
  std::int64_t                 tileSize{ 0 };    ///< side of a tile's core in voxels; 0: the model's
  std::optional<VolumePatches> patches{};        ///< none: the network sees the whole volume, exactly
  Device                       device{};         ///< what computes; the CPU by default
  std::string                  scratch{};        ///< folder for maps that are kept; empty: in memory
  std::vector<SegmentPlan>     segments{};       ///< as the plan has them; none: the network at once
};

/** The labels of a volume. */
struct VolumePrediction
{
  std::vector<std::uint8_t> labels; ///< a byte for each voxel of the volume, x fastest
  std::string               steps;  ///< for people, what was done beside the network; empty: nothing
};

/** How a volume is brought to the orientation and order of axes that the network was trained on. */
GigapixelNetwork_EXPORT AxisOrder FindAxisOrder(const VolumeGrid & grid, const NetworkDescription & network);

/** What to say of a volume where nothing is known of the orientation that a network of elsewhere was trained on, and
 * the volume has another one than RAS, the usual one: to it volumes are brought by MONAI's Orientationd and by
 * nibabel's as_closest_canonical(), as they are mostly called. */
GigapixelNetwork_EXPORT std::optional<Diagnostic> DoubtOrientation(const VolumeGrid &         grid,
                                                                   const NetworkDescription & network);

/** Voxels along x, y and z that the network is shown at most: those of the volume, in the order of axes and at the
 * spacing that it was trained on. */
GigapixelNetwork_EXPORT Size GetShownSize(const VolumeGrid & grid, const NetworkDescription & network);

/** Bytes that this takes beside the volume and the network's maps: all channels at the other spacing, and the network's
 * output for some slices, which are brought back together. 0 where the spacing is that of the model. */
GigapixelNetwork_EXPORT std::int64_t GetResamplingBytes(const VolumeGrid & grid, const NetworkDescription & network);

/** Bytes of results that there are at most beside the network's maps, with those that the caller gets: labels or
 * probabilities in the order of axes that the network was trained on, and in the volume's own. */
GigapixelNetwork_EXPORT std::int64_t GetResultBytes(const VolumeGrid &         grid,
                                                    const NetworkDescription & network,
                                                    bool                       isProbability);

/** Shows the network what its description says: the volume in the orientation that it was trained on, the box around
 * what is not 0, normalized and brought to the spacing; and gives what it makes of that in the volume's own voxels.
 * \param voxels as their file says them \param grid of the volume
 * \param progress called with 0..1; returning false stops
 * \return none: it was stopped */
GigapixelNetwork_EXPORT std::optional<VolumePrediction> PredictVolume(const std::shared_ptr<PixelSource> & voxels,
                                                                      const VolumeGrid &                   grid,
                                                                      const Model &                        model,
                                                                      const VolumeRun &                    run,
                                                                      const std::function<bool(double)> &  progress);

/** Probabilities as Predictor::Predict() has them, of a network that sees the volume as it is, but for its values.
 * \return false: it was stopped
 * \throw std::runtime_error the network crops volumes, or sees them at another spacing, or there are patches: of that
 * there are labels alone */
GigapixelNetwork_EXPORT bool PredictVolumeProbabilities(const std::shared_ptr<PixelSource> & voxels,
                                                        const VolumeGrid &                   grid,
                                                        const Model &                        model,
                                                        const VolumeRun &                    run,
                                                        float *                              probabilities,
                                                        const std::function<bool(double)> &  progress);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumePatchPredictor_h
#define gigapixelVolumePatchPredictor_h

#include "gigapixelDevice.h"
#include "gigapixelModel.h"

#include <functional>
#include <memory>
#include <vector>

namespace gigapixel
{

/** \class VolumePatchPredictor
 * \brief What a model makes of a volume patch by patch, see VolumePatches.
 *
 * Several patches are computed at the same time, each by one thread; their logits are added in the patches' order, so
 * that all bits are the same for any number of threads. Only as many slices are summed up at a time as a patch is deep:
 * those that no later patch reaches are given, and make room. */
class GigapixelNetwork_EXPORT VolumePatchPredictor
{
public:
  using Progress = std::function<bool(double)>; ///< gets 0 to 1; returning false stops

  /** Gets the logits of a slice, row by row, channels interleaved, and may change them. Slices come in their order. */
  using Take = std::function<void(std::int64_t z, std::vector<float> & logits)>;

  /** \param model is not kept
   * \param threads 0: as many as the machine has cores
   * \throw std::invalid_argument the patches do not suit the network */
  VolumePatchPredictor(const Model & model, const VolumePatches & patches, int threads = 0, Device device = {});
  ~VolumePatchPredictor();

  /** \param volume normalized as the network's description says
   * \param progress called with 0..1, by the calling thread \return false if it stopped it */
  bool PredictLogits(PixelSource & volume, const Take & take, const Progress & progress = {});

  /** Labels of all voxels, x fastest, as Predictor::PredictLabels() has them. */
  bool PredictLabels(PixelSource & volume, double threshold, std::uint8_t * labels, const Progress & progress = {});

  /** The label of each voxel of a slice whose logits were taken.
   * \param threshold of networks with one output, as a probability */
  void GetLabels(const std::vector<float> & logits, double threshold, std::uint8_t * labels) const;

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif

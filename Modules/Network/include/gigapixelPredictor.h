/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPredictor_h
#define gigapixelPredictor_h

#include "gigapixelDevice.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelModel.h"
#include "gigapixelPatches.h"

#include <functional>
#include <memory>
#include <optional>

namespace gigapixel
{

/** \class Predictor
 * \brief A model's probabilities for any region of an image, exact: the same bits for every way of asking.
 *
 * The image is covered by tiles on a grid that is anchored at its origin; each tile is computed by one thread from its
 * core and halo. With Patches the network sees each patch by itself; the tiles are those that are computed together. */
class GigapixelNetwork_EXPORT Predictor
{
public:
  /** \param model is not kept
   * \param threads 0: as many as the machine has cores
   * \param patches how the network is applied patch by patch; without them it is applied to the whole image
   * \param tileSize 0: the model's; patches have their own
   * \param scratch folder for maps that are kept, in files without a name; empty: in memory
   * \param segments as a plan has them; none: the network at once. A network that sees the whole image has its own.
   * \throw std::invalid_argument patches that do not suit the network */
  explicit Predictor(const Model &                    model,
                     int                              threads = 0,
                     Device                           device = {},
                     const std::optional<Patches> &   patches = {},
                     std::int64_t                     tileSize = 0,
                     const std::string &              scratch = {},
                     const std::vector<SegmentPlan> & segments = {});
  ~Predictor();

  const NetworkDescription & GetNetwork() const; ///< of the model

  /** Channels of the probability map: the network's one (of class 1 of two), or one per class. */
  int GetNumberOfOutputChannels() const;

  /** Side of the tiles. */
  std::int64_t GetTileSize() const;

  /** The region grown to whole tiles, clipped to the image. */
  Region GetTiles(const Region & region, Size image) const;

  /** The pixels that Predict() reads for this region: its tiles and their halo, clipped to the image; of patches those
   * that it has not kept from the region above, width 0: none; of a network that sees the whole image, and in segments,
   * all of them, the first time. */
  Region GetInputRegion(const Region & region, Size image) const;

  /** Writes region.width * region.height * channels probabilities, interleaved.
   * \param progress called with 0..1, from one thread at a time; returning false stops: Predict() then returns false */
  bool Predict(PixelSource &                       image,
               const Region &                      region,
               float *                             probabilities,
               const std::function<bool(double)> & progress = {});

  /** Writes region.width * region.height labels without computing probabilities, which takes a quarter less time: 1
   * where that of class 1 is at least the threshold, else 0; with an output channel for each class the most probable
   * one, whatever the threshold: of two equal ones class 1, as with a threshold of 0.5, of more the first. A
   * probability within about 1e-7 of the threshold may fall on either side.
   */
  bool PredictLabels(PixelSource &                       image,
                     const Region &                      region,
                     double                              threshold,
                     std::uint8_t *                      labels,
                     const std::function<bool(double)> & progress = {});

  /** Forgets what it has kept of an image, because its pixels have changed or those of another come. Only of patches is
   * anything kept, and of a network that sees the whole image or goes over it in segments, which happens before it
   * predicts a region. */
  void Clear();

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelActivationPass_h
#define gigapixelActivationPass_h

#include "gigapixelActivationMap.h"
#include "maps/gigapixelTileData.h"
#include "gigapixelWorkers.h"
#include "schedule/gigapixelSegment.h"

#include <functional>

namespace gigapixel
{

class GraphPasses;

/** \class ActivationPass
 * \brief One more pass over an image that has been labeled: where the label comes from. */
class ActivationPass
{
public:
  /** \param pooling the segment of the operation that pools \throw std::invalid_argument its map is read otherwise, too
   */
  ActivationPass(std::shared_ptr<const GraphGeometry> geometry, const Segment & pooling);

  /** The map without its values. \throw std::invalid_argument of a volume there is none */
  ActivationMap MakeMap() const;

  /** \param maps with the sums and the gradients of what was pooled
   * \param data for each worker
   * \param report is called with 0..1; false stops
   * \return false if it was stopped */
  bool Run(const GraphPasses &                 passes,
           KeptMaps &                          maps,
           PixelSource &                       pixels,
           Workers &                           workers,
           std::vector<TileData> &             data,
           const std::function<bool(double)> & report,
           ActivationMap &                     map) const;

private:
  /** Of the channels of the map that is gone over. */
  std::vector<double> GetWeights(const KeptMaps & maps) const;

  const std::shared_ptr<const GraphGeometry> m_Geometry;
  const int                                  m_Pooling;
  const bool                                 m_ByAttention; ///< the map is that of its scores
  Segment                                    m_Segment;     ///< of the map
  std::vector<int>                           m_Poolings;    ///< of the map, but for attention
};

} // namespace gigapixel

#endif

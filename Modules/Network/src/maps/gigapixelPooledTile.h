/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPooledTile_h
#define gigapixelPooledTile_h

#include "gigapixelFeatures.h"
#include "gigapixelTileData.h"
#include "graph/gigapixelGraphGeometry.h"

#include <vector>

namespace gigapixel
{

/** \class PooledTile
 * \brief A tile of the map that a network pools. */
struct PooledTile
{
  /** Keeps one vector if all are the same, as those of glass are. \return whether they are */
  bool KeepOne(std::size_t pixels);

  /** \param pooling the operation \param of the tile, with what counts */
  Features GetFeatures(const GraphGeometry & geometry, int pooling, const TileData & of) const;

  std::vector<double> sums;    ///< see ReductionSchema
  std::vector<float>  vectors; ///< of its pixels, row by row; one alone: of all of them
};

} // namespace gigapixel

#endif

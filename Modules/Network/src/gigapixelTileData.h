/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTileData_h
#define gigapixelTileData_h

#include "gigapixelMapMemory.h"
#include "gigapixelTileGrid.h"

#include <stdexcept>

namespace gigapixel
{

/** What a tile is computed from, and where; a worker fills the same object again and again, so that its memory stays.
 */
struct TileData
{
  Tile                      tile;
  std::vector<std::uint8_t> pixels;  ///< of the window, channels interleaved; white beyond the image
  std::vector<std::uint8_t> classes; ///< of the core
  MapMemory                 maps;
};

GigapixelNetwork_EXPORT void ReadPixels(PixelSource & source, const Tile & tile, TileData & data);

/** A class that is none of the network's. */
struct LabelError : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

/** The network's ignored label becomes LabelSource::Ignored.
 * \throw LabelError when a class is none of the network's */
GigapixelNetwork_EXPORT void ReadClasses(LabelSource &              source,
                                         const Tile &               tile,
                                         const NetworkDescription & network,
                                         TileData &                 data);

} // namespace gigapixel

#endif

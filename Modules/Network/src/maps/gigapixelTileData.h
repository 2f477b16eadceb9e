/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTileData_h
#define gigapixelTileData_h

#include "gigapixelDiagnostic.h"
#include "schedule/gigapixelMapMemory.h"
#include "schedule/gigapixelTileGrid.h"

#include <stdexcept>

namespace gigapixel
{

class KeptMaps;
class Turns;

/** What a tile is computed from, and where; a worker fills the same object again and again, so that its memory stays.
 */
struct TileData
{
  Tile                      tile;
  std::vector<std::uint8_t> pixels; ///< of the window if they were copied: channels interleaved, white beyond the
                                    ///< image; bytes of floats where the source has these
  SampleType                sampleType{ SampleType::UInt8 };
  RowsInMemory              rows;    ///< the window's pixels, for the CPU: those above, or where their source has them
  std::vector<std::uint8_t> classes; ///< of the core
  MapMemory                 maps;

  /** Of the core's pixels, where they are reduced: 1 for those that count; nothing: all do. See FindCounted(). */
  std::vector<std::uint8_t> counted;

  KeptMaps *   kept{ nullptr };  ///< of the image, where its program reads or writes some
  Turns *      turns{ nullptr }; ///< in which gradients are added to theirs
  std::int64_t turn{ 0 };        ///< this tile's

  /** Where a GPU finds pixels and classes in memory that it shares, instead of the above. */
  struct InMemory
  {
    SamplesInMemory pixels;  ///< of the window
    SamplesInMemory classes; ///< of the core
    Size            real;    ///< of the window's part that the image has; white beyond
  } inMemory;
};

GigapixelNetwork_EXPORT void ReadPixels(PixelSource & source, const Tile & tile, TileData & data);

/** For the CPU: leaves the pixels where the source has them, if the whole window lies there; else reads them. */
GigapixelNetwork_EXPORT void FindPixels(PixelSource & source, const Tile & tile, TileData & data);

/** For a GPU, from sources that lie in memory that it shares. \return false, and nothing done, if they do not */
GigapixelNetwork_EXPORT bool PointTo(const PixelSource & pixels,
                                     const LabelSource & labels,
                                     const Tile &        tile,
                                     TileData &          data);

/** The same for pixels only. */
GigapixelNetwork_EXPORT bool PointTo(const PixelSource & pixels, const Tile & tile, TileData & data);

struct BytesInMemory
{
  const std::uint8_t * first{ nullptr };
  std::size_t          size{ 0 };
};

/** At the first tile of a row of tiles: where the pixels of that row and of the next one lie, so that the latter come
 * while the former are computed. Nothing at other tiles, and where the picture lies turned: its rows are the memory's
 * columns, which come page by page when they are read. */
GigapixelNetwork_EXPORT BytesInMemory GetComingRows(const PixelSource & pixels,
                                                    const Tile &        tile,
                                                    std::int64_t        tileSize);

/** A class that is none of the network's. */
struct LabelError : Refusal
{
  using Refusal::Refusal;
};

/** The network's ignored label becomes LabelSource::Ignored.
 * \throw LabelError when a class is none of the network's */
GigapixelNetwork_EXPORT void ReadClasses(LabelSource &              source,
                                         const Tile &               tile,
                                         const NetworkDescription & network,
                                         TileData &                 data);

/** Whether a tile has nothing for the loss, and so need not be computed in training. */
GigapixelNetwork_EXPORT bool TakesNoPart(const std::vector<std::uint8_t> & classes);

} // namespace gigapixel

#endif

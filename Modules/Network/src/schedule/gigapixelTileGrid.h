/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTileGrid_h
#define gigapixelTileGrid_h

#include "gigapixelNetworkDescription.h"
#include "graph/gigapixelGraphGeometry.h"

#include <memory>

namespace gigapixel
{

struct TileProgram;

/** One tile: what it answers for, and what it must see to do so. */
struct Tile
{
  Region core;   ///< real pixels of the image; the cores cover the image once
  Region window; ///< core and halo on the canvas, multiples of the stride; it may reach beyond the image
  std::shared_ptr<const TileProgram> program{}; ///< of a network that is a graph: its window ends where the image does
  std::int64_t greatestWindow{ 0 };             ///< pixels of a chain of layers' TileGrid::GetGreatestWindow()
};

struct Segment;

/** \class TileGrid
 * \brief The tiles of an image: a grid anchored at its origin.
 *
 * The window of a network that is a graph is what the core is computed from, clipped to the image. For a chain of
 * layers: The canvas is the image, padded right and bottom to a multiple of the stride. A window is the core grown by
 * the halo and clipped to the canvas: at the canvas' edge each layer's own zero padding acts as it does on the whole
 * canvas, elsewhere that padding only reaches halo values that the core does not use. */
class GigapixelNetwork_EXPORT TileGrid
{
public:
  /** \param network has to live as long as this
   * \param tileSize side of a core, a multiple of the network's stride; WholeImage: one tile
   * \param training whether tiles are for a backward pass, too */
  TileGrid(const NetworkDescription & network, Size image, std::int64_t tileSize, bool training = false);

  /** Of a segment's map. */
  TileGrid(std::shared_ptr<const GraphGeometry> geometry, const Segment & segment, bool training);

  std::int64_t
  GetNumberOfTiles() const
  {
    return m_Columns * m_Rows * m_Slices;
  }

  std::int64_t
  GetNumberOfColumns() const
  {
    return m_Columns;
  }

  std::int64_t
  GetNumberOfRows() const
  {
    return m_Rows;
  }

  std::int64_t
  GetNumberOfSlices() const
  {
    return m_Slices;
  }

  /** Of a tile of a network that is a graph, by its place along each axis. */
  std::int64_t
  GetIndex(const PerAxis<std::int64_t> & place) const
  {
    const int          last = place.GetNumberOfAxes() - 1;
    const std::int64_t slice = last > 1 ? place[0] : 0;
    return (slice * m_Rows + place[last - 1]) * m_Columns + place[last];
  }

  /** Row by row, and slice by slice. */
  Tile GetTile(std::int64_t index) const;

  /** Indices of the tiles whose cores touch the region, ascending. */
  std::vector<std::int64_t> GetTilesOf(const Region & region) const;

  /** The region grown to whole cores. */
  Region GrowToTiles(const Region & region) const;

  /** The pixels of the image in the windows of the region's tiles. */
  Region GetInputRegion(const Region & region) const;

  /** Those that one tile reads, of no width where it reads kept maps alone. Cheaper than the tile, whose program is not
   * made. */
  Region GetInputOf(std::int64_t index) const;

  std::int64_t
  GetTileSize() const
  {
    return m_TileSize;
  }

  Size
  GetCanvas() const
  {
    return m_Canvas;
  }

  /** Of a chain of layers: no window is wider or higher, and one is as wide, and one as high. */
  Size GetGreatestWindow() const;

private:
  Region GetSquare(std::int64_t index) const;

  Region GetWindow(const Region & core) const;

  std::int64_t GetGreatestSide(std::int64_t canvas) const;

  std::shared_ptr<const GraphGeometry> m_Graph; ///< null for a chain of layers
  int                                  m_Target{ 0 };
  std::vector<int>                     m_Kept;
  bool                                 m_Training;

  Size         m_Image; ///< or the segment's map
  Size         m_Canvas;
  std::int64_t m_TileSize;
  std::int64_t m_Halo{ 0 }; ///< of a chain of layers
  std::int64_t m_Columns;
  std::int64_t m_Rows;
  std::int64_t m_Slices;
};

/** The tile size itself, or that of the one tile where it is WholeImage. */
GigapixelNetwork_EXPORT std::int64_t GetTileSide(std::int64_t tileSize, Size image, std::int64_t stride);

/** The region grown to whole cells of a grid with this side, clipped to the image. */
GigapixelNetwork_EXPORT Region GrowToTiles(const Region & region, std::int64_t side, Size image);

/** All of an image. */
GigapixelNetwork_EXPORT Region GetWhole(Size image);

/** Pixels that both have; of zero size where there are none. */
GigapixelNetwork_EXPORT Region Intersect(const Region & a, const Region & b);

inline std::int64_t
RoundUp(std::int64_t value, std::int64_t multiple)
{
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace gigapixel

#endif

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
  std::shared_ptr<const TileProgram> program{};           ///< what is computed; our own kernels' has no steps
  std::int64_t                       greatestWindow{ 0 }; ///< pixels of CanvasWindows::GetGreatestWindow()
};

struct Segment;

/** \class TileWindows
 * \brief What the tiles of an image see, and what is computed for them, as an executor wants it. */
class TileWindows
{
public:
  virtual ~TileWindows() = default;

  /** \param square of the grid, which may reach beyond the image \param core its part in the image */
  virtual Tile MakeTile(const Region & square, const Region & core) const = 0;

  /** See TileGrid::GetInputOf(). */
  virtual Region GetInputOf(const Region & core) const = 0;

  /** See TileGrid::GetInputRegion(). \param tiles a region of whole cores */
  virtual Region GetInputRegion(const Region & tiles) const = 0;
};

/** \class TileGrid
 * \brief The tiles of an image: a grid anchored at its origin.
 *
 * The windows are those of the network's executor: what the core is computed from, clipped to the image, or
 * CanvasWindows. */
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

private:
  Region GetSquare(std::int64_t index) const;

  Size                               m_Image; ///< or the segment's map
  std::int64_t                       m_TileSize;
  std::shared_ptr<const TileWindows> m_Windows;
  std::int64_t                       m_Columns;
  std::int64_t                       m_Rows;
  std::int64_t                       m_Slices;
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

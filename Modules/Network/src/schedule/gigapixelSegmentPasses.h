/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSegmentPasses_h
#define gigapixelSegmentPasses_h

#include "gigapixelSegment.h"
#include "gigapixelTileGrid.h"

namespace gigapixel
{

/** One run over all tiles of a segment. */
struct SegmentPass
{
  enum class Kind
  {
    Map,     ///< writes the segment's map
    Output,  ///< of the last segment, without a backward pass
    Loss,    ///< of the last segment, and its backward pass
    Gradient ///< the backward pass from the gradient of the segment's map
  };

  Kind        kind;
  std::size_t segment;

  bool
  IsBackward() const
  {
    return kind == Kind::Loss || kind == Kind::Gradient;
  }
};

/** \class SegmentPasses
 * \brief Passes over segments as one row of items, the tiles of all passes, and which items a tile has to wait for:
 * those that write what it reads.
 *
 * So the tiles of a pass begin while the last ones of the pass before are still computed, and no thread rests at a
 * pass' end. */
class GigapixelNetwork_EXPORT SegmentPasses
{
public:
  /** \param passes in an order in which each finds what it reads
   * \param segments have to live as long as this */
  SegmentPasses(const std::shared_ptr<const GraphGeometry> & geometry,
                const std::vector<Segment> &                 segments,
                const std::vector<SegmentPass> &             passes);

  std::int64_t
  GetNumberOfItems() const
  {
    return m_Runs.empty() ? 0 : m_Runs.back().begin + m_Runs.back().grid.GetNumberOfTiles();
  }

  const SegmentPass &
  GetPass(std::int64_t item) const
  {
    return FindRun(item).pass;
  }

  Tile GetTile(std::int64_t item) const;

  /** Pixels of the image that the item's tile reads; of no width where it reads maps alone. */
  Region GetInputOf(std::int64_t item) const;

  /** What part of its pass is done with this item, from 0 to 1. */
  double GetDone(std::int64_t item) const;

  /** So many items, the first ones, have to be finished before this one is computed.
   * \param program of the item's tile */
  std::int64_t GetNeeded(std::int64_t item, const TileProgram & program) const;

private:
  /** Where the tiles of a backward pass begin to read a map that is kept, by their row and by their column; no later
   * ones begin before. */
  using Begins = PerAxis<std::vector<std::int64_t>>;

  struct Run
  {
    SegmentPass           pass;
    std::int64_t          begin; ///< its first item
    TileGrid              grid;
    bool                  reduces; ///< its map is there with its last tile
    std::map<int, Begins> reads{}; ///< of a backward pass, by the kept map's operation
  };

  const Run & FindRun(std::int64_t item) const;

  void FindReads(const GraphGeometry & geometry, const Segment & segment, Run & run) const;

  /** Items until the last one of the run that writes a part of its map, or adds to the gradient of a part of it. */
  std::int64_t CountWriters(const Run & run, const Box & part) const;
  std::int64_t CountAdders(const Run & run, int operation, const Box & part) const;

  const std::shared_ptr<const GraphGeometry> m_Geometry;
  const std::vector<Segment> &               m_Segments;
  std::vector<Run>                           m_Runs;
};

} // namespace gigapixel

#endif

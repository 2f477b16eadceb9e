/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGraphTileCost_h
#define gigapixelGraphTileCost_h

#include "gigapixelMemoryPlan.h"

#include <functional>
#include <map>

namespace gigapixel
{

/** \class GraphTileCost
 * \brief What tiles of one size take for a network that is a graph, from the programs that run. */
struct GigapixelNetwork_EXPORT GraphTileCost
{
  /** Which tiles of an image are computed at the same time: those of a row, after which the results are written, or
   * any. */
  enum class Together
  {
    Row,
    All
  };

  std::int64_t tiles{ 0 };
  int          passes{ 1 };         ///< over the image, of segments one each
  std::int64_t bytes{ 0 };          ///< of one tile at a time, the greatest
  std::int64_t hostBytes{ 0 };      ///< of these, what is in the CPU's memory where a GPU has the maps
  std::int64_t primitives{ 0 };     ///< that the library of operators compiles for the shapes of the tiles
  std::int64_t primitiveBytes{ 0 }; ///< of one of them
  std::int64_t keptBytes{ 0 };      ///< of maps between segments and their gradients, in memory at the same time
  std::int64_t scratchBytes{ 0 };   ///< of them, in files: see GetScratchBytes()
  std::int64_t reducedBytes{ 0 };   ///< of what the image is reduced to, which is in memory always
  double       operations{ 0 };     ///< of the whole image: multiplications and additions, halos counted
  double       seconds{ 0 };        ///< of one core of the machine in Documentation/evidence/index.md

  /** Of the tiles that may be computed at the same time, in each group of them, how many take so many bytes. */
  std::vector<std::map<std::int64_t, std::int64_t, std::greater<>>> groups{};

  static GraphTileCost Make(const NetworkDescription & network,
                            Size                       image,
                            Purpose                    purpose,
                            std::int64_t               tileSize,
                            Precision                  precision,
                            Together                   together = Together::All);

  /** In segments. */
  static GraphTileCost Make(const NetworkDescription &       network,
                            Size                             image,
                            const std::vector<SegmentPlan> & segments,
                            Purpose                          purpose,
                            Precision                        precision);

  /** Tiles of the largest group. */
  std::int64_t GetMostTogether() const;

  /** Of so many tiles at a time, those of a group that take most. */
  std::int64_t GetBytes(std::int64_t together) const;

  /** Of all primitives that are kept. \param sizes PlannedRun::sizes \param others primitives that are kept beside
   * these, of each size */
  std::int64_t GetPrimitiveBytes(int sizes, std::int64_t others = 0) const;
};

/** Most primitives that are kept, so that tiles of many shapes, of images of many sizes, take no more than is planned
 * for them; a row of inner tiles has fewer, and to compile one anew takes a millisecond. */
constexpr int MostPrimitives = 512;

} // namespace gigapixel

#endif

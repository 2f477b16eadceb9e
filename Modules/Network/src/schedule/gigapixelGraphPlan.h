/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGraphPlan_h
#define gigapixelGraphPlan_h

#include "gigapixelMemoryPlan.h"

namespace gigapixel
{

/** \class GraphTileCost
 * \brief What tiles of one size take for a network that is a graph, from the programs that run. */
struct GigapixelNetwork_EXPORT GraphTileCost
{
  std::int64_t tiles{ 0 };
  std::int64_t bytes{ 0 };      ///< of one tile at a time, the greatest
  double       operations{ 0 }; ///< of the whole image: multiplications and additions, halos counted
  double       seconds{ 0 };    ///< of one core of the machine in Documentation/Performance.md

  static GraphTileCost Make(const NetworkDescription & network, Size image, Purpose purpose, std::int64_t tileSize);
};

/** MemoryPlan::Make() for a network that is a graph.
 *
 * The tile size follows from network, image, purpose and a class of memory for one tile: the fastest one that stays
 * within it. The class is 1 GiB, or as many times half of it as lets one tile fit the budget; beyond that the budget
 * only decides how many tiles are computed at the same time, which changes no bit.
 * \param tileSize 0: chosen as above; as great as the image: the image in one piece
 * \throw MemoryLimitError not one tile fits */
MemoryPlan MakeGraphPlan(const NetworkDescription & network,
                         Size                       image,
                         Purpose                    purpose,
                         Strategy                   strategy,
                         std::int64_t               budget,
                         int                        threads,
                         std::int64_t               tileSize);

} // namespace gigapixel

#endif

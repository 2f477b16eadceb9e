/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSegment_h
#define gigapixelSegment_h

#include "gigapixelMemoryPlan.h"
#include "graph/gigapixelGraphGeometry.h"

#include <map>

namespace gigapixel
{

/** \class Segment
 * \brief A part of a network that goes over the image by itself, with tiles of its own: from the image and the maps
 * that earlier segments have left whole to the map that it leaves, or to the output.
 *
 * What a kept map does not hold up is computed again from the image: any maps may be kept, and the result is the same
 * function. Halos are those of a segment, not of the whole network. */
struct Segment
{
  int              operation; ///< whose map it computes
  std::int64_t     tileSize;  ///< side of a tile's core, in pixels of what GraphGeometry::GetTiled() says
  std::vector<int> kept{};    ///< operations whose maps earlier segments have left
};

/** Of operations whose maps are to be kept: those that make segments, in their order, and those that reduce the image.
 * Each stands for its map as its readers see it; the image, the output and what nobody reads are left out. */
GigapixelNetwork_EXPORT std::vector<int> FindKept(const GraphGeometry & geometry, const std::vector<int> & operations);

/** \param operations as FindKept() returns them; the output follows \param tileSizes theirs, and the output's */
GigapixelNetwork_EXPORT std::vector<Segment> MakeSegments(const GraphGeometry &             geometry,
                                                          const std::vector<int> &          operations,
                                                          const std::vector<std::int64_t> & tileSizes);

/** Operations whose maps others read beside what they are reduced to, as norms do: each of them, and all that lies
 * before it, would be computed again behind every reduction. */
GigapixelNetwork_EXPORT std::vector<int> FindReducedAndRead(const GraphGeometry & geometry);

/** Those that end where operations reduce the image, and, in a network that labels pixels, at the maps that
 * FindReducedAndRead() tells, so that each operation is computed once. \param tileSize in pixels of the image */
GigapixelNetwork_EXPORT std::vector<SegmentPlan> MakeReducingSegments(const GraphGeometry & geometry,
                                                                      std::int64_t          tileSize);

/** Of the maps of these operations that reduce no image, which are all kept at the same time.
 * \param valueBytes of a float or a double
 * \param gradients whether theirs are kept, too */
GigapixelNetwork_EXPORT std::int64_t GetKeptBytes(const GraphGeometry &    geometry,
                                                  const std::vector<int> & operations,
                                                  int                      valueBytes,
                                                  bool                     gradients = true);

/** The most bytes of maps between segments that reduce no image and, in training, of their gradients, that are kept at
 * the same time: a map is given back when nobody reads it any more, and a gradient takes its memory when it is first
 * added to. */
GigapixelNetwork_EXPORT std::int64_t GetMostKeptBytes(const GraphGeometry &        geometry,
                                                      const std::vector<Segment> & segments,
                                                      int                          valueBytes,
                                                      bool                         training);

/** Of maps between segments in files: in training all of them, for a file takes its room at once, so that a step that
 * has begun finds it; else those that are kept at the same time. */
GigapixelNetwork_EXPORT std::int64_t GetScratchBytes(const GraphGeometry &        geometry,
                                                     const std::vector<Segment> & segments,
                                                     int                          valueBytes,
                                                     bool                         training);

/** Of what those of these operations that do reduce an image keep in memory, to the end: sums, values, and in training
 * the values' gradients. */
GigapixelNetwork_EXPORT std::int64_t GetReducedBytes(const GraphGeometry &    geometry,
                                                     const std::vector<int> & operations,
                                                     int                      valueBytes,
                                                     bool                     gradients);

/** For the operation of each segment the number of the last segment that makes its map, or reads it. */
GigapixelNetwork_EXPORT std::map<int, std::size_t> FindLastReaders(const GraphGeometry &        geometry,
                                                                   const std::vector<Segment> & segments);

/** \throw std::invalid_argument they are none of the network's, or would not be chosen by FindKept() */
GigapixelNetwork_EXPORT std::vector<Segment> MakeSegments(const GraphGeometry &            geometry,
                                                          const std::vector<SegmentPlan> & plan);

} // namespace gigapixel

#endif

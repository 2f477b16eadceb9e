/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFeatures_h
#define gigapixelFeatures_h

#include <array>
#include <functional>
#include <vector>

namespace gigapixel
{

/** \class Features
 * \brief Vectors of the map that a network which labels images pools last: those of a tile, of the pixels that count.
 *
 * They come tile by tile, since all of them together may be more than there is memory for. */
struct Features
{
  /** x, y of each one's middle in the image, in pixels; 0: the middle of its first. */
  std::vector<std::array<double, 2>> places;
  std::array<double, 2>              step{};  ///< from a place to its neighbor, in pixels of the image
  std::vector<float>                 vectors; ///< one behind the other, as many as there are places
};

/** Gets them in the order of the tiles, one at a time, from any thread; what it throws is passed on. */
using FeatureTaker = std::function<void(const Features & ofTile)>;

} // namespace gigapixel

#endif

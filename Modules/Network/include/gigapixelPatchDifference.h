/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPatchDifference_h
#define gigapixelPatchDifference_h

#include "gigapixelNetworkDescription.h"

#include <map>

namespace gigapixel
{

/** \class PatchDifference
 * \brief By what a network makes something else of a patch (see Patches) than of the same pixels in the whole image.
 *
 * Each map of a patch is sampled at places that follow from where the patch begins and from its size, those of the
 * whole image from the image's. Where these are the same places, a patch differs at its borders only, up to the
 * network's halo; where they are not, it differs everywhere. */
struct GigapixelNetwork_EXPORT PatchDifference
{
  /** Number of operations that see pixels beyond a patch's borders, by type and what they take for these: "conv2d
   * (zeros)". Without any a patch does not differ at its borders. */
  std::map<std::string, int> borders;

  /** Patches that begin at a multiple of so many pixels are sampled as the whole image is, all others elsewhere.
   * 0: none is, up to 16 strides. */
  std::int64_t multiple{ 1 };

  /** Number of operations by type that sample by the size of their map, as interpolation to the size of another one:
   * images whose sides are not of that multiple may be sampled elsewhere than all of their patches. With the multiple 0
   * every image may be. */
  std::map<std::string, int> sizes;

  /** Number of operations by type that sum up the whole image, and a patch in its place: by them it differs everywhere.
   */
  std::map<std::string, int> reductions;

  /** \param network validated
   * \throw std::invalid_argument maps that meet are of different sizes in a patch whose side is a power of two times
   * the network's stride */
  static PatchDifference Make(const NetworkDescription & network);
};

} // namespace gigapixel

#endif

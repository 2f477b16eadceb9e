/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumePatches_h
#define gigapixelVolumePatches_h

#include "GigapixelNetworkExport.h"
#include "gigapixelSource.h"

#include <array>
#include <string>

namespace gigapixel
{

class NetworkDescription;

/** \class VolumePatches
 * \brief How a network is applied to a volume patch by patch, each as if it were a volume by itself, and how the
 * patches' logits are blended, as nnU-Net does it (Isensee et al., Nature Methods 18, 2021).
 *
 * Along each axis the first patch begins where the volume does, the last one ends where it does, and those between are
 * evenly spaced, at most size * (1 - overlap) apart, rounded to whole voxels. A volume that is smaller than a patch
 * lies in the middle of it, and what the network sees around it are zeros, of values that are normalized already. A
 * voxel's logits are the weighted mean of those of all patches that hold it, see Patches. */
struct GigapixelNetwork_EXPORT VolumePatches
{
  static constexpr std::int64_t GreatestSide = 2048;    ///< voxels: a patch is computed in one piece
  static constexpr double       GreatestOverlap = 0.95; ///< beyond it each voxel is computed 8000 times and more

  Size   size{ 0, 0, 0 }; ///< of a patch, in voxels; 0: none is known
  double overlap{ 0.5 };  ///< what neighbors share of a side at least
  /** The weight of a patch's voxel is a Gaussian of its place, exp(-d^2 / (2 s^2)) along each axis, d its distance to
   * the voxel at half the size and s an eighth of that size, as a number of half precision, and the least of these that
   * is above 0 where it would be 0; else it is 1. */
  bool gaussian{ true };
  /** Along z, y and x: the mean of the logits of each patch and of its mirror images takes the place of the patch's. */
  std::array<bool, 3> mirror{};

  /** Whether there is a size. */
  bool
  IsKnown() const
  {
    return size.width > 0;
  }

  /** How often the network is applied to a patch: 1, or twice for each mirrored axis. */
  int GetNumberOfViews() const;

  /** \throw std::invalid_argument names what is out of its range, or does not suit the network */
  void Validate(const NetworkDescription & network) const;

  /** "patches of 96 x 160 x 160, overlap 0.5, gaussian" and, if so, "mirrored along z, y, x". */
  std::string Describe() const;
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumeGrid_h
#define gigapixelVolumeGrid_h

#include "GigapixelImageExport.h"
#include "gigapixelSource.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace gigapixel
{

/** The two places that the header of a NIfTI-1 file gives a volume, as they are written there. Programs differ in which
 * one they use, so that labels of the volume keep both. */
struct NIfTIForms
{
  std::int16_t          qformCode{ 0 }; ///< what the quaternion's place means; 0: it is not given
  std::int16_t          sformCode{ 0 }; ///< what the matrix' place means; 0: it is not given
  std::uint8_t          unit{ 0 };      ///< 1: m, 2: mm, 3: micrometers, 0: not said
  std::array<float, 4>  pixdim{};       ///< the sign of the third axis, and the spacing; 0 where there is no such axis
  std::array<float, 6>  quaternion{};   ///< b, c and d of the rotation, and the origin; zeros where the code is 0
  std::array<float, 12> affine{};       ///< rows of the matrix; zeros where the code is 0
};

/** Where the voxels of a volume lie in the patient: voxel (i, j, k) at origin + i spacing[0] axes[0] + ..., in mm, x to
 * the left, y to the back, z to the head (LPS, as ITK has it; NIfTI's x and y point the other way). */
struct GigapixelImage_EXPORT VolumeGrid
{
  Size                                 size;               ///< in voxels
  std::array<double, 3>                spacing{ 1, 1, 1 }; ///< along the three axes, in mm
  std::array<double, 3>                origin{};           ///< center of the first voxel, in mm
  std::array<std::array<double, 3>, 3> axes{ { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }; ///< of length 1

  /** The two places that a NIfTI file gives its volume. */
  std::optional<NIfTIForms> forms{};

  /** What tells the other volume's place from this one's, as "has 10 x 10 x 9 voxels, not 10 x 10 x 10"; empty: it lies
   * in the same place, to a hundredth of a voxel, which is what rounding in files' headers amounts to. */
  std::string DescribeDifference(const VolumeGrid & other) const;

  /** Volume of a voxel, in cubic mm, also where axes are not perpendicular, as those of a CT with a tilted gantry. */
  double GetVoxelVolume() const;

  /** The greatest cosine of the angle of two axes: 0 where all are perpendicular. */
  double GetShear() const;
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSurfaceDistance_h
#define gigapixelSurfaceDistance_h

#include "GigapixelEvaluationExport.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace gigapixel
{

/** A volume of labels in memory, x fastest. */
struct LabelVolume
{
  std::array<std::int64_t, 3> size{};             ///< voxels along x, y and z
  std::array<double, 3>       spacing{ 1, 1, 1 }; ///< of voxels, in mm
  std::vector<std::uint8_t>   labels{};           ///< size[0] * size[1] * size[2] bytes
};

/** How far the surfaces of two objects lie from each other, in mm. The surface of an object are its voxels that have a
 * neighbor, of the six, that is none of it or lies outside of the volume; distances are those of voxels' centers. */
struct SurfaceDistance
{
  /** The greater one of two: within it lie 95 % of the one surface from the other, and the other way around. The
   * percentile is between neighbors in proportion (NumPy's "linear"), as MONAI has it. */
  double hausdorff95{ 0 };
  double mean{ 0 }; ///< of all voxels of both surfaces, each to the nearest one of the other surface
};

/** Distance of the voxels with this label in both volumes, exact (Felzenszwalb and Huttenlocher, Theory of Computing
 * 2012). \return nothing where one of them has none \throw std::invalid_argument the volumes are of different sizes, or
 * have other numbers of labels than that */
GigapixelEvaluation_EXPORT std::optional<SurfaceDistance> MeasureSurfaceDistance(const LabelVolume & a,
                                                                                 const LabelVolume & b,
                                                                                 std::uint8_t        label);

} // namespace gigapixel

#endif

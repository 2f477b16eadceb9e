/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumePatchGrid_h
#define gigapixelVolumePatchGrid_h

#include "gigapixelMemoryPlan.h"

#include <vector>

namespace gigapixel
{

/** \class VolumePatchGrid
 * \brief Where the patches of a volume begin, along each axis; of a volume that is smaller than a patch below 0. */
struct GigapixelNetwork_EXPORT VolumePatchGrid
{
  VolumePatchGrid(const VolumePatches & patches, const Size & volume);

  std::int64_t
  GetNumber() const
  {
    return static_cast<std::int64_t>(z.size() * y.size() * x.size());
  }

  /** Slice by slice, row by row: the order in which their logits are added. */
  Region GetPatch(std::int64_t index) const;

  std::vector<std::int64_t> z, y, x; ///< ascending
  Size                      size;    ///< of a patch
};

/** MemoryPlan::Make() of inference on a volume patch by patch. */
MemoryPlan MakeVolumePatchPlan(const PlannedRun & run);

} // namespace gigapixel

#endif

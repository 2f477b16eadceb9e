/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPatchGrid_h
#define gigapixelPatchGrid_h

#include "gigapixelMemoryPlan.h"

namespace gigapixel
{

/** \class PatchAxis
 * \brief Places of patches along one axis of an image. */
class GigapixelNetwork_EXPORT PatchAxis
{
public:
  PatchAxis(const Patches & patches, std::int64_t length);

  std::int64_t
  GetNumber() const
  {
    return m_Number;
  }

  /** Of an image that is smaller than a patch below 0. */
  std::int64_t GetBegin(std::int64_t patch) const;

  /** The first patch that holds this pixel. */
  std::int64_t GetFirstWith(std::int64_t pixel) const;

  /** The first patch that begins there or behind it, or the number of patches. */
  std::int64_t GetFirstFrom(std::int64_t pixel) const;

private:
  std::int64_t m_Side;
  std::int64_t m_Step;
  std::int64_t m_Length;
  std::int64_t m_Number;
};

/** \class PatchGrid
 * \brief The patches of an image, in rows and columns. */
struct GigapixelNetwork_EXPORT PatchGrid
{
  PatchGrid(const Patches & patches, Size image)
    : columns(patches, image.width)
    , rows(patches, image.height)
  {}

  /** From the first pixel to the last one of the patches that hold a pixel of the region, and begin in this row of
   * patches or in a later one; what of it is inside the image. */
  Region GetInputRegion(const Region & region, std::int64_t firstRow, const Patches & patches, Size image) const;

  PatchAxis columns;
  PatchAxis rows;
};

/** MemoryPlan::Make() of inference patch by patch. */
MemoryPlan MakePatchPlan(const PlannedRun & run);

} // namespace gigapixel

#endif

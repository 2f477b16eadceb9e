/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNonZeroVoxels_h
#define gigapixelNonZeroVoxels_h

#include "GigapixelImageExport.h"
#include "gigapixelSource.h"

#include <functional>
#include <optional>
#include <vector>

namespace gigapixel
{

/** \class NonZeroVoxels
 * \brief Where a volume has anything: the voxels of which any channel is not 0, and what they enclose.
 *
 * Volumes of which all but the organ was made 0, and those that lie in a larger field of zeros, are cropped to what
 * there is before networks see them, and normalized by that alone. */
class GigapixelImage_EXPORT NonZeroVoxels
{
public:
  /** Finds the smallest box that holds all voxels that are not 0, in one pass.
   * \param goesOn called with 0..1; false stops \return none: it was stopped */
  static std::optional<NonZeroVoxels> Find(PixelSource & volume, const std::function<bool(double)> & goesOn = {});

  /** All of the volume where every voxel is 0. */
  const Region &
  GetBox() const
  {
    return m_Box;
  }

  /** Whether a voxel of the volume is not 0 in any channel, or is enclosed by such voxels: no path of zeros, from face
   * to face of voxels, leads from it out of the volume. */
  bool
  IsFilled(std::int64_t x, std::int64_t y, std::int64_t z) const
  {
    return m_Filled[static_cast<std::size_t>((z * m_Size.height + y) * m_Size.width + x)];
  }

private:
  void FindBox();

  void Fill();

  Size              m_Size;
  Region            m_Box;
  std::vector<bool> m_Filled; ///< a bit for each voxel
};

} // namespace gigapixel

#endif

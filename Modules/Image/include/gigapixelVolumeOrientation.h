/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumeOrientation_h
#define gigapixelVolumeOrientation_h

#include "GigapixelImageExport.h"
#include "gigapixelVolumeGrid.h"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{

/** Stands in place of letters: the network was trained on volumes as they are stored, and gets them so. */
constexpr const char * StoredOrientation = "stored";

/** Whether it names sides of a patient for three axes, such as "RAS" (right, anterior, superior): one letter of R and
 * L, one of A and P, and one of S and I, in any order. */
GigapixelImage_EXPORT bool IsOrientation(const std::string & letters);

/** The sides of the patient that a volume's axes x, y and z point to, or to the nearest of: "LPS" of most CTs. These
 * are nibabel's axis codes. */
GigapixelImage_EXPORT std::string GetOrientation(const VolumeGrid & grid);

/** \class AxisOrder
 * \brief How a volume's axes are brought into another order and direction: exact, nothing is interpolated. */
struct GigapixelImage_EXPORT AxisOrder
{
  std::array<std::size_t, 3> from{ 0, 1, 2 }; ///< for x, y and z as they are shown, the axis of the volume
  std::array<bool, 3>        isReversed{};    ///< for x, y and z as they are shown

  /** Finds the axes that point nearest to these sides. \param letters of x, y and z, or StoredOrientation */
  static AxisOrder Find(const VolumeGrid & grid, const std::string & letters);

  bool ChangesNothing() const; ///< whether the axes have this order and direction already

  /** The volume as it is shown, in the same place. */
  VolumeGrid Apply(const VolumeGrid & grid) const;

  /** Brings values as they are shown into the volume's own order.
   * \param own gets as many values as \a shown has \param size of the volume
   * \param values of each voxel, one behind the other */
  template <typename T>
  void BringBack(const std::vector<T> & shown, const Size & size, T * own, std::size_t values = 1) const;
};

/** A volume as it is shown. Voxels are brought into order when they are read. */
GigapixelImage_EXPORT std::shared_ptr<PixelSource> MakeOrderedSource(std::shared_ptr<PixelSource> volume,
                                                                     const AxisOrder &            order);

/** The same of labels. */
GigapixelImage_EXPORT std::shared_ptr<LabelSource> MakeOrderedSource(std::shared_ptr<LabelSource> labels,
                                                                     const AxisOrder &            order);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelDicomSeries_h
#define itkGigapixelDicomSeries_h

#include "itkGigapixelVolumeShape.h"

#include <string>
#include <vector>

namespace itk
{

/** \class GigapixelDicomSeries
 * \brief A volume whose slices are the DICOM files of a folder, one each, as scanners write them.
 *
 * Slices are put into order by where they lie in the patient, not by their names or numbers; what a scanner says of
 * slices' thickness does not count. They are those of one series, on one grid, and as far apart from each other. */
struct GigapixelDicomSeries
{
  std::vector<std::string> files; ///< in the order of slices
  GigapixelVolumeShape     shape; ///< of floats where files have samples of several types
  std::int64_t             fileBytes{ 0 };

  /** Looks at all files' headers.
   * \throw std::runtime_error one sentence that names the folder or a file: there are several series, slices of
   * different sizes or directions, two at one place, or one is missing */
  static GigapixelDicomSeries Find(const std::string & folder);

  /** All samples, in the type of the shape. \throw std::runtime_error one sentence that names a file */
  void Read(std::vector<unsigned char> & samples) const;
};

} // namespace itk

#endif

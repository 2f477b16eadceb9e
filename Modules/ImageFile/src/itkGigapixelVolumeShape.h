/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelVolumeShape_h
#define itkGigapixelVolumeShape_h

#include "gigapixelDiagnostic.h"
#include "gigapixelVolumeGrid.h"
#include "itkImageIOBase.h"

#include <cstdint>
#include <string>
#include <vector>

namespace itk
{

/** What a volume's header says of its voxels and its place. */
struct GigapixelVolumeShape
{
  gigapixel::VolumeGrid grid;
  std::string           placedBy;        ///< fields of the header, as VolumePlace::source
  unsigned              components{ 1 }; ///< of a voxel, one behind the other
  unsigned              planes{ 1 };     ///< along the fourth axis
  IOComponentEnum       type{ IOComponentEnum::FLOAT };

  std::vector<gigapixel::Diagnostic> warnings; ///< of the place

  std::int64_t
  CountSamples() const
  {
    return grid.size.width * grid.size.height * grid.size.depth * components * planes;
  }

  bool HasSameSamples(const GigapixelVolumeShape & other) const;

  /** \throw std::runtime_error one sentence that names the file: it is no volume, of no type that is read, or lies in a
   * place that is none */
  static GigapixelVolumeShape Get(const std::string & file, const ImageIOBase & io);
};

} // namespace itk

#endif

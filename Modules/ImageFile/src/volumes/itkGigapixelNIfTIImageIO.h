/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelNIfTIImageIO_h
#define itkGigapixelNIfTIImageIO_h

#include "itkGigapixelReadOnlyImageIO.h"
#include "gigapixelNIfTIHeader.h"
#include "gigapixelVolumeGrid.h"

#include <cstdint>
#include <string>
#include <vector>

namespace itk
{

/** \class GigapixelNIfTIImageIO
 * \brief The voxels of a NIfTI-1 file, https://nifti.nimh.nih.gov/nifti-1.
 *
 * ITK's reader refuses volumes whose matrix it cannot decompose, takes the unit for the spacing alone, and adds the
 * intercept where the slope says that there is none. This one has sizes and values. Where the volume lies is read by
 * ReadVolumePlace(). Components of vectors are planes along the fourth axis. Floats that are no finite number are 0, as
 * in niftilib. */
class GigapixelNIfTIImageIO : public GigapixelReadOnlyImageIO
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(GigapixelNIfTIImageIO);

  using Self = GigapixelNIfTIImageIO;
  using Superclass = GigapixelReadOnlyImageIO;
  using Pointer = SmartPointer<Self>;

  itkNewMacro(Self);
  itkTypeMacro(GigapixelNIfTIImageIO, GigapixelReadOnlyImageIO);

  bool CanReadFile(const char * name) override;

  void ReadImageInformation() override;

  void Read(void * samples) override;

protected:
  GigapixelNIfTIImageIO() = default;
  ~GigapixelNIfTIImageIO() override = default;

private:
  gigapixel::NIfTIFiles m_Files;
};

/** Writes a volume of labels as NIfTI-1, compressed where the name ends in .gz. Its place is that of the grid, or,
 * where the grid is that of a NIfTI file, both places of that file, with their codes.
 * \throw std::runtime_error it cannot be written */
void GigapixelWriteNIfTILabels(const std::string &               file,
                               const std::vector<std::uint8_t> & labels,
                               const gigapixel::VolumeGrid &     grid,
                               const std::string &               madeBy);

} // namespace itk

#endif

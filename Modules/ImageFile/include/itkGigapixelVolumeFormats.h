/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelVolumeFormats_h
#define itkGigapixelVolumeFormats_h

#include "GigapixelImageFileExport.h"

#include <string>
#include <vector>

namespace itk
{

/** \file
 * Names of volumes' files, for those who list or name such files. */

/** Whether a file is a volume by its name's ending, or is the folder of a DICOM series. */
GigapixelImageFile_EXPORT bool GigapixelIsVolumeName(const std::string & fileName);

/** Whether its name's ending is that of a format that has volumes alone, and no pictures. */
GigapixelImageFile_EXPORT bool GigapixelIsNamedAsVolumeOnly(const std::string & fileName);

/** Whether by its name's ending it holds the pixels of a header in another file: x.img those of x.hdr. */
GigapixelImageFile_EXPORT bool GigapixelIsPixelsName(const std::string & fileName);

/** Whether the header of which it holds the pixels is there, beside it. */
GigapixelImageFile_EXPORT bool GigapixelHasHeaderBeside(const std::string & fileName);

/** \return the formats' names as an enumeration, such as "NIfTI, NRRD or MetaImage" */
GigapixelImageFile_EXPORT std::string GigapixelNameVolumeFormats();

/** \return the endings with which labels are written, those of the best known format first: ".nii.gz" */
GigapixelImageFile_EXPORT std::vector<std::string> GigapixelGetLabelEndings();

/** \return the usual ending of each format that is written, as an enumeration: ".nii.gz, .nrrd or .mha" */
GigapixelImageFile_EXPORT std::string GigapixelNameLabelEndings();

} // namespace itk

#endif

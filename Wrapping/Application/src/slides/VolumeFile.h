/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef VolumeFile_h
#define VolumeFile_h

#include "GigapixelApplicationExport.h"

#include "gigapixelArgumentValues.h"
#include "gigapixelSession.h"
#include "itkGigapixelVolumeSource.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** Whether it names a volume, or the modalities of one, by the endings of the files' names. */
GigapixelApplication_EXPORT bool IsVolume(const std::string & name);

/** A volume as it is named on the command line: a file, or one for each modality, joined by commas.
 * \throw std::runtime_error one sentence that names the file */
GigapixelApplication_EXPORT itk::GigapixelVolume OpenVolume(const std::string & name);

/** Opens a volume, and gives the warnings about the place that its headers say. */
GigapixelApplication_EXPORT itk::GigapixelVolume OpenVolume(const std::string & name, const Session & session);

/** Of t1.nii.gz "t1"; of several modalities that of the first. */
GigapixelApplication_EXPORT std::string GetVolumeName(const std::string & volume);

/** "240 x 240 x 155" */
GigapixelApplication_EXPORT std::string FormatSize(const Size & size);

/** What info tells of a volume. With --check all of it is read.
 * \param text for people, to which it is appended */
nlohmann::ordered_json DescribeVolume(const std::string &    name,
                                      const ArgumentValues & values,
                                      const Session &        session,
                                      std::string &          text);

} // namespace gigapixel::application

#endif

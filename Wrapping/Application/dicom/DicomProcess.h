/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DicomProcess_h
#define DicomProcess_h

#include <string>

namespace gigapixel::application
{

/** Makes a reader of DICOM known to itk::ImageIOFactory that asks the program dicom-reader, which lies beside this
 * library, started with the first file: GDCM ends the process that it is in on some damaged files. Without that program
 * files are refused with GetDicomProblem(); a build without ITK's GDCM knows no reader, and refuses them as files of
 * unknown formats. It comes before other readers of DICOM that the process has. */
void RegisterDicomProcess();

/** Takes the reader away again, and ends the program. */
void ReleaseDicomProcess();

/** Whether this is a build with the program dicom-reader. */
bool IsBuiltWithDicom();

/** Why no file of DICOM can be read, and what to do about it, in one sentence; empty: they can, or are not to be. */
std::string GetDicomProblem();

} // namespace gigapixel::application

#endif

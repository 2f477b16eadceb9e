/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DicomProcess_h
#define DicomProcess_h

namespace gigapixel::commandline
{

/** Makes a reader of DICOM known to itk::ImageIOFactory that asks the program dicom-reader, which lies beside this
 * library, started with the first file: GDCM ends the process that it is in on some damaged files. Without that program
 * no reader is known, and series are refused as files of unknown formats are. */
void RegisterDicomProcess();

} // namespace gigapixel::commandline

#endif

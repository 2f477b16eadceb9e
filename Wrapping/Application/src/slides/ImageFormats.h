/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ImageFormats_h
#define ImageFormats_h

namespace gigapixel::application
{

/** Makes the formats that masks, pictures and volumes come in, besides slides and pyramids, known to
 * itk::ImageIOFactory: PNG, TIFF, NIfTI, NRRD, MetaImage and JPEG. Called before a command runs, so that all
 * commands read the same files. */
void RegisterImageFormats();

/** \class DicomReading
 * \brief While it lives, DICOM is read by the program dicom-reader, and then as before: Python has a reader of its own.
 */
class DicomReading
{
public:
  DicomReading();
  ~DicomReading();
  DicomReading(const DicomReading &) = delete;
  DicomReading & operator=(const DicomReading &) = delete;
};

} // namespace gigapixel::application

#endif

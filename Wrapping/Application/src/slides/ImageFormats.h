/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ImageFormats_h
#define ImageFormats_h

namespace gigapixel::application
{

/** Makes the formats that masks, pictures and volumes come in, besides slides and pyramids, known to
 * itk::ImageIOFactory: PNG, TIFF, NIfTI, NRRD, MetaImage and JPEG. Called once, before a command runs, so that all
 * commands read the same files. */
void RegisterImageFormats();

} // namespace gigapixel::application

#endif

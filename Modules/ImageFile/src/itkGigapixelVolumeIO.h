/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelVolumeIO_h
#define itkGigapixelVolumeIO_h

#include "itkImageIOBase.h"

#include <string>

namespace itk
{

/** What reads the file, with its header read. \throw std::runtime_error one sentence that names the file */
ImageIOBase::Pointer OpenVolume(const std::string & file);

/** All samples of an ImageIO that OpenVolume() gave. \throw std::runtime_error one sentence that names the file */
void ReadWholeVolume(ImageIOBase & io, void * samples);

} // namespace itk

#endif

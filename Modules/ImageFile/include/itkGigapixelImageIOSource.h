/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelImageIOSource_h
#define itkGigapixelImageIOSource_h

#include "GigapixelImageFileExport.h"
#include "gigapixelPhysicalImage.h"
#include "itkImageIOBase.h"

namespace itk
{

/** Makes an ImageIO that is set to the file, level, ... to be read. Called once for each thread that reads at the same
 * time, each call must give a new object that reads the same pixels. */
using GigapixelImageIOMaker = std::function<ImageIOBase::Pointer()>;

/** What is made of samples above 255. */
enum class HighSamples
{
  Refused,         ///< of images, with E-SLIDE-CHANNELS
  RefusedAsLabels, ///< of masks, with E-LABEL-VALUE
  Are255,          ///< of masks where all that counts is whether a sample is 0
  Kept             ///< of masks: up to 2^32 - 1, as gigapixel::SampleType::UInt32 where the file has more than bytes
};

/** The pixels of any ImageIO for the engine, region by region, from as many threads as want to.
 *
 * Samples of unsigned char are taken as they are; those of other types (label maps) must be whole numbers that fit in 8
 * bits, or in 32 where they are kept. A file whose ImageIO cannot read a part of it is read once and kept. Images of
 * more than two dimensions have one slice.
 *
 * \throw std::runtime_error one sentence that names the file. */
GigapixelImageFile_EXPORT gigapixel::PhysicalImage GigapixelImageIOSource(const GigapixelImageIOMaker & makeImageIO,
                                                                          const std::string &           name,
                                                                          HighSamples high = HighSamples::Refused);

} // namespace itk

#endif

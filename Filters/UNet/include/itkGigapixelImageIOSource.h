/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelImageIOSource_h
#define itkGigapixelImageIOSource_h

#include "gigapixelPhysicalImage.h"
#include "itkImageIOBase.h"

namespace itk
{

/** Makes an ImageIO that is set to the file, level, ... to be read. Called once for each thread that reads at the same
 * time, each call must give a new object that reads the same pixels. */
using GigapixelImageIOMaker = std::function<ImageIOBase::Pointer()>;

/** The pixels of any ImageIO for the engine, region by region, from as many threads as want to.
 *
 * Samples of unsigned char are taken as they are; other integers (label maps) must fit in 8 bits. A file whose ImageIO
 * cannot read a part of it is read once and kept. Images of more than two dimensions have one slice.
 *
 * \throw std::runtime_error one sentence that names the file. */
GigapixelUNet_EXPORT gigapixel::PhysicalImage GigapixelImageIOSource(const GigapixelImageIOMaker & makeImageIO,
                                                                     const std::string &           name);

/** Which level of a slide is read. */
struct GigapixelResolution
{
  unsigned level{ 0 };
  double   micronsPerPixel{ 0 }; ///< if not 0: the coarsest level that is not coarser (5 %), whatever level says
  double   levelZeroMicronsPerPixel{ 0 }; ///< if not 0: the user's word where the file has none
};

/** A slide, mask or picture by file name: WholeSlideImageIO where it is built and reads the file, with its levels, its
 * luma-only decoding and its account of what was scanned; else what itk::ImageIOFactory finds, which has level 0 only.
 * \param channels 1 asks for gray where the reader can give it; what comes out is still to be adapted
 * \throw std::runtime_error one sentence that names the file. */
GigapixelUNet_EXPORT gigapixel::PhysicalImage GigapixelFileSource(const std::string &         fileName,
                                                                  const GigapixelResolution & resolution = {},
                                                                  unsigned                    channels = 0);

} // namespace itk

#endif

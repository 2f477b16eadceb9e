/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ActivationOutput_h
#define ActivationOutput_h

#include "PictureFile.h"
#include "gigapixelSession.h"

#include "gigapixelActivationMap.h"
#include "gigapixelGrid.h"

#include "itkImage.h"
#include "itkWholeSlideImageIO.h"

#include <string>

namespace gigapixel::application
{

/** Writes the map as a pyramid of floats that lies, in mm, where it lies on the slide.
 * \param madeBy see PyramidTIFFImageIO::SetMadeBy */
void WriteActivation(const itk::Image<float, 2> *   map,
                     const itk::WholeSlideImageIO & slide,
                     const std::string &            file,
                     const std::string &            madeBy);

/** The slide, colored by the map, which is interpolated between its values: nothing at 0, then blue, yellow and, where
 * it is the greatest, red. Below it a bar with these colors and what they stand for.
 * \param title what the map is of */
Picture DrawActivation(const ActivationMap &          map,
                       const std::string &            title,
                       const Grid &                   image,
                       const itk::WholeSlideImageIO & slide,
                       Progress &                     progress);

} // namespace gigapixel::application

#endif

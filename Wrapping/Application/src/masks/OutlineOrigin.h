/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OutlineOrigin_h
#define OutlineOrigin_h

#include "gigapixelArgumentValues.h"
#include "gigapixelSession.h"

#include "itkWholeSlideImageIO.h"

#include <array>

namespace gigapixel::application
{

/** Where (0, 0) of outlines lies in level-0 pixels, as --origin says: the slide's corner, or that of the scanned area
 * (openslide.bounds-x, openslide.bounds-y), which is (0, 0) where the slide states none. Warns where the slide states
 * another corner and the option is not given. */
std::array<double, 2> GetOutlineOrigin(const itk::WholeSlideImageIO & slide,
                                       const ArgumentValues &         values,
                                       const Session &                session);

} // namespace gigapixel::application

#endif

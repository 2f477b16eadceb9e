/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelPNGMask_h
#define itkGigapixelPNGMask_h

#include "itkImageIOBase.h"

#include <string>

namespace itk
{

/** A reader of a PNG whose pixels are gray or indices of a palette, as a mask of labels needs them: one component with
 * the values that the file holds. ITK's own reader scales gray of 1, 2 and 4 bit to 8, and makes a palette or gray with
 * the chunk tRNS colors with alpha.
 * \return null where the file is no such PNG */
ImageIOBase::Pointer MakePNGMaskIO(const std::string & fileName);

} // namespace itk

#endif

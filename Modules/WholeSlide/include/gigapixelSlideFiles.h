/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSlideFiles_h
#define gigapixelSlideFiles_h

#include "GigapixelWholeSlideExport.h"

#include <string>

namespace gigapixel
{

/** The file in a slide's folder that says what the slide is, where the named one does not: MIRAX's Slidedat.ini, which
 * need not be there. Empty for other formats. */
GigapixelWholeSlide_EXPORT std::string FindSlideDescription(const std::string & path);

/** IdentifyFile() of a slide, by samples of the file that is named, and all bytes of what describes it.
 * \throw std::runtime_error one of them that is there cannot be read */
GigapixelWholeSlide_EXPORT std::string IdentifySlide(const std::string & path);

} // namespace gigapixel

#endif

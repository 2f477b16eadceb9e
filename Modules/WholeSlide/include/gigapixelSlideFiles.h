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

/** What the files of one slide have in common that many files make up: the series of a DICOM file. Empty where the file
 * is a slide by itself, or cannot be read. Reads no other file. */
GigapixelWholeSlide_EXPORT std::string FindSlideSeries(const std::string & path);

/** What hinders reading a file that is named as DICOM files are (.dcm), in a few words: it is empty, something else, or
 * damaged. Empty where nothing does, whatever kind of image it is, and where it has another name. */
GigapixelWholeSlide_EXPORT std::string FindDICOMDamage(const std::string & path);

/** IdentifyFile() of a slide, by samples of the file that is named, and all bytes of what describes it.
 * \throw std::runtime_error one of them that is there cannot be read */
GigapixelWholeSlide_EXPORT std::string IdentifySlide(const std::string & path);

} // namespace gigapixel

#endif

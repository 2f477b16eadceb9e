/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSlideFiles_h
#define gigapixelSlideFiles_h

#include "GigapixelWholeSlideExport.h"

#include "gigapixelSlideContent.h"

#include <cstdint>
#include <string>
#include <vector>

namespace itk
{
class WholeSlideImageIO;
} // namespace itk

namespace gigapixel
{

/** The file in a slide's folder that says what the slide is, where the named one does not: MIRAX's Slidedat.ini, which
 * need not be there. Empty for other formats. */
GigapixelWholeSlide_EXPORT std::string FindSlideDescription(const std::string & path);

/** What a DICOM file says of the slide that it belongs to. */
struct SlideSeries
{
  std::string   identifier; ///< of the series; empty where the file is a slide by itself, or cannot be read
  std::uint64_t pixels = 0; ///< of the level that the file belongs to; 0 for an associated image
};

/** Reads no other file. */
GigapixelWholeSlide_EXPORT SlideSeries FindSlideSeries(const std::string & path);

/** The files of an OME-TIFF in several files, its companion among them, as each of them names them: the same list for
 * all that show the same images. Empty where a file is a slide by itself. They need not be there. */
GigapixelWholeSlide_EXPORT std::vector<std::string> FindSlideParts(const std::string & path);

/** Whether the file, by its name, makes one slide of others that are slides by themselves, as an NDPIS does. */
GigapixelWholeSlide_EXPORT bool NamesSlides(const std::string & path);

/** What hinders reading a file that is named as DICOM files are (.dcm), in a few words: it is empty, something else, or
 * damaged. Empty where nothing does, whatever kind of image it is, and where it has another name. */
GigapixelWholeSlide_EXPORT std::string FindDICOMDamage(const std::string & path);

/** Whether masks of this kind are read by itk::WholeSlideImageIO (SetStoredValues()): any TIFF. */
GigapixelWholeSlide_EXPORT bool IsReadAsLabels(const std::string & path);

/** IdentifyFile() of a slide, by samples of the file that is named and of its parts (FindSlideParts()), and all bytes
 * of what describes it. An image that is not the main one has its number before it. \param content of which image and
 * focal plane count \throw std::runtime_error one of the files that is there cannot be read */
GigapixelWholeSlide_EXPORT std::string IdentifySlide(const std::string & path, const SlideContent & content = {});

/** As above, of the slide that is read, with the channels and windows that were chosen before it. What else of the
 * content changes values has to stand there, too, so that outputs of other values are made anew. */
GigapixelWholeSlide_EXPORT std::string IdentifySlide(const itk::WholeSlideImageIO & slide);

/** Whether both are of one image of the file, as IdentifySlide() identifies it, or of focal planes of one stack: these
 * share their geometry. \throw SlideError the file cannot be opened */
GigapixelWholeSlide_EXPORT bool AreOfOneImage(const std::string & path,
                                              const std::string & one,
                                              const std::string & other);

} // namespace gigapixel

#endif

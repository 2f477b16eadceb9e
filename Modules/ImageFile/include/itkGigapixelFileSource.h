/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelFileSource_h
#define itkGigapixelFileSource_h

#include "gigapixelPhysicalImage.h"
#include "gigapixelSlideContent.h"
#include "gigapixelTissueSource.h"
#include "itkGigapixelImageIOSource.h"
#include "itkSmartPointer.h"

#include <string>
#include <vector>

namespace gigapixel
{
struct Diagnostic;
}

namespace itk
{
class WholeSlideImageIO;

/** Which pixels of a slide are read, and what of its file. */
struct GigapixelResolution
{
  unsigned level{ 0 };                 ///< number of the level; 0 has the finest pixels
  double   micronsPerPixel{ 0 };       ///< if not 0: pixels of that resolution, whatever level says
  double   tolerance{ 0 };             ///< a level whose resolution differs by so much or less is read as it is
  bool     emptyAsBackground{ false }; ///< whether gray tiles that are not stored show the background, else 0
  bool     asStored{ false };          ///< samples of 16 bit of a slide, and floats, are read, as floats
  gigapixel::SlideContent content;     ///< image, channels and window, and the resolution that is stated
};

/** A slide, mask or picture by file name: WholeSlideImageIO where it is built and reads the file, with its levels, its
 * luma-only decoding and its account of what was scanned; else what itk::ImageIOFactory finds, which has level 0 only.
 * Samples of other types than unsigned char are converted as GigapixelImageIOSource() says, or as `asStored` does.
 * Any number of threads may read at once.
 * \param channels 1 asks for gray where the reader can give it; what comes out is still to be adapted
 * \throw std::runtime_error one sentence that names the file. */
GigapixelImageFile_EXPORT gigapixel::PhysicalImage GigapixelFileSource(const std::string &         fileName,
                                                                       const GigapixelResolution & resolution = {},
                                                                       unsigned                    channels = 0);

/** The level of a slide that statistics of its samples are of, as the slide was opened: samples of 8 bit, or others as
 * floats. */
GigapixelImageFile_EXPORT std::shared_ptr<gigapixel::PixelSource> GigapixelMeasuredSource(
  const SmartPointer<WholeSlideImageIO> & slide);

/** Names of the channels that a slide is read with; "" where the file has no name. */
GigapixelImageFile_EXPORT std::vector<std::string> GigapixelChannelNames(const WholeSlideImageIO & slide);

/** What GigapixelFileSource() opens where WholeSlideImageIO does not claim the file, but its `content`, for which all
 * of the file is read: enough to know how much memory it takes. */
GigapixelImageFile_EXPORT gigapixel::PhysicalImage GigapixelOpenWithoutSlides(const std::string & fileName);

/** Level 0 of a mask by file name. Its values are those that the file holds and not colors: a palette gives its indices
 * (TIFF, PNG), and bits and min-is-white samples of a TIFF are as stored. TIFFs are read by WholeSlideImageIO whatever
 * their layout, which reads integers of 1 to 64 bit and floats; tiles that are not stored are 0 or the value of
 * GDAL_NODATA. Its `content` is of all its bytes, since masks are edited where they lie; that of a slide is of samples.
 * \param high what becomes of values above 255; fractions and values below 0 are refused (E-LABEL-VALUE)
 * \throw std::runtime_error as GigapixelFileSource(), and if it has more than one channel */
GigapixelImageFile_EXPORT gigapixel::PhysicalImage GigapixelMaskSource(const std::string & fileName,
                                                                       HighSamples high = HighSamples::RefusedAsLabels);

/** A mask of tissue, of one slide: pyramids of ours say which slide they were made of. That may also be the one that
 * the slide was converted from. Masks that name no slide are taken, and those of another focal plane.
 * \param content image and focal plane of the slide \throw std::runtime_error as GigapixelMaskSource(), and if it was
 * made of another slide */
GigapixelImageFile_EXPORT gigapixel::PhysicalImage GigapixelTissueSource(const std::string &             fileName,
                                                                         const std::string &             slide,
                                                                         const gigapixel::SlideContent & content = {});

/** Shows a warning as ITK shows it, of what is no object. */
GigapixelImageFile_EXPORT void GigapixelWarn(const gigapixel::Diagnostic & warning);

/** Warns of a tissue mask that leaves nothing out of the slide (W-DOUBT-MASK-FULL). */
GigapixelImageFile_EXPORT void GigapixelWarnOfFullTissue(const gigapixel::TissueMask & tissue,
                                                         const std::string &           fileName,
                                                         const std::string &           slide);

} // namespace itk

#endif

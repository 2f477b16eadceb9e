/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSlideContent_h
#define gigapixelSlideContent_h

#include "GigapixelOptionsExport.h"

#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** What of a slide's file is read, as itk::WholeSlideImageIO::SetContent() takes it: each entry of
 * gigapixelSlideOptionList.h that is of the file itself. */
struct GigapixelOptions_EXPORT SlideContent
{
#define GIGAPIXEL_SLIDE_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)
#define GIGAPIXEL_RESAMPLING_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_CONTENT_OPTION(type, Name, member, value, option) type member = value;
#include "gigapixelSlideOptionList.h"

  /** The same image with all of its channels, as they are stored: of these alone a mask is made. */
  SlideContent OfImage() const;

  /** Whether a slide's reader alone can give it: other images may have their resolution stated, too. */
  bool IsChosen() const;

  bool operator==(const SlideContent & other) const; ///< whether all members are the same
  bool operator!=(const SlideContent & other) const; ///< whether one of them differs
};

} // namespace gigapixel

#endif

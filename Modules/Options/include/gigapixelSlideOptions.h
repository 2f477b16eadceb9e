/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSlideOptions_h
#define gigapixelSlideOptions_h

#include "gigapixelOptionTable.h"
#include "gigapixelSlideContent.h"

namespace gigapixel
{

/** What is read of slides: what of their files, at which resolution, and where; see gigapixelSlideOptionList.h. */
struct GigapixelOptions_EXPORT SlideOptions : SlideContent
{
#define GIGAPIXEL_CONTENT_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_SLIDE_OPTION(type, Name, member, value, option) type member = value;
#include "gigapixelSlideOptionList.h"

  bool operator==(const SlideOptions & other) const = delete; ///< that of the content passes over the other members
  bool operator!=(const SlideOptions & other) const = delete; ///< likewise
};

/** The entries of gigapixelSlideOptionList.h, in their order. */
template <>
GigapixelOptions_EXPORT const std::vector<OptionEntry<SlideOptions>> & GetOptionTable<SlideOptions>();

} // namespace gigapixel

#endif

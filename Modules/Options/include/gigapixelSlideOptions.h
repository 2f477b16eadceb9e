/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSlideOptions_h
#define gigapixelSlideOptions_h

#include "gigapixelOptionTable.h"

namespace gigapixel
{

/** What is read of slides; see gigapixelSlideOptionList.h. */
struct GigapixelOptions_EXPORT SlideOptions
{
#define GIGAPIXEL_SLIDE_OPTION(type, Name, member, value, option) type member = value;
#include "gigapixelSlideOptionList.h"
};

/** The entries of gigapixelSlideOptionList.h, in their order. */
template <>
GigapixelOptions_EXPORT const std::vector<OptionEntry<SlideOptions>> & GetOptionTable<SlideOptions>();

} // namespace gigapixel

#endif

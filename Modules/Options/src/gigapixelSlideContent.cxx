/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlideContent.h"

namespace gigapixel
{

SlideContent
SlideContent::OfImage() const
{
  SlideContent content = *this;
  content.channels.clear();
  content.window.clear();
  return content;
}

bool
SlideContent::IsChosen() const
{
  SlideContent plain;
  plain.levelZeroMicronsPerPixel = levelZeroMicronsPerPixel;
  return *this != plain;
}

bool
SlideContent::operator==(const SlideContent & other) const
{
  bool isSame = true;
#define GIGAPIXEL_SLIDE_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_CONTENT_OPTION(type, Name, member, value, option) isSame = isSame && (member) == other.member;
#include "gigapixelSlideOptionList.h"
  return isSame;
}

bool
SlideContent::operator!=(const SlideContent & other) const
{
  return !(*this == other);
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlideFiles.h"

#include "formats/SlideFormat.h"

#include "gigapixelFileIdentity.h"

namespace gigapixel
{

std::string
FindSlideDescription(const std::string & path)
{
  const SlideFormat * const format = FindFormatByExtension(path);
  return format && format->findDescription ? format->findDescription(path) : std::string();
}

std::string
IdentifySlide(const std::string & path)
{
  return IdentifyFile(path, HashedBytes::Samples, FindSlideDescription(path));
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Leica SCN: a TIFF whose description is XML of Leica's namespace. Its areas lie anywhere: read through OpenSlide.
#include "SlideFormat.h"

namespace gigapixel
{
namespace
{

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr &&
         page->GetText(TIFFTag::ImageDescription).find("leica-microsystems.com") != std::string::npos &&
         file.IsConfirmed("leica");
}

} // namespace

extern const SlideFormat leicaFormat;
const SlideFormat        leicaFormat{ "leica", { ".scn" }, Detect, OpenThroughOpenSlide, nullptr };

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Leica SCN: a TIFF whose description is XML of Leica's namespace. Its areas lie anywhere: read through OpenSlide.
#include "SlideFormat.h"
#include "XMLElements.h"

namespace gigapixel
{
namespace
{

bool
HasLeicasRoot(const std::string & xml)
{
  bool isLeicas = false;
  ReadXML(xml, [&isLeicas](const XMLElement & root) {
    isLeicas = root.space.find("leica-microsystems.com") != std::string::npos;
    return false;
  });
  return isLeicas;
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && HasLeicasRoot(page->GetText(TIFFTag::ImageDescription)) && file.IsConfirmed("leica");
}

} // namespace

extern const SlideFormat leicaFormat;
const SlideFormat        leicaFormat{ "leica", { ".scn" }, Detect, OpenThroughOpenSlide, nullptr };

} // namespace gigapixel

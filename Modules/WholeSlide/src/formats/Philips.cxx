/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Philips' TIFF. Its XML says how large levels really are: OpenSlide computes it.
#include "openslide/OpenSlideSlide.h"
#include "SlideFormat.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelXMLElements.h"

namespace gigapixel
{
namespace
{

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && page->GetText(TIFFTag::Software).rfind("Philips", 0) == 0 && file.IsConfirmed("philips");
}

bool
IsImport(const std::string & xml)
{
  bool isImport = false;
  ReadXML(xml, [&isImport](const XMLElement & root) {
    isImport = root.name == "DataObject" && root.Get("ObjectType") == "DPUfsImport";
    return false;
  });
  return isImport;
}

/** Whether the XML holds pictures, or is damaged, so that it cannot be known. */
bool
MayHoldPictures(const std::string & xml)
{
  bool              holds = false;
  const std::string damage = ReadXML(xml, [&holds](const XMLElement & element) {
    holds = element.Get("Name") == "PIM_DP_IMAGE_DATA";
    return !holds;
  });
  return holds || !damage.empty();
}

/** Tiled pages are levels, others say what they are. Older files keep their pictures in the XML instead. */
void
Describe(TIFFLayout & layout)
{
  const TIFFPage &  first = layout.GetPage(0);
  const std::string xml = first.GetText(TIFFTag::ImageDescription);
  if (!first.tiled || !IsImport(xml))
  {
    throw Refusal(Diagnostic("E-SLIDE-FORMAT", "it is of another kind"));
  }
  PageRules rules;
  rules.hasUnmarkedLevels = true;
  rules.isPadded = true;
  for (std::size_t i = 0; i < layout.GetNumberOfMainPages(); ++i)
  {
    const TIFFPage &  page = layout.GetPage(i);
    const std::string name = GetUsualName(page);
    const bool        isAssociated = i > 0 && (!page.tiled || !name.empty());
    rules.roles.push_back({ isAssociated ? PageRole::Kind::Associated : PageRole::Kind::Unknown, name, {}, 0.0 });
  }
  rules.roles.front().name.clear();
  layout.SetImages(layout.FindImages(rules));
  if (layout.GetAssociated().empty() && MayHoldPictures(xml))
  {
    throw Refusal(Diagnostic("E-SLIDE-FORMAT", "its pictures stand in its XML"));
  }
  layout.TakeFromOpenSlide(ReadOpenSlideProperties(layout.GetPath()));
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  return OpenTIFFOrElseOpenSlide(file, Describe);
}

} // namespace

extern const SlideFormat philipsFormat;
const SlideFormat        philipsFormat{ "philips", {}, Detect, Open, nullptr };

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Philips' TIFF. Its XML says how large levels really are: OpenSlide computes it.
#include "OpenSlideSlide.h"
#include "SlideFormat.h"
#include "XMLElements.h"

#include <stdexcept>

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
    throw std::runtime_error("it is of another kind");
  }
  for (std::size_t i = 0; i < layout.GetNumberOfPages(); ++i)
  {
    const TIFFPage & page = layout.GetPage(i);
    if (page.tiled)
    {
      layout.AddLevel(i);
    }
    else
    {
      layout.AddAssociated(GetUsualName(page), i);
    }
  }
  if (layout.GetAssociated().empty() && MayHoldPictures(xml))
  {
    throw std::runtime_error("its pictures stand in its XML");
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

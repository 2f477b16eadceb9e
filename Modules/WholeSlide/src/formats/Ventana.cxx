/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Ventana's TIFF, and its BIF where tiles lie side by side. Pages say what they are in their descriptions.
#include "files/NumberText.h"
#include "openslide/OpenSlideSlide.h"
#include "SlideFormat.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelXMLElements.h"

#include <cmath>

namespace gigapixel
{
namespace
{

/** What the XML of level 0 says of where its tiles belong. */
struct Stitching
{
  unsigned areas = 0; // that were scanned
  unsigned origins = 0;
  bool     isInCorner = true;
  bool     hasOverlaps = false;
};

bool
IsZero(const XMLElement & element, const char * attribute)
{
  const std::string number = element.Get(attribute);
  return !number.empty() && number.find_first_not_of("0.") == std::string::npos;
}

/** Of level 0: whether it is one scanned area from the corner on, of tiles that do not overlap. Where others' tiles
 * belong is for OpenSlide to find out. */
bool
HasTilesSideBySide(const TIFFPage & page)
{
  const std::string xml = page.GetText(TIFFTag::XMLPacket);
  if (xml.empty())
  {
    return page.tiled; // Ventana's TIFF, which has neither areas nor overlaps
  }
  Stitching         found;
  const std::string damage = ReadXML(xml, [&found](const XMLElement & element) {
    if (element.name == "ImageInfo")
    {
      ++found.areas;
      found.isInCorner = found.isInCorner && IsZero(element, "Pos-X") && IsZero(element, "Pos-Y");
    }
    if (element.name == "TileJointInfo")
    {
      found.hasOverlaps = found.hasOverlaps || !IsZero(element, "OverlapX") || !IsZero(element, "OverlapY");
    }
    if (element.attributes.count("OriginX") != 0)
    {
      ++found.origins;
      found.isInCorner = found.isInCorner && IsZero(element, "OriginX") && IsZero(element, "OriginY");
    }
    return true;
  });
  return damage.empty() && page.tiled && found.areas == 1 && found.origins > 0 && found.isInCorner &&
         !found.hasOverlaps;
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && page->GetText(TIFFTag::XMLPacket).find("iScan") != std::string::npos &&
         file.IsConfirmed("ventana");
}

/** OpenSlide puts the parts of a tile that show a tile of level 0 each to a place of their own. */
void
CheckParts(const TIFFLayout & layout)
{
  for (std::size_t level = 0; level < layout.GetLevels().size(); ++level)
  {
    const auto       found = layout.properties.find("openslide.level[" + std::to_string(level) + "].downsample");
    const double     downsample = found == layout.properties.end() ? 0.0 : ToNumber(found->second);
    const TIFFPage & page = layout.GetPage(layout.GetLevels()[level].page);
    if (std::fmod(static_cast<double>(page.pieceWidth), downsample) != 0.0 ||
        std::fmod(static_cast<double>(page.pieceHeight), downsample) != 0.0)
    {
      throw Refusal(Diagnostic("E-SLIDE-FORMAT", "the tiles of its levels are not made of whole pixels"));
    }
  }
}

void
Describe(TIFFLayout & layout)
{
  PageRules rules;
  rules.hasUnmarkedLevels = true;
  rules.areTextsNames = false;
  for (std::size_t i = 0; i < layout.GetNumberOfMainPages(); ++i)
  {
    const TIFFPage & page = layout.GetPage(i);
    PageRole         role;
    if (page.GetShortText(TIFFTag::ImageDescription).find("level=") == std::string::npos)
    {
      const std::string name = GetUsualName(page);
      role.kind = PageRole::Kind::Associated;
      role.name = name == "label" ? "macro" : name; // it shows the whole glass
    }
    rules.roles.push_back(role);
  }
  layout.SetImages(layout.FindImages(rules));
  if (!HasTilesSideBySide(layout.GetPage(layout.GetLevels().front().page)))
  {
    throw Refusal(Diagnostic("E-SLIDE-FORMAT", "its tiles overlap"));
  }
  layout.TakeFromOpenSlide(ReadOpenSlideProperties(layout.GetPath()));
  CheckParts(layout);
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  return OpenTIFFOrElseOpenSlide(file, Describe);
}

} // namespace

extern const SlideFormat ventanaFormat;
const SlideFormat        ventanaFormat{ "ventana", { ".bif" }, Detect, Open, nullptr };

} // namespace gigapixel

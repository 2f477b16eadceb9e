/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Ventana's TIFF, and its BIF where tiles lie side by side. Pages say what they are in their descriptions.
#include "NumberText.h"
#include "OpenSlideSlide.h"
#include "SlideFormat.h"
#include "XMLTag.h"

#include <cmath>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Of level 0: whether it is one scanned area from the corner on, of tiles that do not overlap. Where others'
 * tiles belong is for OpenSlide to find out. */
bool
HasTilesSideBySide(const TIFFPage & page)
{
  const std::string xml = page.GetText(TIFFTag::XMLPacket);
  const std::string area = "<ImageInfo ";
  const std::string joint = "<TileJointInfo ";
  const std::size_t only = xml.find(area);
  const auto        isZero = [](const std::string & text, const char * name) {
    const std::string number = GetXMLAttribute(text, name);
    return !number.empty() && number.find_first_not_of("0.") == std::string::npos;
  };
  if (xml.empty())
  {
    return page.tiled; // Ventana's TIFF, which has neither areas nor overlaps
  }
  if (!page.tiled || only == std::string::npos || only != xml.rfind(area) || !isZero(xml, "Pos-X") ||
      !isZero(xml, "Pos-Y") || !isZero(xml, "OriginX") || !isZero(xml, "OriginY"))
  {
    return false;
  }
  for (std::size_t at = xml.find(joint); at != std::string::npos; at = xml.find(joint, at + 1))
  {
    const std::string element = GetXMLTag(xml, at);
    if (!isZero(element, "OverlapX") || !isZero(element, "OverlapY"))
    {
      return false;
    }
  }
  return true;
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
      throw std::runtime_error("the tiles of its levels are not made of whole pixels");
    }
  }
}

void
Describe(TIFFLayout & layout)
{
  std::optional<std::size_t> base;
  std::vector<std::size_t>   others;
  for (std::size_t i = 0; i < layout.GetNumberOfPages(); ++i)
  {
    if (layout.GetPage(i).GetText(TIFFTag::ImageDescription).find("level=") == std::string::npos)
    {
      others.push_back(i);
      continue;
    }
    base = base.value_or(i);
    layout.AddLevel(i);
  }
  if (!base || !HasTilesSideBySide(layout.GetPage(*base)))
  {
    throw std::runtime_error("its tiles overlap");
  }
  for (const std::size_t page : others)
  {
    const std::string name = GetUsualName(layout.GetPage(page));
    layout.AddAssociated(name == "label" ? "macro" : name, page); // it shows the whole glass
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

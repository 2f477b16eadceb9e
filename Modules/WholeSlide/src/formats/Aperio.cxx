/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Aperio SVS: a TIFF whose description begins with "Aperio".
#include "NumberText.h"
#include "SlideFormat.h"

#include <stdexcept>

namespace gigapixel
{
namespace
{

std::string
GetSecondLineWord(const std::string & description)
{
  const std::size_t line = description.find('\n');
  if (line == std::string::npos)
  {
    return {};
  }
  const std::size_t first = description.find_first_not_of(" \r\n", line);
  return first == std::string::npos ? std::string()
                                    : description.substr(first, description.find_first_of(" \r\n", first) - first);
}

std::string
Trim(const std::string & text)
{
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/** Tiled pages are levels, the second page is the thumbnail, other pages say their names in their second line. */
void
AddPages(TIFFLayout & layout)
{
  const std::uint64_t width = layout.GetPage(0).width;
  for (std::size_t i = 0; i < layout.GetNumberOfPages(); ++i)
  {
    const TIFFPage & page = layout.GetPage(i);
    if (page.tiled && page.GetInteger(TIFFTag::ImageDepth, 1) <= 1 && page.width <= width && page.width > 0 &&
        page.height > 0)
    {
      layout.AddLevel(i);
    }
    else if (!page.tiled)
    {
      layout.AddAssociated(i == 1 ? "thumbnail" : GetSecondLineWord(page.GetShortText(TIFFTag::ImageDescription)), i);
    }
  }
}

/** "Aperio ...|AppMag = 20|MPP = 0.499|...": OpenSlide's names for the fields and for what it makes of them. */
void
AddProperties(TIFFLayout & layout)
{
  // Of the finest level; all levels of a file have the same fields.
  const std::string description = layout.GetPage(layout.GetLevels().front().page).GetText(TIFFTag::ImageDescription);
  auto &            properties = layout.properties;
  properties["openslide.vendor"] = "aperio";
  std::size_t at = description.find('|');
  while (at != std::string::npos)
  {
    const std::size_t next = description.find('|', at + 1);
    const std::string field = description.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    const std::size_t equals = field.find('=');
    if (equals != std::string::npos && !Trim(field.substr(0, equals)).empty())
    {
      properties["aperio." + Trim(field.substr(0, equals))] = Trim(field.substr(equals + 1)); // the last one counts
    }
    at = next;
  }
  const auto power = properties.find("aperio.AppMag");
  if (power != properties.end() && ToNumber(power->second) > 0.0)
  {
    properties["openslide.objective-power"] = power->second;
  }
  const auto   mpp = properties.find("aperio.MPP");
  const double microns = mpp == properties.end() ? 0.0 : ToNumber(mpp->second);
  layout.micronsPerPixel = { microns, microns };
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && page->tiled && page->GetText(TIFFTag::ImageDescription).rfind("Aperio", 0) == 0;
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  auto layout = std::make_shared<TIFFLayout>(file.GetPath());
  AddPages(*layout);
  if (layout->GetLevels().empty())
  {
    throw std::runtime_error("it has no levels");
  }
  AddProperties(*layout);
  return OpenTIFF(file, std::move(layout));
}

/** A file whose tables are damaged is left to others. */
bool
Claims(const SlideFile & file)
{
  try
  {
    return TIFFLayout(file.GetPath()).GetNumberOfPages() > 0;
  }
  catch (const std::runtime_error &)
  {
    return false;
  }
}

} // namespace

extern const SlideFormat aperioFormat;
const SlideFormat        aperioFormat{ "aperio", { ".svs" }, Detect, Open, Claims };

} // namespace gigapixel

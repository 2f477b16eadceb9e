/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Aperio SVS: a TIFF whose description begins with "Aperio".
#include "NumberText.h"
#include "SlideFormat.h"

#include "gigapixelDiagnostic.h"

#include <cctype>
#include <stdexcept>

namespace gigapixel
{
namespace
{

std::string
Trim(const std::string & text)
{
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/** The name of the field ends at an equals sign, and the field at the next bar; empty where there is none. */
std::string
GetField(const std::string & description, const std::string & name)
{
  std::size_t at = description.find('|');
  while (at != std::string::npos)
  {
    const std::size_t next = description.find('|', at + 1);
    const std::string field = description.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    const std::size_t equals = field.find('=');
    if (equals != std::string::npos && Trim(field.substr(0, equals)) == name)
    {
      return Trim(field.substr(equals + 1));
    }
    at = next;
  }
  return {};
}

/** The name that a page says before its fields, which may mention anything. */
std::string
GetStatedName(const TIFFPage & page)
{
  const std::string description = page.GetShortText(TIFFTag::ImageDescription);
  const std::string stated = FindUsualName(description.substr(0, description.find('|')));
  return stated.empty()
           ? FindUsualName(page.GetShortText(TIFFTag::DocumentName) + ' ' + page.GetShortText(TIFFTag::PageName))
           : stated;
}

/** Whether a page has Aperio's text without the size that the text of each level states. */
bool
LacksSize(const TIFFPage & page)
{
  const std::string text = page.GetShortText(TIFFTag::ImageDescription);
  const auto        isDigit = [&text](std::size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find('x', 1); at != std::string::npos; at = text.find('x', at + 1))
  {
    if (isDigit(at - 1) && isDigit(at + 1))
    {
      return false;
    }
  }
  return text.rfind("Aperio", 0) == 0;
}

bool
IsSmaller(const TIFFPage & one, const TIFFPage & other)
{
  return one.width < other.width && one.height < other.height;
}

/** Whether a tiled page is unlike a level: levels have the compression and the colors of the finest one. */
bool
IsUnlike(const TIFFPage & base, const TIFFPage & page)
{
  return page.compression != base.compression || page.photometric != base.photometric || page.samples != base.samples;
}

/** Whether one page alone has the mark of labels, which elsewhere is that of reduced pages. */
bool
HasOneMarkedPage(const TIFFLayout & layout)
{
  constexpr unsigned labelType = 1;
  std::size_t        marked = 0;
  for (std::size_t i = 1; i < layout.GetNumberOfMainPages(); ++i)
  {
    marked += layout.GetPage(i).subfileType == labelType ? 1 : 0;
  }
  return marked == 1;
}

/** Whether levels are without a mark in NewSubfileType, as scanners write them. Other programs mark levels as reduced
 * in files that keep Aperio's description. */
bool
HasUnmarkedLevels(const TIFFLayout & layout)
{
  const TIFFPage & base = layout.GetPage(0);
  for (std::size_t i = 1; i < layout.GetNumberOfMainPages(); ++i)
  {
    const TIFFPage & page = layout.GetPage(i);
    if (page.tiled && page.subfileType == 0 && IsSmaller(page, base) && GetStatedName(page).empty())
    {
      return true;
    }
  }
  return false;
}

/** The page behind the finest level is the thumbnail if it is no tiled page, or smaller than a level behind it. */
bool
IsThumbnail(const TIFFLayout & layout, std::size_t number)
{
  const TIFFPage & page = layout.GetPage(number);
  if (number != 1 || !IsSmaller(page, layout.GetPage(0)))
  {
    return false;
  }
  for (std::size_t i = 2; i < layout.GetNumberOfMainPages(); ++i)
  {
    const TIFFPage & other = layout.GetPage(i);
    if (page.tiled && other.tiled && other.subfileType == page.subfileType && IsSmaller(page, other) &&
        IsSmaller(other, layout.GetPage(0)) && GetStatedName(other).empty())
    {
      return true;
    }
  }
  return !page.tiled;
}

/** What a page says of itself: its name, its NewSubfileType (1 label, 9 macro) and its focal plane (OffsetZ). */
PageRole
GetRole(const TIFFLayout & layout, std::size_t number)
{
  const TIFFPage & page = layout.GetPage(number);
  PageRole         role;
  if (page.GetInteger(TIFFTag::ImageDepth, 1) > 1)
  {
    role.kind = PageRole::Kind::Ignored;
    return role;
  }
  const std::string  stated = GetStatedName(page);
  constexpr unsigned macroType = 9;
  const bool         isMarked = number > 0 && page.IsReduced();
  const bool         isSizeless = LacksSize(page) && !LacksSize(layout.GetPage(0));
  const bool         isUnlike = number > 0 && (isSizeless || IsUnlike(layout.GetPage(0), page));
  // A level that is taken for a label costs time; a label that is taken for a level tells of a patient.
  const bool isMarkedLabel = isMarked && (HasOneMarkedPage(layout) || HasUnmarkedLevels(layout));
  if (number > 0 && (!stated.empty() || page.subfileType == macroType || isMarkedLabel || isUnlike || !page.tiled ||
                     IsThumbnail(layout, number)))
  {
    role.kind = PageRole::Kind::Associated;
    role.name = IsThumbnail(layout, number) && stated.empty() ? "thumbnail"
                : !stated.empty()                             ? stated
                : page.subfileType == macroType               ? "macro"
                : isMarked                                    ? "label"
                                                              : "";
    return role;
  }
  const std::string offset = GetField(page.GetText(TIFFTag::ImageDescription), "OffsetZ");
  if (!offset.empty())
  {
    role.name = "OffsetZ " + offset;
    role.part = offset;
    role.distance = ToNumber(offset);
  }
  return role;
}

void
AddPages(TIFFLayout & layout)
{
  PageRules rules;
  rules.hasUnmarkedLevels = true;
  rules.areTextsNames = false;
  rules.othersAreAssociated = true;
  for (std::size_t i = 0; i < layout.GetNumberOfMainPages(); ++i)
  {
    rules.roles.push_back(GetRole(layout, i));
  }
  layout.SetImages(layout.FindImages(rules));
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
  auto layout = std::make_shared<TIFFLayout>(file.GetPath(), file.GetImage());
  AddPages(*layout);
  if (layout->GetLevels().empty())
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "it has no levels"));
  }
  AddAperioProperties(*layout);
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

/** "Aperio ...|AppMag = 20|MPP = 0.499|...": OpenSlide's names for the fields and for what it makes of them. */
void
AddAperioProperties(TIFFLayout & layout)
{
  // The finest level says it; all levels of a file have the same fields.
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

extern const SlideFormat aperioFormat;
const SlideFormat        aperioFormat{ "aperio", { ".svs" }, Detect, Open, Claims };

} // namespace gigapixel

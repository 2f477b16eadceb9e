/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Aperio SVS: a TIFF whose description begins with "Aperio".
#include "files/NumberText.h"
#include "SlideFormat.h"
#include "slide/SlideImageChoice.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

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
    role.depth = ToNumber(offset);
  }
  return role;
}

/** Whether a page may be a label that nothing calls so: it is no larger than labels are, and its text does not state
 * the size of the finest level, as Aperio's texts of levels do. */
bool
MayBeLabel(const TIFFLayout & layout, std::size_t number)
{
  constexpr std::uint64_t largest = 2000;
  const TIFFPage &        base = layout.GetPage(layout.GetLevels().front().page);
  const TIFFPage &        page = layout.GetPage(number);
  const std::string       size = std::to_string(base.width) + 'x' + std::to_string(base.height);
  return page.width <= largest && page.height <= largest && page.subfileType == 0 &&
         page.GetText(TIFFTag::ImageDescription).find(size) == std::string::npos;
}

double
GetMean(const Slide & slide, unsigned level, const Rectangle & region)
{
  std::vector<unsigned char> pixels(region.width * region.height);
  slide.ReadRegion(level, region, 1, pixels.data(), 1);
  return std::accumulate(pixels.begin(), pixels.end(), 0.0) / static_cast<double>(pixels.size());
}

/** Whether a level shows what a finer one does: the means of patches of both, all over the image, differ by little. */
bool
ShowsSame(const Slide & slide, unsigned fine, unsigned coarse)
{
  constexpr std::uint64_t patches = 8;  // along each axis
  constexpr std::uint64_t most = 256;   // pixels along a side of a patch of the finer level
  constexpr double        largest = 12; // gray levels, as levels of any quality do not differ by
  const SlidePlane &      from = slide.GetPlanes()[fine];
  const SlidePlane &      plane = slide.GetPlanes()[coarse];
  const auto              factor = std::max<std::uint64_t>(1, from.width / plane.width);
  const auto              side = std::clamp<std::uint64_t>(most / factor, 1, 16);
  const std::uint64_t     width = std::min(side, plane.width);
  const std::uint64_t     height = std::min(side, plane.height);
  double                  squares = 0.0;
  const auto              scale = [](std::uint64_t at, std::uint64_t length, std::uint64_t ofWhole) {
    return at * length / ofWhole;
  };
  try
  {
    for (std::uint64_t i = 0; i < patches * patches; ++i)
    {
      const std::uint64_t x = (plane.width - width) * (i % patches) / (patches - 1);
      const std::uint64_t y = (plane.height - height) * (i / patches) / (patches - 1);
      const std::uint64_t left = scale(x, from.width, plane.width);
      const std::uint64_t top = scale(y, from.height, plane.height);
      const Rectangle     region{ left,
                              top,
                              std::max<std::uint64_t>(scale(x + width, from.width, plane.width) - left, 1),
                              std::max<std::uint64_t>(scale(y + height, from.height, plane.height) - top, 1) };
      const double        difference = GetMean(slide, coarse, { x, y, width, height }) - GetMean(slide, fine, region);
      squares += difference * difference;
    }
  }
  catch (const SlideError &)
  {
    return true;
  }
  return std::sqrt(squares / (patches * patches)) <= largest;
}

/** Pages of levels that show something else than the level before them: labels that nothing calls so. What cannot be
 * read stays a level. */
std::set<std::size_t>
FindHiddenLabels(const TIFFLayout & layout, const std::function<std::unique_ptr<const Slide>()> & open)
{
  std::set<std::size_t>        found;
  std::unique_ptr<const Slide> slide; // of its own: damage that is found here is counted where pixels are asked for
  unsigned                     finer = 0;
  for (unsigned level = 1; level < layout.GetLevels().size(); ++level)
  {
    const std::size_t page = layout.GetLevels()[level].page;
    bool              isLevel = true;
    if (MayBeLabel(layout, page))
    {
      slide = slide ? std::move(slide) : open();
      isLevel = slide->GetNumberOfLevels() != layout.GetLevels().size() || !slide->GetPlanes()[level].IsPicture() ||
                ShowsSame(*slide, finer, level);
    }
    if (isLevel)
    {
      finer = level;
    }
    else
    {
      found.insert(page);
    }
  }
  return found;
}

/** \param labels pages that are labels, whatever they say */
void
AddPages(TIFFLayout & layout, const std::set<std::size_t> & labels = {})
{
  PageRules rules;
  rules.hasUnmarkedLevels = true;
  rules.areTextsNames = false;
  rules.othersAreAssociated = true;
  for (std::size_t i = 0; i < layout.GetNumberOfMainPages(); ++i)
  {
    rules.roles.push_back(GetRole(layout, i));
    if (labels.count(i) != 0)
    {
      rules.roles.back() = PageRole();
      rules.roles.back().kind = PageRole::Kind::Associated;
    }
  }
  layout.SetImages(layout.FindImages(rules));
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && page->tiled && page->GetText(TIFFTag::ImageDescription).rfind("Aperio", 0) == 0;
}

std::shared_ptr<TIFFLayout>
MakeLayout(const SlideFile & file, const std::set<std::size_t> & labels = {})
{
  auto layout = std::make_shared<TIFFLayout>(file.GetPath(), file.GetImage());
  AddPages(*layout, labels);
  if (layout->GetLevels().empty())
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "it has no levels"));
  }
  AddAperioProperties(*layout);
  constexpr double micrometer = 1.0;
  AddFocalPlaneSpacing(layout->properties, layout->DescribeImages(), micrometer);
  return layout;
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  auto                        layout = MakeLayout(file);
  const std::set<std::size_t> labels = FindHiddenLabels(*layout, [&file] { return OpenTIFF(file, MakeLayout(file)); });
  return OpenTIFF(file, labels.empty() ? std::move(layout) : MakeLayout(file, labels));
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

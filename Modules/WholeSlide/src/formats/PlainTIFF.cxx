/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A TIFF that says all in its tags.
#include "PyramidDescription.h"
#include "SlideFormat.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

namespace gigapixel
{
namespace
{

bool
Detect(const SlideFile & file)
{
  return file.IsTIFF();
}

/** Pages that we cannot read may be of a vendor's own dialect of TIFF. */
bool
IsVendors(const SlideFile & file)
{
  const std::string vendor = file.GetOpenSlideVendor().value_or("");
  return !vendor.empty() && vendor != "generic-tiff";
}

/** Number of planes that a page stands for: ImageJ writes only the first page of a large stack, and SGI's tag
 * ImageDepth puts the planes of a volume into one page. */
std::uint64_t
CountPlanes(const TIFFLayout & layout)
{
  const TIFFPage &    page = layout.GetPage(0);
  const std::uint64_t images = std::strtoull(GetImageJValue(page, "images").c_str(), nullptr, 10);
  const std::uint64_t behind = images > layout.GetNumberOfMainPages() ? images : 1;
  return std::max(behind, page.GetInteger(TIFFTag::ImageDepth, 1));
}

/** The channels of a pyramid of ours: several have a page each. */
std::vector<SlideChannel>
FindOwnChannels(const TIFFLayout & layout)
{
  PyramidDescription own;
  PyramidDescription::Parse(layout.GetPage(0).GetText(TIFFTag::ImageDescription), own);
  if (own.channels.size() > 1 && own.channels.size() > layout.GetNumberOfMainPages())
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT",
                             "it says that it has " + FormatCount(own.channels.size(), "channel") +
                               " on a page each, but it has " + FormatCount(layout.GetNumberOfMainPages(), "page")));
  }
  return own.channels;
}

/** Levels and associated images of the pages, with channels placed as our pyramids have them. */
void
Arrange(TIFFLayout & layout, PageRules rules)
{
  const auto channels = FindOwnChannels(layout);
  for (std::size_t i = 1; i < channels.size(); ++i)
  {
    rules.roles.resize(channels.size());
    rules.roles[i].kind = PageRole::Kind::Ignored;
  }
  layout.SetImages(layout.FindImages(rules));
  layout.channels = channels;
  if (channels.size() > 1)
  {
    std::vector<std::size_t> pages(channels.size());
    std::iota(pages.begin(), pages.end(), std::size_t{ 0 });
    layout.PlaceChannels(pages);
  }
}

/** ImageJ says of a stack that each page is a focal plane. The middle one is in focus, as far as anybody knows. */
PageRules
MakeRulesOfStack(const TIFFLayout & layout)
{
  PageRules           rules;
  const std::size_t   pages = layout.GetNumberOfMainPages();
  const std::uint64_t slices = std::strtoull(GetImageJValue(layout.GetPage(0), "slices").c_str(), nullptr, 10);
  if (slices == pages && pages > 1)
  {
    const std::size_t middle = (pages - 1) / 2;
    rules.roles.resize(pages);
    for (std::size_t i = 0; i < pages; ++i)
    {
      rules.roles[i].name = "plane " + std::to_string(i + 1);
      rules.roles[i].depth = static_cast<double>(i) - static_cast<double>(middle);
    }
  }
  return rules;
}

void
WarnOfPlanes(TIFFLayout & layout)
{
  const std::uint64_t planes = CountPlanes(layout);
  if (planes > 1)
  {
    const std::string which = "1 of " + std::to_string(planes);
    layout.warnings.push_back(
      Diagnostic("W-SLIDE-PLANES",
                 "its page holds a stack of " + FormatCount(planes, "plane") + ", and only the first one is read",
                 "export another one where it matters")
        .OfFile(layout.GetPath())
        .OfValue(which));
  }
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  std::shared_ptr<TIFFLayout> layout;
  try
  {
    layout = std::make_shared<TIFFLayout>(file.GetPath(), file.GetImage());
  }
  catch (const std::runtime_error &)
  {
    if (IsVendors(file))
    {
      return OpenThroughOpenSlide(file);
    }
    throw;
  }
  WarnOfPlanes(*layout);
  Arrange(*layout, MakeRulesOfStack(*layout));
  // Other programs put a page of their own, such as a macro, before those of the scanner.
  const TIFFPage & base = layout->GetPage(layout->GetLevels().front().page);
  if (base.GetShortText(TIFFTag::ImageDescription).rfind("Aperio", 0) == 0)
  {
    AddAperioProperties(*layout);
  }
  return OpenTIFF(file, std::move(layout));
}

bool
Claims(const SlideFile & file)
{
  try
  {
    TIFFLayout layout(file.GetPath());
    Arrange(layout, {});
    return layout.IsTiledPyramid() || !layout.GetLevels().front().furtherChannels.empty();
  }
  catch (const std::runtime_error &)
  {
    return IsVendors(file);
  }
}

} // namespace

extern const SlideFormat plainTIFFFormat;
const SlideFormat        plainTIFFFormat{ "generic-tiff", { ".tif", ".tiff" }, Detect, Open, Claims };

} // namespace gigapixel

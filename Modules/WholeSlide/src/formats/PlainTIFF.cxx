/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A TIFF that says all in its tags.
#include "pyramid/PyramidDescription.h"
#include "SlideFormat.h"
#include "slide/SlideImageChoice.h"
#include "StackDescription.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
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

/** Images that ImageJ says there are. */
std::uint64_t
CountImageJImages(const TIFFPage & page)
{
  return std::strtoull(GetImageJValue(page, "images").c_str(), nullptr, 10);
}

/** Pages that the only page with a table stands for: ImageJ and tifffile may write no tables of the others. */
std::uint64_t
CountPagesWithoutTables(const TIFFPage & page)
{
  const ShapedStack shaped = ReadShapedStack(page);
  if (!shaped.isTruncated)
  {
    return CountImageJImages(page);
  }
  const double ofPage = static_cast<double>(page.GetArea()) * page.samples;
  double       pages = 1.0 / ofPage;
  for (const std::uint64_t size : shaped.shape)
  {
    pages *= static_cast<double>(size);
  }
  constexpr double most = 1e9;
  return pages < most ? static_cast<std::uint64_t>(std::llround(pages)) : 0;
}

/** Whether it is a pyramid of ours. */
bool
IsOwn(const TIFFLayout & layout)
{
  PyramidDescription ignored;
  return PyramidDescription::Parse(layout.GetPage(0).GetText(TIFFTag::ImageDescription), ignored);
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

/** How the pages follow each other that are channels and focal planes of one image. */
struct PageStack
{
  std::size_t channels = 1;
  std::size_t planes = 1;
  bool        areChannelsFirst = false; // in the file, channels follow each other before planes do

  std::size_t
  GetStep() const // between channels
  {
    return areChannelsFirst ? 1 : planes;
  }
};

/** The number behind "key=" of ImageJ, which writes none for 1. */
std::size_t
GetImageJCount(const TIFFPage & page, const std::string & key)
{
  const std::string text = GetImageJValue(page, key);
  return text.empty() ? 1 : std::strtoull(text.c_str(), nullptr, 10);
}

/** A hyperstack of ImageJ, whose channels follow each other. */
PageStack
FindImageJStack(const TIFFPage & page)
{
  const bool isStill = GetImageJCount(page, "frames") == 1;
  return isStill ? PageStack{ GetImageJCount(page, "channels"), GetImageJCount(page, "slices"), true } : PageStack();
}

PageStack
FindShapedStack(const TIFFPage & page)
{
  const ShapedStack shaped = ReadShapedStack(page);
  PageStack         stack;
  const std::size_t leading = std::min(shaped.axes.find("YX"), shaped.axes.size());
  for (std::size_t axis = 0; axis < leading && shaped.shape.size() == shaped.axes.size(); ++axis)
  {
    const char letter = shaped.axes[axis];
    if (letter == 'C' || letter == 'Z')
    {
      stack.areChannelsFirst = letter == 'C';
      (letter == 'C' ? stack.channels : stack.planes) = shaped.shape[axis];
    }
    else if (shaped.shape[axis] != 1)
    {
      return {};
    }
  }
  return stack;
}

/** Nothing but one page where the file says of no stack, or of one that its pages are not. */
PageStack
FindStack(const TIFFLayout & layout)
{
  const TIFFPage &  page = layout.GetPage(0);
  const std::size_t pages = layout.GetNumberOfMainPages();
  const auto        isAlike = [&page](const TIFFPage & other) {
    return other.width == page.width && other.height == page.height && other.samples == page.samples;
  };
  const auto isThere = [&](const PageStack & stack) {
    const bool areChannels = stack.channels <= 1 || (stack.channels <= MostChannels && page.samples == 1);
    if (pages < 2 || !areChannels || stack.channels == 0 || pages % stack.channels != 0 ||
        pages / stack.channels != stack.planes)
    {
      return false;
    }
    for (std::size_t i = 1; i < pages; ++i)
    {
      if (!isAlike(layout.GetPage(i)))
      {
        return false;
      }
    }
    return true;
  };
  const PageStack ofImageJ = FindImageJStack(page), shaped = FindShapedStack(page);
  const PageStack stack = isThere(ofImageJ) ? ofImageJ : isThere(shaped) ? shaped : PageStack();
  if (stack.planes > MostFocalPlanes)
  {
    throw TooManyFocalPlanes(layout.GetPath(), stack.planes);
  }
  return stack;
}

/** Each focal plane is an image. The middle one is in focus, as far as anybody knows. */
PageRules
MakeRules(const PageStack & stack)
{
  PageRules rules;
  rules.roles.resize(stack.channels * stack.planes);
  for (std::size_t page = 0; page < rules.roles.size(); ++page)
  {
    const std::size_t plane = stack.areChannelsFirst ? page / stack.channels : page % stack.planes;
    const bool        isFirst = stack.areChannelsFirst ? page % stack.channels == 0 : page < stack.planes;
    rules.roles[page].kind = isFirst ? PageRole::Kind::Unknown : PageRole::Kind::Ignored;
    if (isFirst && stack.planes > 1)
    {
      rules.roles[page].name = "plane " + std::to_string(plane + 1);
      const auto middle = (stack.planes - 1) / 2;
      rules.roles[page].depth = static_cast<double>(plane) - static_cast<double>(middle);
    }
  }
  return rules;
}

/** The channels' names, where the program that wrote the stack has them for all. */
std::vector<SlideChannel>
FindStackChannels(const TIFFPage & page, const PageStack & stack)
{
  const std::vector<std::string> labels = FindImageJLabels(page);
  const std::vector<std::string> names = labels.empty() ? ReadShapedStack(page).channelNames : labels;
  std::vector<SlideChannel>      channels;
  for (std::size_t i = 0; i < stack.channels && names.size() >= stack.channels; ++i)
  {
    channels.push_back({ names[i] });
  }
  return channels;
}

/** Levels and associated images of the pages, with channels placed as a stack or a pyramid of ours has them. */
void
Arrange(TIFFLayout & layout, PageStack stack)
{
  const auto own = FindOwnChannels(layout);
  if (own.size() > 1)
  {
    stack = { own.size(), 1, true };
  }
  layout.SetImages(layout.FindImages(MakeRules(stack)));
  layout.channels = own;
  if (stack.channels > 1)
  {
    std::vector<std::size_t> pages(stack.channels);
    for (std::size_t channel = 0; channel < pages.size(); ++channel)
    {
      pages[channel] = layout.GetLevels().front().page + channel * stack.GetStep();
    }
    layout.PlaceChannels(pages);
    layout.channels = own.empty() ? FindStackChannels(layout.GetPage(0), stack) : own;
  }
}

/** Says which planes are not read: those that SGI's tag ImageDepth puts into one page, and those that a stack lacks. */
void
WarnOfPlanes(TIFFLayout & layout, std::uint64_t stated)
{
  const std::size_t   pages = layout.GetNumberOfMainPages();
  const std::uint64_t depth = layout.GetPage(0).GetInteger(TIFFTag::ImageDepth, 1);
  const bool          isCut = stated > pages;
  const bool          isBeyondLimit = stated > TIFFLayout::MostPages;
  if (!isCut && depth <= 1)
  {
    return;
  }
  const std::string count = FormatCount(isCut ? stated : depth, "plane");
  layout.warnings.push_back(
    (isCut ? Diagnostic("W-SLIDE-PLANES",
                        "it says that it is a stack of " + count +
                          (isBeyondLimit ? ", where up to " + std::to_string(TIFFLayout::MostPages) + " can be read"
                                         : ", but it holds " + FormatCount(pages, "page") + " that can be read"),
                        isBeyondLimit
                          ? "write the stack again as several files"
                          : "get the file again from where it came, or write the stack again without compression")
           : Diagnostic("W-SLIDE-PLANES",
                        "its page holds a stack of " + count + ", and only the first one is read",
                        "export another one where it matters"))
      .OfFile(layout.GetPath())
      .OfValue((isCut ? std::to_string(pages) : "1") + " of " + std::to_string(isCut ? stated : depth)));
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
  const std::uint64_t stated = CountPagesWithoutTables(layout->GetPage(0));
  if (stated > 1)
  {
    layout->AddPagesWithoutTables(stated);
  }
  WarnOfPlanes(*layout, stated);
  Arrange(*layout, FindStack(*layout));
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
    Arrange(layout, {}); // a stack stays with those who read it as a volume
    return layout.IsTiledPyramid() || IsOwn(layout);
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

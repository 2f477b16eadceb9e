/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// OME-TIFF: channels on pages of their own, as the XML of the first page says.
#include "NumberText.h"
#include "SlideFormat.h"
#include "XMLTag.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** More channels than any file has pages for; a damaged number must not take the machine's memory, nor hours. */
constexpr std::uint64_t channelLimit = 4096;

std::uint64_t
GetNumber(const std::string & tag, const std::string & attribute, std::uint64_t otherwise)
{
  const std::string text = GetXMLAttribute(tag, attribute);
  const bool isNumber = !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
  return isNumber ? std::strtoull(text.c_str(), nullptr, 10) : otherwise;
}

/** Pages are in the order of the channels, but where TiffData elements say otherwise: each names the page of a first
 * channel, and how many follow each other from there (one, where only the page is named; else all). */
std::vector<std::uint64_t>
ReadPages(const std::string & image, std::uint64_t channels)
{
  std::vector<std::uint64_t> pages(channels);
  std::iota(pages.begin(), pages.end(), 0);
  std::size_t at = FindXMLTag(image, "TiffData");
  for (std::uint64_t element = 0; element < channelLimit && at != std::string::npos; ++element)
  {
    const std::string   tag = GetXMLTag(image, at);
    const bool          namesPage = !GetXMLAttribute(tag, "IFD").empty();
    const std::uint64_t page = GetNumber(tag, "IFD", 0);
    const std::uint64_t first = GetNumber(tag, "FirstC", 0);
    const std::uint64_t count = GetNumber(tag, "PlaneCount", namesPage ? 1 : channels);
    for (std::uint64_t i = 0; i < count && first + i < channels; ++i)
    {
      pages[first + i] = page + i;
    }
    at = FindXMLTag(image, "TiffData", at + 1);
  }
  return pages;
}

std::string
Count(std::uint64_t number, const std::string & noun)
{
  return std::to_string(number) + ' ' + noun + (number == 1 ? "" : "s");
}

/** What the OME-XML in the first page of an OME-TIFF says of its first image (OME-TIFF specification 6,
 * docs.openmicroscopy.org/ome-model; schema 2016-06). */
struct OMEDescription
{
  std::uint64_t              channels = 1; // SizeC: samples of a pixel over all pages
  std::uint64_t              depths = 1;   // SizeZ
  std::uint64_t              times = 1;    // SizeT
  std::uint64_t              images = 1;   // with pixels of their own; those after the first are not described here
  std::vector<std::uint64_t> samples;      // of each Channel element: its part of SizeC
  std::vector<std::string>   names;        // of each Channel element; empty for one without

  /** Of an image of one depth and one time with one sample a page: in which page of the file each channel is. */
  std::vector<std::uint64_t> pages;

  /** None where the text is no OME-XML, or describes no pixels. */
  static std::optional<OMEDescription> Parse(const std::string & xml);

  /** What keeps an image of these pages from being read as one slide, as part of a sentence; empty: nothing.
   * \param pageSamples samples of a pixel of the first page
   * \param pageCount pages of the file that are no children of another
   * \param alikeCount how many of them have the size of the first and are no reductions of it */
  std::string FindContradiction(std::uint64_t pageSamples, std::uint64_t pageCount, std::uint64_t alikeCount) const;
};

std::optional<OMEDescription>
OMEDescription::Parse(const std::string & xml)
{
  const std::size_t begin = FindXMLTag(xml, "Pixels");
  if (FindXMLTag(xml, "OME") == std::string::npos || begin == std::string::npos)
  {
    return {};
  }
  const std::string image = xml.substr(begin, xml.find("</Pixels>", begin) - begin);
  const std::string pixels = GetXMLTag(image, 0);
  OMEDescription    described;
  described.depths = GetNumber(pixels, "SizeZ", 1);
  described.times = GetNumber(pixels, "SizeT", 1);
  described.images = 0;
  for (std::size_t at = begin; at != std::string::npos; at = FindXMLTag(xml, "Pixels", at + 1))
  {
    ++described.images;
  }
  for (std::size_t at = FindXMLTag(image, "Channel"); at != std::string::npos;
       at = FindXMLTag(image, "Channel", at + 1))
  {
    const std::string tag = GetXMLTag(image, at);
    described.names.push_back(GetXMLAttribute(tag, "Name"));
    described.samples.push_back(GetNumber(tag, "SamplesPerPixel", 1));
  }
  described.channels = GetNumber(pixels, "SizeC", std::max<std::uint64_t>(1, described.names.size()));
  described.pages = ReadPages(image, std::min(described.channels, channelLimit));
  return described;
}

std::string
OMEDescription::FindContradiction(std::uint64_t pageSamples, std::uint64_t pageCount, std::uint64_t alikeCount) const
{
  const std::string says = "its OME-XML describes ";
  if (depths > 1 || times > 1)
  {
    return says + "a stack of " + Count(depths, "plane") + " in depth (SizeZ) and " + Count(times, "time") +
           " (SizeT), where a slide is one plane";
  }
  const std::string described = says + Count(channels, "channel") + " (SizeC)";
  const bool        isOnePage = pageSamples > 1 || channels == 1;
  if (images == 1 && alikeCount > (isOnePage ? 1 : channels))
  {
    return described + ", but it has " + Count(alikeCount, "page") + " of " + Count(pageSamples, "sample");
  }
  const std::uint64_t samplesOfElements = std::accumulate(samples.begin(), samples.end(), std::uint64_t{ 0 });
  if (isOnePage)
  {
    // Writers count a page in color as one channel or as one for each sample.
    const bool agrees = channels == pageSamples || samplesOfElements == pageSamples;
    return agrees ? std::string() : described + ", but its page is of " + Count(pageSamples, "sample");
  }
  const bool areSingle = std::all_of(samples.begin(), samples.end(), [](std::uint64_t of) { return of == 1; });
  if (!areSingle || (!samples.empty() && samples.size() != channels))
  {
    return described + " and " + Count(samples.size(), "Channel element") + " of " +
           Count(samplesOfElements, "sample") + " in all (SamplesPerPixel), but its pages are of 1 sample";
  }
  const std::set<std::uint64_t> distinct(pages.begin(), pages.end());
  if (channels > pageCount)
  {
    return described + " on a page each, but it has " + Count(pageCount, "page");
  }
  if (channels == 0 || distinct.size() < channels || *distinct.rbegin() >= pageCount)
  {
    return described + " on pages (TiffData) that are not all different ones of this file";
  }
  return {};
}

/** Pages that are as large as the first and no reductions of it. */
std::size_t
CountAlikePages(const TIFFLayout & layout)
{
  const TIFFPage & base = layout.GetPage(0);
  std::size_t      count = 0;
  for (std::size_t i = 0; i < layout.GetNumberOfMainPages(); ++i)
  {
    const TIFFPage & page = layout.GetPage(i);
    count += !page.IsReduced() && page.width == base.width && page.height == base.height ? 1 : 0;
  }
  return count;
}

bool
IsAlike(const TIFFPage & one, const TIFFPage & other)
{
  return one.width == other.width && one.height == other.height && one.bits == other.bits &&
         one.sampleFormat == other.sampleFormat && one.samples == other.samples && one.pieceWidth == other.pieceWidth &&
         one.pieceHeight == other.pieceHeight;
}

/** One page per channel, each with its reductions as children. */
void
AddChannels(TIFFLayout & layout, const OMEDescription & described)
{
  std::vector<std::vector<std::size_t>> pagesOfChannels;
  for (std::size_t channel = 0; channel < described.channels; ++channel)
  {
    std::vector<std::size_t> pages{ described.pages[channel] };
    const auto               children = layout.ReadChildren(pages.front());
    pages.insert(pages.end(), children.begin(), children.end());
    pagesOfChannels.push_back(std::move(pages));
    if (pagesOfChannels.back().size() != pagesOfChannels.front().size())
    {
      throw std::runtime_error("its channels have different numbers of levels");
    }
  }
  for (std::size_t level = 0; level < pagesOfChannels.front().size(); ++level)
  {
    const std::size_t        first = pagesOfChannels.front()[level];
    std::vector<std::size_t> further;
    for (std::size_t channel = 1; channel < described.channels; ++channel)
    {
      further.push_back(pagesOfChannels[channel][level]);
      if (layout.GetPage(first).samples != 1 || !IsAlike(layout.GetPage(first), layout.GetPage(further.back())))
      {
        throw std::runtime_error("its channels are of different sizes or kinds");
      }
    }
    if (level > 0 && layout.GetPage(first).width > layout.GetPage(pagesOfChannels.front()[level - 1]).width)
    {
      throw std::runtime_error("its levels are not in the order of their sizes");
    }
    layout.AddLevel(first, std::move(further));
  }
  for (std::size_t page = 0; page < layout.GetNumberOfMainPages(); ++page)
  {
    if (std::find(described.pages.begin(), described.pages.end(), page) == described.pages.end())
    {
      layout.AddAssociated(GetUsualName(layout.GetPage(page)), page);
    }
  }
}

/** Of stacks in depth or time nothing is made, nor of pages that are others than the XML says. */
std::shared_ptr<TIFFLayout>
Describe(const SlideFile & file)
{
  auto              layout = std::make_shared<TIFFLayout>(file.GetPath());
  const TIFFPage &  base = layout->GetPage(0);
  const std::string xml = base.GetText(TIFFTag::ImageDescription);
  const auto        described = OMEDescription::Parse(xml);
  layout->channelNames = described->names;
  layout->obstacle.what =
    described->FindContradiction(base.samples, layout->GetNumberOfMainPages(), CountAlikePages(*layout));
  if (!layout->obstacle.what.empty())
  {
    layout->obstacle.remedy =
      "write what is wanted of it as an OME-TIFF of one plane, e.g. with bfconvert of Bio-Formats";
    layout->AddLevel(0);
  }
  else if (base.samples != 1 || described->channels < 2)
  {
    layout->AddPagesByTags();
  }
  else
  {
    layout->channelNames.resize(described->channels);
    AddChannels(*layout, *described);
  }
  if (!layout->channelNames.empty() && !GetXMLAttribute(xml, "PhysicalSizeX").empty())
  {
    // In micrometers, where no other unit is named.
    const std::string unit = GetXMLAttribute(xml, "PhysicalSizeXUnit");
    const double      factor = unit == "nm" ? 1e-3 : unit == "mm" ? 1e3 : 1.0;
    layout->micronsPerPixel = { ToNumber(GetXMLAttribute(xml, "PhysicalSizeX")) * factor,
                                ToNumber(GetXMLAttribute(xml, "PhysicalSizeY")) * factor };
  }
  return layout;
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && OMEDescription::Parse(page->GetText(TIFFTag::ImageDescription));
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  return OpenTIFF(file, Describe(file));
}

/** A pyramid of which other readers would make a stack is ours, and what any TIFF reader decodes. */
bool
Claims(const SlideFile & file)
{
  try
  {
    const auto       layout = Describe(file);
    const TIFFPage & base = layout->GetPage(0);
    const bool       isPyramid = layout->obstacle.what.empty() && !layout->channelNames.empty() && base.tiled &&
                           layout->GetLevels().size() > 1 && FindObstacle(base).what.empty();
    return layout->IsTiledPyramid() || (isPyramid && !layout->HasOtherPages());
  }
  catch (const std::runtime_error &)
  {
    return false;
  }
}

} // namespace

extern const SlideFormat omeFormat;
const SlideFormat        omeFormat{ "ome-tiff", {}, Detect, Open, Claims };

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OMEDescription.h"

#include "XMLTag.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

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

} // namespace

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

} // namespace gigapixel

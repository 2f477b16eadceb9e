/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Where the pages of an OME-TIFF are not what its XML says.
#include "OMEDescription.h"
#include "slide/SlideImageChoice.h"

#include "gigapixelFormatCount.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

namespace gigapixel
{
namespace
{

/** Pages that are as large as the base and no reductions of it. */
std::size_t
CountAlikePages(const TIFFLayout & layout, const TIFFPage & base)
{
  std::size_t count = 0;
  for (std::size_t i = 0; i < layout.GetNumberOfMainPages(); ++i)
  {
    const TIFFPage & page = layout.GetPage(i);
    count += !page.IsReduced() && page.width == base.width && page.height == base.height ? 1 : 0;
  }
  return count;
}

/** Whether samples of this Type are of as many bits, and of the same kind, as those of the page. Types that are not
 * known are for whoever reads the samples. */
bool
IsOfType(const TIFFPage & page, const std::string & type)
{
  constexpr unsigned isUnsigned = 1;
  constexpr unsigned isSigned = 2;
  constexpr unsigned isFloat = 3;
  const struct
  {
    const char * name;
    unsigned     bits;
    unsigned     format;
  } types[] = { { "uint8", 8, isUnsigned }, { "int8", 8, isSigned },      { "uint16", 16, isUnsigned },
                { "int16", 16, isSigned },  { "uint32", 32, isUnsigned }, { "int32", 32, isSigned },
                { "float", 32, isFloat },   { "double", 64, isFloat } };
  const auto found =
    std::find_if(std::begin(types), std::end(types), [&type](const auto & known) { return type == known.name; });
  // Beyond 3 the tag says nothing of the kind.
  return found == std::end(types) ||
         (page.bits == found->bits && (page.sampleFormat == found->format || page.sampleFormat > isFloat));
}

} // namespace

TIFFObstacle
OMEImage::FindContradiction(const TIFFLayout & layout, std::size_t numberOfImages) const
{
  if (times <= 1 && depths > MostFocalPlanes)
  {
    return { "its OME-XML describes " + FormatCount(depths, "focal plane") + " (SizeZ), where up to " +
               std::to_string(MostFocalPlanes) + " are told apart",
             "write fewer planes, or one, as an OME-TIFF, e.g. with bfconvert of Bio-Formats (-z)",
             false,
             "E-SLIDE-PLANES" };
  }
  if (times > 1 || (depths > 1 && !isPlane))
  {
    return { "its OME-XML describes a stack of " + FormatCount(depths, "focal plane") + " (SizeZ) and " +
               FormatCount(times, "time") + " (SizeT), where a slide is of one time, and has a page for each plane",
             "write one plane of it as an OME-TIFF, e.g. with bfconvert of Bio-Formats (-z, -timepoint)",
             false,
             "E-SLIDE-PLANES" };
  }
  const TIFFPage & base = layout.GetPage(layout.GetLevels().front().page);
  const bool       areColors =
    samples.size() > 1 && base.samples > 1 && channels == samples.size() * base.samples &&
    std::all_of(samples.begin(), samples.end(), [&base](std::uint64_t of) { return of == base.samples; });
  if (areColors)
  {
    return { "its OME-XML describes " + FormatCount(samples.size(), "channel") + " of " +
               FormatCount(base.samples, "sample") +
               " each, where a slide has channels of one sample, or one of colors",
             "write one channel of it as an OME-TIFF, e.g. with bfconvert of Bio-Formats (-channel)",
             false,
             "E-SLIDE-CHANNELS" };
  }
  std::string found = FindContradictionOfChannels(layout, numberOfImages);
  // Pages that share nothing with what is described would be found wrong in all the rest, too.
  found = found.empty() ? FindContradictionOfPage(base) : found;
  return {
    found, "write it again as an OME-TIFF of one plane, e.g. with bfconvert of Bio-Formats", false, "E-OME-XML"
  };
}

std::string
OMEImage::FindContradictionOfPage(const TIFFPage & page) const
{
  const auto describe = [](std::uint64_t across, std::uint64_t down) {
    return std::to_string(across) + " x " + std::to_string(down) + " pixels";
  };
  if ((width != 0 && width != page.width) || (height != 0 && height != page.height))
  {
    return "its OME-XML describes " + describe(width, height) + " (SizeX, SizeY), but its first page has " +
           describe(page.width, page.height);
  }
  if (!IsOfType(page, type))
  {
    const char * const kind = page.sampleFormat == 2 ? "signed " : page.sampleFormat == 3 ? "floating-point " : "";
    return "its OME-XML describes samples of type " + type + " (Type), but those of its first page are " + kind +
           "of " + std::to_string(page.bits) + " bit";
  }
  return {};
}

std::string
OMEImage::FindContradictionOfChannels(const TIFFLayout & layout, std::size_t numberOfImages) const
{
  const std::size_t pageCount = layout.GetNumberOfMainPages();
  const TIFFPage &  base = layout.GetPage(layout.GetLevels().front().page);
  const unsigned    pageSamples = base.samples;
  const std::size_t alikeCount = CountAlikePages(layout, base);
  const std::string described = "its OME-XML describes " + FormatCount(channels, "channel") + " (SizeC)";
  const bool        isOnePage = pageSamples > 1 || channels == 1;
  if (numberOfImages == 1 && layout.GetNumberOfFiles() == 1 && alikeCount > (isOnePage ? 1 : channels))
  {
    return described + ", but it has " + FormatCount(alikeCount, "page") + " of " + FormatCount(pageSamples, "sample");
  }
  const std::uint64_t samplesOfElements = std::accumulate(samples.begin(), samples.end(), std::uint64_t{ 0 });
  if (isOnePage)
  {
    // Writers count a page in color as one channel or as one for each sample.
    const bool agrees = channels == pageSamples || samplesOfElements == pageSamples;
    return agrees ? std::string() : described + ", but its page is of " + FormatCount(pageSamples, "sample");
  }
  const bool areSingle = std::all_of(samples.begin(), samples.end(), [](std::uint64_t of) { return of == 1; });
  if (!areSingle || (!samples.empty() && samples.size() != channels))
  {
    return described + " and " + FormatCount(samples.size(), "Channel element") + " of " +
           FormatCount(samplesOfElements, "sample") + " in all (SamplesPerPixel), but its pages are of 1 sample";
  }
  const std::set<std::uint64_t> distinct(pages.begin(), pages.end());
  if (channels > pageCount)
  {
    return described + " on a page each, but it has " + FormatCount(pageCount, "page");
  }
  if (channels == 0 || distinct.size() < channels || *distinct.rbegin() >= pageCount)
  {
    return described + " on pages (TiffData) that are not all different ones of its files";
  }
  return {};
}

} // namespace gigapixel

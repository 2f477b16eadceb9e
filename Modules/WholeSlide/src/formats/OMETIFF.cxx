/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// OME-TIFF: channels on pages of their own, as the XML of the first page says.
#include "NumberText.h"
#include "SlideFormat.h"
#include "XMLElements.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** More channels than any file has pages for; a damaged number must not take the machine's memory, nor hours. */
constexpr std::uint64_t channelLimit = 4096;

constexpr std::uint64_t notSaid = std::numeric_limits<std::uint64_t>::max();

/** Otherwise where the attribute is absent or no whole number. */
std::uint64_t
GetNumber(const XMLElement & element, const char * attribute, std::uint64_t otherwise)
{
  const std::string text = element.Get(attribute);
  const bool isNumber = !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
  return isNumber ? std::strtoull(text.c_str(), nullptr, 10) : otherwise;
}

/** In micrometers, as where no unit is named; 0 where it is not known, as of units like "pixel". */
double
GetLength(const XMLElement & element, const std::string & attribute)
{
  const std::string                     unit = element.Get(attribute + "Unit");
  const std::pair<const char *, double> units[] = { { "", 1.0 },   { "\u00b5m", 1.0 }, { "\u03bcm", 1.0 },
                                                    { "um", 1.0 }, { "nm", 1e-3 },     { "mm", 1e3 },
                                                    { "cm", 1e4 }, { "m", 1e6 },       { "in", 25400.0 } };
  const auto                            found =
    std::find_if(std::begin(units), std::end(units), [&unit](const auto & known) { return unit == known.first; });
  return found == std::end(units) ? 0.0 : ToNumber(element.Get(attribute)) * found->second;
}

std::string
Count(std::uint64_t number, const std::string & noun)
{
  return std::to_string(number) + ' ' + noun + (number == 1 ? "" : "s");
}

bool
IsAlike(const TIFFPage & one, const TIFFPage & other)
{
  return one.width == other.width && one.height == other.height && one.bits == other.bits &&
         one.sampleFormat == other.sampleFormat && one.samples == other.samples &&
         one.photometric == other.photometric && one.pieceWidth == other.pieceWidth &&
         one.pieceHeight == other.pieceHeight;
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

/** What the OME-XML in the first page of an OME-TIFF says of its first image (OME-TIFF specification 6,
 * docs.openmicroscopy.org/ome-model; schema 2016-06). */
class OMEDescription
{
public:
  explicit OMEDescription(const std::string & xml);

  /** Whether a text is OME-XML, be it damaged further on. */
  static bool IsOME(const std::string & xml);

  /** What keeps the pages from being read as one slide, as part of a sentence; empty: nothing. */
  std::string FindContradiction(const TIFFLayout & layout) const;

  std::string                damage;             // of the XML
  std::string                elsewhere;          // the file that describes the image instead
  std::uint64_t              width = 0;          // SizeX; 0: not said
  std::uint64_t              height = 0;         // SizeY
  std::uint64_t              channels = notSaid; // SizeC: samples of a pixel over all pages
  std::uint64_t              depths = 1;         // SizeZ
  std::uint64_t              times = 1;          // SizeT
  std::uint64_t              images = 0; // with pixels of their own; those after the first are not described here
  std::string                type;       // of samples
  std::array<double, 2>      spacing{ { 0.0, 0.0 } }; // micrometers per pixel; 0: not said
  std::vector<std::uint64_t> samples;                 // of each Channel element: its part of SizeC
  std::vector<std::string>   names;                   // of each Channel element; empty for one without

  /** Of an image of one depth and one time with one sample a page: in which page of the file each channel is. */
  std::vector<std::uint64_t> pages;

private:
  void        Add(const XMLElement & element);
  void        PlacePages();
  std::string FindContradictionOfPage(const TIFFPage & page) const;
  std::string FindContradictionOfChannels(const TIFFLayout & layout) const;

  std::vector<XMLElement> m_TiffData;
  unsigned                m_PixelsDepth{ 0 }; // of the Pixels element that is being read; 0: none is
};

bool
OMEDescription::IsOME(const std::string & xml)
{
  bool isOME = false;
  ReadXML(xml, [&isOME](const XMLElement & root) {
    isOME = root.name == "OME";
    return false;
  });
  return isOME;
}

OMEDescription::OMEDescription(const std::string & xml)
{
  damage = ReadXML(xml, [this](const XMLElement & element) {
    Add(element);
    return true;
  });
  channels = channels == notSaid ? std::max<std::uint64_t>(1, names.size()) : channels;
  PlacePages();
}

void
OMEDescription::Add(const XMLElement & element)
{
  m_PixelsDepth = element.depth <= m_PixelsDepth ? 0 : m_PixelsDepth;
  if (element.name == "BinaryOnly" && element.depth == 1)
  {
    elsewhere = element.Get("MetadataFile");
  }
  if (element.name == "Pixels" && ++images == 1)
  {
    m_PixelsDepth = element.depth;
    width = GetNumber(element, "SizeX", 0);
    height = GetNumber(element, "SizeY", 0);
    channels = GetNumber(element, "SizeC", notSaid);
    depths = GetNumber(element, "SizeZ", 1);
    times = GetNumber(element, "SizeT", 1);
    type = element.Get("Type");
    spacing = { { GetLength(element, "PhysicalSizeX"), GetLength(element, "PhysicalSizeY") } };
  }
  if (m_PixelsDepth == 0)
  {
    return;
  }
  if (element.name == "Channel")
  {
    names.push_back(element.Get("Name"));
    samples.push_back(GetNumber(element, "SamplesPerPixel", 1));
  }
  if (element.name == "TiffData" && m_TiffData.size() < channelLimit)
  {
    m_TiffData.push_back(element);
  }
}

/** Pages are in the order of the channels, but where TiffData elements say otherwise: each names the page of a first
 * channel, and how many follow each other from there (one, where only the page is named; else all). */
void
OMEDescription::PlacePages()
{
  const std::uint64_t placed = std::min(channels, channelLimit);
  pages.resize(placed);
  std::iota(pages.begin(), pages.end(), 0);
  for (const XMLElement & element : m_TiffData)
  {
    const bool          namesPage = !element.Get("IFD").empty();
    const std::uint64_t page = GetNumber(element, "IFD", 0);
    const std::uint64_t first = GetNumber(element, "FirstC", 0);
    const std::uint64_t count = GetNumber(element, "PlaneCount", namesPage ? 1 : placed);
    for (std::uint64_t i = 0; i < count && first + i < placed; ++i)
    {
      pages[first + i] = page + i;
    }
  }
}

std::string
OMEDescription::FindContradiction(const TIFFLayout & layout) const
{
  if (!damage.empty())
  {
    return "its OME-XML is damaged (" + damage + ")";
  }
  if (images == 0)
  {
    return "its OME-XML describes no image" + (elsewhere.empty() ? "" : ", which it says " + elsewhere + " does");
  }
  if (depths > 1 || times > 1)
  {
    return "its OME-XML describes a stack of " + Count(depths, "plane") + " in depth (SizeZ) and " +
           Count(times, "time") + " (SizeT), where a slide is one plane";
  }
  const std::string ofChannels = FindContradictionOfChannels(layout);
  // Of pages that share nothing with what is described, all the rest would be wrong, too.
  return ofChannels.empty() ? FindContradictionOfPage(layout.GetPage(0)) : ofChannels;
}

std::string
OMEDescription::FindContradictionOfPage(const TIFFPage & page) const
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
OMEDescription::FindContradictionOfChannels(const TIFFLayout & layout) const
{
  const unsigned    pageSamples = layout.GetPage(0).samples;
  const std::size_t pageCount = layout.GetNumberOfMainPages();
  const std::size_t alikeCount = CountAlikePages(layout);
  const std::string described = "its OME-XML describes " + Count(channels, "channel") + " (SizeC)";
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
  auto                 layout = std::make_shared<TIFFLayout>(file.GetPath());
  const TIFFPage &     base = layout->GetPage(0);
  const std::string    xml = base.GetText(TIFFTag::ImageDescription);
  const OMEDescription described(xml);
  layout->channelNames = described.names;
  layout->obstacle.what = described.FindContradiction(*layout);
  if (!layout->obstacle.what.empty())
  {
    layout->obstacle.remedy =
      described.damage.empty()
        ? "write what is wanted of it as an OME-TIFF of one plane, e.g. with bfconvert of Bio-Formats"
        : "mend it, e.g. with tiffcomment of Bio-Formats, or convert the file to a tiled TIFF";
    layout->AddLevel(0);
  }
  else if (base.samples != 1 || described.channels < 2)
  {
    layout->AddPagesByTags();
  }
  else
  {
    layout->channelNames.resize(described.channels);
    AddChannels(*layout, described);
    if (layout->GetPage(described.pages.front()).photometric == static_cast<unsigned>(TIFFPhotometric::MinIsWhite))
    {
      layout->obstacle.what = "its channels are min-is-white gray, where only min-is-black is read";
      layout->obstacle.remedy = "convert it to gray (min-is-black)";
    }
  }
  if (described.spacing[0] > 0.0 && described.spacing[1] > 0.0)
  {
    layout->micronsPerPixel = described.spacing;
  }
  return layout;
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && OMEDescription::IsOME(page->GetText(TIFFTag::ImageDescription));
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

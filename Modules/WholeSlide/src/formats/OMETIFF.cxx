/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// OME-TIFF: channels on pages of their own, also in several files, as the XML of the first page or a companion file
// says.
#include "NumberText.h"
#include "SlideFormat.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelPrintable.h"
#include "gigapixelXMLElements.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr std::uint64_t channelLimit = MostChannels;

constexpr std::uint64_t notSaid = std::numeric_limits<std::uint64_t>::max();

/** Otherwise where the attribute is absent or no whole number. */
std::uint64_t
GetNumber(const XMLElement & element, const char * attribute, std::uint64_t otherwise)
{
  const std::string text = element.Get(attribute);
  const bool isNumber = !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
  return isNumber ? std::strtoull(text.c_str(), nullptr, 10) : otherwise;
}

/** In micrometers; 0 where it is not known, as of units like "pixel". \param usual of the unit that is meant where none
 * is named */
double
GetLength(const XMLElement & element, const std::string & attribute, double usual = 1.0)
{
  const std::string                     unit = element.Get(attribute + "Unit");
  const std::pair<const char *, double> units[] = { { "", usual }, { "\u00b5m", 1.0 }, { "\u03bcm", 1.0 },
                                                    { "um", 1.0 }, { "nm", 1e-3 },     { "mm", 1e3 },
                                                    { "cm", 1e4 }, { "m", 1e6 },       { "in", 25400.0 },
                                                    { "dm", 1e5 }, { "\u00c5", 1e-4 }, { "\u212b", 1e-4 } };
  const auto                            found =
    std::find_if(std::begin(units), std::end(units), [&unit](const auto & known) { return unit == known.first; });
  return found == std::end(units) ? 0.0 : ToNumber(element.Get(attribute)) * found->second;
}

/** Whether three channels are named red, green and blue, as converters do that write colors on a page each. */
bool
AreColors(const std::vector<SlideChannel> & channels)
{
  constexpr std::array<const char *, 3> letters{ { "R", "G", "B" } };
  constexpr std::array<const char *, 3> words{ { "Red", "Green", "Blue" } };
  const auto isNamed = [](const SlideChannel & channel, const char * name) { return channel.name == name; };
  return std::equal(channels.begin(), channels.end(), letters.begin(), letters.end(), isNamed) ||
         std::equal(channels.begin(), channels.end(), words.begin(), words.end(), isNamed);
}

std::string
Count(std::uint64_t number, const std::string & noun)
{
  return std::to_string(number) + ' ' + noun + (number == 1 ? "" : "s");
}

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

/** More focal planes than any microscope takes. */
constexpr std::uint64_t depthLimit = 512;

/** Each stays open. */
constexpr std::size_t fileLimit = 256;

/** Pages that an element TiffData places, and in which file they are. */
struct PlacedPages
{
  XMLElement    element;
  std::string   file;             // empty: none is named
  std::uint64_t firstOfFile{ 0 }; // the number of its first page
  std::uint64_t pagesOfFile{ 0 };
};

/** One focal plane of an Image element of OME-XML with its Pixels (OME-TIFF specification 6,
 * docs.openmicroscopy.org/ome-model; schema 2016-06). */
class OMEImage
{
public:
  /** What keeps the pages from being read as one slide; the text is empty: nothing. */
  TIFFObstacle FindContradiction(const TIFFLayout & layout, std::size_t numberOfImages) const;

  /** Says which page each channel is on; a page of several samples holds as many channels.
   * \param first the page that the image begins with unless its elements say */
  void PlacePages(std::uint64_t first, const TIFFLayout & layout);

  /** Pages of the file that all planes of the Image element take. */
  std::vector<std::uint64_t> GetAllPages() const;

  std::uint64_t
  CountPlanes() const
  {
    return std::max<std::uint64_t>(1, depths) * std::max<std::uint64_t>(1, times) *
           std::max<std::uint64_t>(1, pages.size());
  }

  std::string                name;                    // of the Image element
  std::uint64_t              width = 0;               // SizeX; 0: not said
  std::uint64_t              height = 0;              // SizeY
  std::uint64_t              channels = notSaid;      // SizeC: samples of a pixel over all pages
  std::uint64_t              depths = 1;              // SizeZ
  bool                       isPlane = false;         // one of several, and an image of its own
  std::uint64_t              depth = 0;               // which of them this is
  double                     depthSpacing = 0.0;      // micrometers; 0: not said
  bool                       isDepthFirst = false;    // in the file, planes follow each other before channels do
  std::uint64_t              times = 1;               // SizeT
  std::string                type;                    // of samples
  std::array<double, 2>      spacing{ { 0.0, 0.0 } }; // micrometers per pixel; 0: not said
  std::vector<std::uint64_t> samples;                 // of each Channel element: its part of SizeC
  std::vector<SlideChannel>  elements;                // of each Channel element

  /** Of an image of one depth and one time with one sample a page: in which page of the file each channel is. */
  std::vector<std::uint64_t> pages;

  std::shared_ptr<std::vector<PlacedPages>> tiffData = std::make_shared<std::vector<PlacedPages>>();

private:
  std::string FindContradictionOfPage(const TIFFPage & page) const;
  std::string FindContradictionOfChannels(const TIFFLayout & layout, std::size_t numberOfImages) const;
};

/** The contents of the OME-XML in the first page of an OME-TIFF, or in a companion file. */
class OMEDescription
{
public:
  explicit OMEDescription(const std::string & xml);

  /** Whether a text is OME-XML, be it damaged further on. */
  static bool IsOME(const std::string & xml);

  /** Adds the other files that the images are in to those of the layout, and finds the pages of the images.
   * \param ofAllFiles whether images count that have nothing in the file of the layout
   * \throw SlideError a file is missing, or lies elsewhere */
  void PlacePages(TIFFLayout & layout, bool ofAllFiles);

  /** The files that the XML names, in its order. */
  std::vector<std::string> GetFiles() const;

  /** Whether one file has all pages: one that is named alone, by each element, is the file itself, renamed or copied.
   */
  bool IsWhole() const;

  /** A file of a set shows the images that it has a part of. */
  void LeaveOutImages(const std::string & own);

  bool                  planesShareAPage{ false };
  std::string           damage;    // of the XML
  std::string           elsewhere; // the file that describes the images instead
  std::vector<OMEImage> images;    // with pixels of their own

private:
  void Add(const XMLElement & element);
  void AddFiles(TIFFLayout & layout);
  void SplitDepths(std::size_t numberOfPages);

  std::string m_ImageName;
  unsigned    m_PixelsDepth{ 0 }; // of the Pixels element that is being read; 0: none is
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
  for (OMEImage & image : images)
  {
    image.channels = image.channels == notSaid ? std::max<std::uint64_t>(1, image.elements.size()) : image.channels;
  }
}

std::vector<std::string>
OMEDescription::GetFiles() const
{
  std::vector<std::string> files;
  std::set<std::string>    known{ "" };
  for (const OMEImage & image : images)
  {
    for (const PlacedPages & placed : *image.tiffData)
    {
      if (known.insert(placed.file).second)
      {
        files.push_back(placed.file);
      }
    }
  }
  return files;
}

void
OMEDescription::LeaveOutImages(const std::string & own)
{
  std::vector<OMEImage> kept;
  std::copy_if(images.begin(), images.end(), std::back_inserter(kept), [&own](const OMEImage & image) {
    return image.tiffData->empty() ||
           std::any_of(image.tiffData->begin(), image.tiffData->end(), [&own](const PlacedPages & placed) {
             return placed.file.empty() || placed.file == own;
           });
  });
  if (!kept.empty())
  {
    images = std::move(kept);
  }
}

/** Whether a name is that of a file in the same folder. */
bool
IsPlainName(const std::string & name)
{
  return !name.empty() && name.find_first_of(std::string("/\\\0", 3)) == std::string::npos && name != "." &&
         name != "..";
}

/** The path of a file that an XML names. It lies in the folder of the file that the XML is of, also behind links: no
 * name leads elsewhere. */
std::string
FindPart(const std::string & path, const std::string & name)
{
  namespace fs = std::filesystem;
  const auto refuse = [&path, &name](const std::string & why) {
    return SlideError(Diagnostic("E-SLIDE-PARTS",
                                 "a part of it, " + GetPrintable(name) + ", " + why,
                                 "put that file beside it, or write all parts as one OME-TIFF, e.g. with bfconvert of "
                                 "Bio-Formats")
                        .OfFile(path)
                        .OfValue(GetPrintable(name)));
  };
  if (!IsPlainName(name))
  {
    throw refuse("is named with a folder, where parts lie beside each other");
  }
  std::error_code error;
  const fs::path  folder = fs::absolute(path, error).parent_path();
  const fs::path  part = folder / name;
  if (!fs::is_regular_file(part, error))
  {
    throw refuse("is missing");
  }
  const fs::path place = fs::canonical(part, error).parent_path();
  if (place != fs::canonical(folder, error) && place != fs::canonical(path, error).parent_path())
  {
    throw refuse("is a link that leads out of the folder");
  }
  return part.string();
}

bool
OMEDescription::IsWhole() const
{
  const bool        isEachNamed = std::all_of(images.begin(), images.end(), [](const OMEImage & image) {
    return std::none_of(
      image.tiffData->begin(), image.tiffData->end(), [](const PlacedPages & placed) { return placed.file.empty(); });
  });
  const std::size_t number = GetFiles().size();
  return number == 0 || (number == 1 && isEachNamed);
}

/** Elements that name no file are of this one. */
void
OMEDescription::AddFiles(TIFFLayout & layout)
{
  std::map<std::string, std::array<std::uint64_t, 2>> places; // first page and number of pages
  const std::array<std::uint64_t, 2>                  own{ { 0, layout.GetNumberOfMainPages() } };
  places[""] = places[std::filesystem::path(layout.GetPath()).filename().string()] = own;
  const auto files = GetFiles();
  if (!files.empty() && IsWhole())
  {
    places[files.front()] = own;
  }
  if (files.size() > fileLimit)
  {
    throw SlideError("E-FILE-LIMIT",
                     layout.GetPath(),
                     "its OME-XML names " + std::to_string(files.size()) + " files, and " + std::to_string(fileLimit) +
                       " are read together",
                     "write them as one OME-TIFF, e.g. with bfconvert of Bio-Formats");
  }
  for (const std::string & file : files)
  {
    if (places.count(file) > 0)
    {
      continue;
    }
    const std::string path = FindPart(layout.GetPath(), file);
    try
    {
      const std::uint64_t first = layout.AddFile(path);
      places[file] = { { first, layout.GetNumberOfMainPages() - first } };
    }
    catch (const std::exception & error)
    {
      const Diagnostic inner = Diagnostic::Of(error);
      throw SlideError(Diagnostic("E-SLIDE-PARTS",
                                  "a part of it, " + GetPrintable(file) + ", cannot be read: " + inner.why,
                                  "get that file again from where it came")
                         .OfFile(layout.GetPath())
                         .OfValue(GetPrintable(file)));
    }
  }
  for (const OMEImage & image : images)
  {
    for (PlacedPages & placed : *image.tiffData)
    {
      placed.firstOfFile = places.at(placed.file)[0];
      placed.pagesOfFile = places.at(placed.file)[1];
    }
  }
}

void
OMEDescription::PlacePages(TIFFLayout & layout, bool ofAllFiles)
{
  if (!ofAllFiles)
  {
    LeaveOutImages(std::filesystem::path(layout.GetPath()).filename().string());
  }
  AddFiles(layout);
  // Images whose elements name no page follow each other.
  std::uint64_t           first = 0;
  std::set<std::uint64_t> pagesOfStacks;
  SplitDepths(layout.GetNumberOfMainPages());
  for (std::size_t i = 0; i < images.size(); ++i)
  {
    OMEImage & image = images[i];
    image.PlacePages(first, layout);
    for (const std::uint64_t page : image.isPlane ? image.pages : std::vector<std::uint64_t>())
    {
      planesShareAPage = !pagesOfStacks.insert(page).second || planesShareAPage;
    }
    const bool isLast = i + 1 == images.size() || images[i + 1].tiffData != image.tiffData; // of its stack
    first += isLast ? image.CountPlanes() : 0;
  }
}

/** Makes an image of each focal plane. A stack of more planes than there are pages is left as it is, and refused. */
void
OMEDescription::SplitDepths(std::size_t numberOfPages)
{
  std::vector<OMEImage> planes;
  for (const OMEImage & image : images)
  {
    const bool isStack = image.depths > 1 && image.depths <= depthLimit && image.depths <= numberOfPages &&
                         planes.size() + image.depths <= channelLimit && image.times <= 1 &&
                         image.elements.size() * image.depths <= 16 * channelLimit; // of memory
    for (std::uint64_t depth = 0; depth < (isStack ? image.depths : 1); ++depth)
    {
      planes.push_back(image);
      if (isStack)
      {
        planes.back().name = (images.size() > 1 ? image.name + ' ' : "") + "plane " + std::to_string(depth + 1);
        planes.back().depth = depth;
        planes.back().isPlane = true;
      }
    }
  }
  images = std::move(planes);
}

void
OMEDescription::Add(const XMLElement & element)
{
  m_PixelsDepth = element.depth <= m_PixelsDepth ? 0 : m_PixelsDepth;
  if (element.name == "BinaryOnly" && element.depth == 1)
  {
    elsewhere = element.Get("MetadataFile");
  }
  if (element.name == "Image")
  {
    m_ImageName = element.Get("Name");
  }
  if (element.name == "Pixels" && images.size() < channelLimit)
  {
    m_PixelsDepth = element.depth;
    OMEImage image;
    image.name = m_ImageName;
    image.width = GetNumber(element, "SizeX", 0);
    image.height = GetNumber(element, "SizeY", 0);
    image.channels = GetNumber(element, "SizeC", notSaid);
    image.depths = GetNumber(element, "SizeZ", 1);
    image.times = GetNumber(element, "SizeT", 1);
    image.isDepthFirst = element.Get("DimensionOrder").rfind("XYZ", 0) == 0;
    image.depthSpacing = GetLength(element, "PhysicalSizeZ");
    image.type = element.Get("Type");
    image.spacing = { { GetLength(element, "PhysicalSizeX"), GetLength(element, "PhysicalSizeY") } };
    images.push_back(std::move(image));
  }
  if (m_PixelsDepth == 0 || images.empty())
  {
    return;
  }
  OMEImage & image = images.back();
  if (element.name == "Channel" && image.elements.size() < channelLimit)
  {
    image.elements.push_back({ element.Get("Name"),
                               ReadOMEColor(element.Get("Color")),
                               1000.0 * GetLength(element, "ExcitationWavelength", 1e-3),
                               1000.0 * GetLength(element, "EmissionWavelength", 1e-3) });
    image.samples.push_back(GetNumber(element, "SamplesPerPixel", 1));
  }
  if (element.name == "TiffData" && image.tiffData->size() < channelLimit)
  {
    image.tiffData->push_back({ element, {} });
  }
  if (element.name == "UUID" && !image.tiffData->empty())
  {
    image.tiffData->back().file = element.Get("FileName");
  }
}

/** Pages are in the order of the channels and focal planes, but where TiffData elements say otherwise: each names the
 * page of a first channel and plane, and how many follow each other from there (one, where only the page is named; else
 * all). */
void
OMEImage::PlacePages(std::uint64_t start, const TIFFLayout & layout)
{
  const auto named = std::find_if(
    tiffData->begin(), tiffData->end(), [](const PlacedPages & given) { return !given.element.Get("IFD").empty(); });
  const std::uint64_t firstPage =
    named == tiffData->end() ? start : named->firstOfFile + GetNumber(named->element, "IFD", 0);
  const unsigned      samplesOfPage = firstPage < layout.GetNumberOfMainPages() ? layout.GetPage(firstPage).samples : 1;
  const std::uint64_t placed = std::max<std::uint64_t>(1, std::min(channels, channelLimit) / samplesOfPage);
  const auto          getPlace = [&](std::uint64_t channel, std::uint64_t plane) { // in the order of the file
    return isDepthFirst ? channel * depths + plane : plane * placed + channel;
  };
  pages.resize(placed);
  for (std::uint64_t channel = 0; channel < placed; ++channel)
  {
    pages[channel] = start + getPlace(channel, depth);
  }
  for (const PlacedPages & given : *tiffData)
  {
    const XMLElement &  element = given.element;
    const bool          namesPage = !element.Get("IFD").empty();
    const std::uint64_t page = GetNumber(element, "IFD", given.firstOfFile == 0 ? start : 0); // in the file
    const std::uint64_t first = getPlace(GetNumber(element, "FirstC", 0), GetNumber(element, "FirstZ", 0));
    const std::uint64_t count = GetNumber(element, "PlaneCount", namesPage ? 1 : placed * depths);
    const bool          isFirstTime = GetNumber(element, "FirstT", 0) == 0;
    for (std::uint64_t channel = 0; isFirstTime && channel < placed; ++channel)
    {
      const std::uint64_t place = getPlace(channel, depth);
      if (place >= first && place - first < count)
      {
        const std::uint64_t inFile = page + place - first;
        const bool          isThere = inFile < given.pagesOfFile;
        pages[channel] = isThere ? given.firstOfFile + inFile : layout.GetNumberOfMainPages();
      }
    }
  }
}

std::vector<std::uint64_t>
OMEImage::GetAllPages() const
{
  std::vector<std::uint64_t> all = pages;
  for (const auto & [element, file, firstOfFile, pagesOfFile] : *tiffData)
  {
    const std::uint64_t usual = firstOfFile == 0 && !pages.empty() ? pages.front() : firstOfFile;
    const std::uint64_t page = element.Get("IFD").empty() ? usual : firstOfFile + GetNumber(element, "IFD", 0);
    const std::uint64_t count = GetNumber(element, "PlaneCount", element.Get("IFD").empty() ? CountPlanes() : 1);
    for (std::uint64_t i = 0; i < std::min(count, channelLimit) && page + i < firstOfFile + pagesOfFile; ++i)
    {
      all.push_back(page + i);
    }
  }
  return all;
}

TIFFObstacle
OMEImage::FindContradiction(const TIFFLayout & layout, std::size_t numberOfImages) const
{
  if (times > 1 || (depths > 1 && !isPlane))
  {
    return { "its OME-XML describes a stack of " + Count(depths, "focal plane") + " (SizeZ) and " +
               Count(times, "time") + " (SizeT), where a slide is of one time, and has a page for each plane",
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
    return { "its OME-XML describes " + Count(samples.size(), "channel") + " of " + Count(base.samples, "sample") +
               " each, where a slide has channels of one sample, or one of colors",
             "write one channel of it as an OME-TIFF, e.g. with bfconvert of Bio-Formats (-channel)",
             false,
             "E-SLIDE-CHANNELS" };
  }
  std::string found = FindContradictionOfChannels(layout, numberOfImages);
  // Of pages that share nothing with what is described, all the rest would be wrong, too.
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
  const std::string described = "its OME-XML describes " + Count(channels, "channel") + " (SizeC)";
  const bool        isOnePage = pageSamples > 1 || channels == 1;
  if (numberOfImages == 1 && layout.GetNumberOfFiles() == 1 && alikeCount > (isOnePage ? 1 : channels))
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
    return described + " on pages (TiffData) that are not all different ones of its files";
  }
  return {};
}

/** What the XML says of the pages: each image begins with one, and its other channels and planes are no images. An
 * image with a usual name is an associated image unless it is the largest. */
PageRules
MakeRules(const TIFFLayout & layout, const OMEDescription & described)
{
  PageRules rules;
  rules.areTextsNames = false;
  rules.othersAreAssociated = true;
  rules.roles.resize(layout.GetNumberOfMainPages());
  const auto getArea = [](const OMEImage & image) { return image.width * image.height; };
  const auto largest = std::max_element(
    described.images.begin(), described.images.end(), [&getArea](const OMEImage & one, const OMEImage & other) {
      return getArea(one) < getArea(other);
    });
  for (std::size_t page = layout.GetNumberOfPagesOfFirstFile(); page < rules.roles.size(); ++page)
  {
    rules.roles[page].kind = PageRole::Kind::Ignored; // unless an image begins there
  }
  for (auto image = described.images.begin(); image != described.images.end(); ++image)
  {
    const std::uint64_t first = image->pages.empty() ? rules.roles.size() : image->pages.front();
    for (const std::uint64_t page : image->depth == 0 ? image->GetAllPages() : image->pages)
    {
      if (page != first && page < rules.roles.size() && rules.roles[page].kind == PageRole::Kind::Unknown)
      {
        rules.roles[page].kind = PageRole::Kind::Ignored;
      }
    }
    if (first >= rules.roles.size())
    {
      continue;
    }
    const std::string usual = FindUsualName(image->name);
    const bool        isNamed = described.images.size() > 1 &&
                         (IsUsualName(image->name) || (!usual.empty() && getArea(*image) < getArea(*largest)));
    const bool isReduced = layout.GetPage(first).IsReduced();
    rules.roles[first].kind = isNamed     ? PageRole::Kind::Associated
                              : isReduced ? PageRole::Kind::Unknown
                                          : PageRole::Kind::Image;
    rules.roles[first].name = isNamed ? usual : image->name;
    if (image->isPlane) // the middle one is read unless another one is asked for
    {
      const auto middle = (image->depths - 1) / 2;
      rules.roles[first].depth = static_cast<double>(image->depth) - static_cast<double>(middle);
    }
  }
  return rules;
}

void
SetObstacle(TIFFLayout & layout, const OMEDescription & described)
{
  if (!described.damage.empty())
  {
    layout.obstacle = { "its OME-XML is damaged (" + described.damage + ")",
                        "correct it, e.g. with tiffcomment of Bio-Formats, or convert the file to a tiled TIFF",
                        false,
                        "E-OME-XML" };
  }
  else if (described.images.empty())
  {
    layout.obstacle = { "its OME-XML describes no image",
                        "write it again as an OME-TIFF, e.g. with bfconvert of Bio-Formats",
                        false,
                        "E-OME-XML" };
  }
  else if (described.planesShareAPage)
  {
    layout.obstacle = { "its OME-XML describes several focal planes on one page (TiffData)",
                        "write it again as an OME-TIFF, e.g. with bfconvert of Bio-Formats",
                        false,
                        "E-OME-XML" };
  }
}

/** Describes the image that is read. */
void
DescribeImage(TIFFLayout & layout, const OMEImage & image, std::size_t numberOfImages)
{
  layout.channels = image.elements;
  layout.obstacle = image.FindContradiction(layout, numberOfImages);
  const TIFFPage & base = layout.GetPage(layout.GetLevels().front().page);
  if (layout.obstacle.what.empty() && base.samples == 1 && image.channels > 1)
  {
    layout.channels.resize(image.channels);
    layout.PlaceChannels({ image.pages.begin(), image.pages.end() });
    layout.areChannelsColors = base.bits == 8 && AreColors(image.elements);
    if (base.photometric == static_cast<unsigned>(TIFFPhotometric::MinIsWhite))
    {
      layout.obstacle = { "its channels are min-is-white gray, where only min-is-black is read",
                          "convert it to gray (min-is-black)" };
    }
  }
  if (image.spacing[0] > 0.0 && image.spacing[1] > 0.0)
  {
    layout.micronsPerPixel = image.spacing;
  }
  if (image.isPlane && image.depthSpacing > 0.0)
  {
    layout.properties[FocalPlaneSpacing] = ToText(image.depthSpacing);
  }
}

/** Whether the file is a companion: OME-XML alone. */
bool
IsCompanion(const SlideFile & file)
{
  constexpr const char * ending = ".companion.ome";
  const std::string &    path = file.GetPath();
  const std::size_t      length = std::char_traits<char>::length(ending);
  return !file.IsTIFF() && path.size() > length && path.compare(path.size() - length, length, ending) == 0;
}

std::string
ReadCompanion(const std::string & path)
{
  constexpr std::uint64_t mostBytes = std::uint64_t{ 64 } << 20; // as many as a text in a TIFF may have
  const RandomAccessFile  file(path);
  if (file.GetSize() > mostBytes)
  {
    throw SlideError("E-FILE-LIMIT", path, "its OME-XML has more than 64 MiB", "check that the right file is named");
  }
  std::string xml(static_cast<std::size_t>(file.GetSize()), ' ');
  file.Read(0, reinterpret_cast<unsigned char *>(xml.data()), xml.size());
  return xml;
}

/** \param elsewhere becomes the name of the companion that has the XML; empty: the file has it */
OMEDescription
ReadDescription(const SlideFile & file, std::string & elsewhere)
{
  OMEDescription described(IsCompanion(file) ? ReadCompanion(file.GetPath())
                                             : file.GetFirstPage()->GetText(TIFFTag::ImageDescription));
  elsewhere = IsCompanion(file) ? std::string() : described.elsewhere;
  if (elsewhere.empty())
  {
    return described;
  }
  const SlideFile other(FindPart(file.GetPath(), elsewhere)); // a companion, or the TIFF that has the XML for all
  return OMEDescription(other.GetFirstPage() ? other.GetFirstPage()->GetText(TIFFTag::ImageDescription)
                                             : ReadCompanion(other.GetPath()));
}

/** Stacks, and pages that contradict the XML, are refused. */
std::shared_ptr<TIFFLayout>
Describe(const SlideFile & file)
{
  const bool     isCompanion = IsCompanion(file);
  std::string    elsewhere;
  OMEDescription described = ReadDescription(file, elsewhere);
  const auto     files = described.GetFiles();
  if (isCompanion && files.empty())
  {
    throw SlideError("E-OME-XML",
                     file.GetPath(),
                     described.damage.empty() ? "its OME-XML names no file with pixels"
                                              : "its OME-XML is damaged: " + described.damage,
                     "name a file with pixels (.ome.tif)");
  }
  const std::string first = isCompanion ? FindPart(file.GetPath(), files.front()) : file.GetPath();
  auto              layout = std::make_shared<TIFFLayout>(first, file.GetImage());
  if (described.damage.empty())
  {
    described.PlacePages(*layout, isCompanion);
  }
  SetObstacle(*layout, described);
  if (!layout->obstacle.what.empty())
  {
    layout->AddLevel(0);
    return layout;
  }
  layout->SetImages(layout->FindImages(MakeRules(*layout, described)));
  const std::size_t page = layout->GetLevels().front().page;
  const auto isOfPage = [page](const OMEImage & image) { return !image.pages.empty() && image.pages.front() == page; };
  const auto found = std::find_if(described.images.begin(), described.images.end(), isOfPage);
  // A file of one image: what its XML says of the pages may be wrong, which is for the image to find out.
  const OMEImage & image = found == described.images.end() ? described.images.front() : *found;
  if (found != described.images.end() || described.images.size() == 1)
  {
    DescribeImage(*layout, image, described.images.size());
  }
  return layout;
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr ? OMEDescription::IsOME(page->GetText(TIFFTag::ImageDescription))
                         : IsCompanion(file) && OMEDescription::IsOME(ReadCompanion(file.GetPath()));
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
    const TIFFPage & base = layout->GetPage(layout->GetLevels().front().page);
    const bool       isPyramid = layout->obstacle.what.empty() && !layout->channels.empty() && base.tiled &&
                           layout->GetLevels().size() > 1 && FindObstacle(base).what.empty();
    return IsCompanion(file) || layout->IsTiledPyramid() || (isPyramid && !layout->HasOtherPages());
  }
  catch (const std::runtime_error &)
  {
    return false;
  }
}

} // namespace

std::vector<std::string>
FindOMEParts(const std::string & path)
{
  namespace fs = std::filesystem;
  try
  {
    const SlideFile file(path);
    if (!Detect(file))
    {
      return {};
    }
    const std::string own = fs::path(path).filename().string();
    std::string       elsewhere;
    OMEDescription    described = ReadDescription(file, elsewhere);
    IsCompanion(file) ? void() : described.LeaveOutImages(own);
    const auto            named = described.GetFiles();
    std::set<std::string> names(named.begin(), named.end());
    names.insert({ own, elsewhere });
    const bool isAlone = elsewhere.empty() && !IsCompanion(file) && (described.IsWhole() || names.size() < 3);
    if (isAlone || named.size() > fileLimit)
    {
      return {};
    }
    std::vector<std::string> parts;
    for (const std::string & name : names)
    {
      if (IsPlainName(name))
      {
        parts.push_back((fs::path(path).parent_path() / name).string());
      }
    }
    return parts;
  }
  catch (const std::exception &)
  {
    return {}; // who opens the file says what is wrong with it
  }
}

extern const SlideFormat omeFormat;
const SlideFormat        omeFormat{ "ome-tiff", {}, Detect, Open, Claims };

} // namespace gigapixel

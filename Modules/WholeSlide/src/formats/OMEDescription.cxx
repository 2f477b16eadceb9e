/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What OME-XML says of images, and in which pages of which files they are.
#include "OMEDescription.h"

#include "files/NumberText.h"
#include "slide/SlideImageChoice.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelPrintable.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

namespace gigapixel
{
namespace
{

constexpr std::uint64_t channelLimit = MostChannels;
constexpr std::size_t   placeLimit = 65536; // elements TiffData of an image

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

} // namespace

bool
IsPlainName(const std::string & name)
{
  return !name.empty() && name.find_first_of(std::string("/\\\0", 3)) == std::string::npos && name != "." &&
         name != "..";
}

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
  if (damage.empty() && m_HasTooManyPlaces)
  {
    damage = "an image has more than " + std::to_string(placeLimit) + " elements TiffData";
  }
  for (OMEImage & image : images)
  {
    image.channels =
      image.channels == OMEImage::NotSaid ? std::max<std::uint64_t>(1, image.elements.size()) : image.channels;
  }
}

std::string
OMEDescription::GetContents() const
{
  std::ostringstream text;
  for (const OMEImage & image : images)
  {
    text << image.name << '\n'
         << image.width << ' ' << image.height << ' ' << image.channels << ' ' << image.depths << ' ' << image.times
         << ' ' << image.areChannelsLast << ' ' << image.type << ' ' << image.spacing[0] << ' ' << image.spacing[1]
         << '\n';
    for (const SlideChannel & channel : image.elements)
    {
      text << channel.name << '\n';
    }
    std::set<std::string> places;
    for (const PlacedPages & placed : *image.tiffData)
    {
      std::string place = placed.file;
      for (const char * const attribute : { "IFD", "FirstC", "FirstZ", "FirstT", "PlaneCount" })
      {
        place += ' ' + placed.element.Get(attribute);
      }
      places.insert(place);
    }
    for (const std::string & place : places)
    {
      text << place << '\n';
    }
  }
  return text.str();
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
OMEDescription::AddFiles(TIFFLayout & layout, const std::string & contents)
{
  std::map<std::string, std::array<std::uint64_t, 2>> places; // first page and number of pages
  const std::array<std::uint64_t, 2>                  own{ { 0, layout.GetNumberOfMainPages() } };
  places[""] = places[std::filesystem::path(layout.GetPath()).filename().string()] = own;
  std::string differs; // the first file that describes other images
  const auto  files = GetFiles();
  if (!files.empty() && IsWhole())
  {
    places[files.front()] = own;
  }
  if (files.size() > MostFiles)
  {
    throw SlideError("E-FILE-LIMIT",
                     layout.GetPath(),
                     "its OME-XML names " + std::to_string(files.size()) + " files, and " + std::to_string(MostFiles) +
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
      const std::string text = layout.GetPage(first).GetText(TIFFTag::ImageDescription);
      if (differs.empty() && IsOME(text))
      {
        const OMEDescription other(text);
        differs = other.elsewhere.empty() && other.GetContents() != contents ? file : differs;
      }
    }
    catch (const std::exception & error)
    {
      const Diagnostic inner = Diagnostic::Of(error);
      throw SlideError(Diagnostic("E-SLIDE-PARTS",
                                  "a part of it, " + GetPrintable(file) + ", cannot be read: " + inner.why,
                                  inner.remedy.empty() ? "get that file again from where it came" : inner.remedy)
                         .OfFile(layout.GetPath())
                         .OfValue(GetPrintable(file)));
    }
  }
  if (!differs.empty())
  {
    layout.warnings.push_back(
      Diagnostic("W-SLIDE-DESCRIPTION",
                 "a part of it, " + GetPrintable(differs) + ", describes the slide differently, and is not followed",
                 "look at both with info, and name the file whose description is right")
        .OfFile(layout.GetPath())
        .OfValue(GetPrintable(differs)));
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
  const std::string contents = GetContents();
  if (!ofAllFiles)
  {
    LeaveOutImages(std::filesystem::path(layout.GetPath()).filename().string());
  }
  AddFiles(layout, contents);
  // Images whose elements name no page follow each other.
  std::uint64_t           first = 0;
  std::set<std::uint64_t> pagesOfStacks;
  SplitDepths(layout.GetNumberOfMainPages());
  for (std::size_t i = 0; i < images.size(); ++i)
  {
    OMEImage & image = images[i];
    if (i > 0 && images[i - 1].tiffData == image.tiffData)
    {
      image.places = images[i - 1].places;
      image.pages.resize(images[i - 1].pages.size());
    }
    else if (!image.PlacePages(first, layout))
    {
      planesShareAPage = true;
      return;
    }
    image.TakePages();
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
  std::size_t           stack = 0;
  for (const OMEImage & image : images)
  {
    ++stack;
    const bool isStack = image.depths > 1 && image.depths <= MostFocalPlanes && image.depths <= numberOfPages &&
                         planes.size() + image.depths <= channelLimit && image.times <= 1 &&
                         image.elements.size() * image.depths <= 16 * channelLimit; // of memory
    for (std::uint64_t depth = 0; depth < (isStack ? image.depths : 1); ++depth)
    {
      planes.push_back(image);
      if (isStack)
      {
        planes.back().name = (images.size() > 1 ? image.name + ' ' : "") + "plane " + std::to_string(depth + 1);
        planes.back().depth = depth;
        planes.back().stack = stack;
        planes.back().stackName = image.name;
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
    image.channels = GetNumber(element, "SizeC", OMEImage::NotSaid);
    image.depths = GetNumber(element, "SizeZ", 1);
    image.times = GetNumber(element, "SizeT", 1);
    const std::string order = element.Get("DimensionOrder");
    image.areChannelsLast = order.find('Z') < order.find('C');
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
  if (element.name == "TiffData")
  {
    m_HasTooManyPlaces = image.tiffData->size() == placeLimit || m_HasTooManyPlaces;
    if (!m_HasTooManyPlaces)
    {
      image.tiffData->push_back({ element, {} });
    }
  }
  if (element.name == "UUID" && !image.tiffData->empty())
  {
    image.tiffData->back().file = element.Get("FileName");
  }
}

/** Pages are in the order of the channels and focal planes, but where TiffData elements say otherwise: each names the
 * page of a first channel and plane, and how many follow each other from there (one, where only the page is named; else
 * all). The last element that names a place holds. */
bool
OMEImage::PlacePages(std::uint64_t start, const TIFFLayout & layout)
{
  const auto named = std::find_if(
    tiffData->begin(), tiffData->end(), [](const PlacedPages & given) { return !given.element.Get("IFD").empty(); });
  const std::uint64_t firstPage =
    named == tiffData->end() ? start : named->firstOfFile + GetNumber(named->element, "IFD", 0);
  const unsigned      samplesOfPage = firstPage < layout.GetNumberOfMainPages() ? layout.GetPage(firstPage).samples : 1;
  const std::uint64_t placed = std::max<std::uint64_t>(1, std::min(channels, channelLimit) / samplesOfPage);
  const std::uint64_t all = placed * (isPlane ? depths : 1);
  if (isPlane && all > layout.GetNumberOfMainPages())
  {
    return false;
  }
  std::vector<std::uint64_t> pagesOfPlaces(static_cast<std::size_t>(all));
  std::iota(pagesOfPlaces.begin(), pagesOfPlaces.end(), start);
  // From the last element: each place is taken once, however many elements name it.
  std::vector<std::uint64_t> next(static_cast<std::size_t>(all) + 1);
  std::iota(next.begin(), next.end(), std::uint64_t{ 0 });
  const auto findFree = [&next](std::uint64_t place) {
    while (next[place] != place)
    {
      place = next[place] = next[next[place]];
    }
    return place;
  };
  for (auto given = tiffData->rbegin(); given != tiffData->rend(); ++given)
  {
    const XMLElement &  element = given->element;
    const bool          namesPage = !element.Get("IFD").empty();
    const std::uint64_t page = GetNumber(element, "IFD", given->firstOfFile == 0 ? start : 0); // in the file
    const std::uint64_t first =
      std::min(all, GetPlace(GetNumber(element, "FirstC", 0), GetNumber(element, "FirstZ", 0), placed));
    const std::uint64_t count = GetNumber(element, "PlaneCount", namesPage ? 1 : all);
    const std::uint64_t end = GetNumber(element, "FirstT", 0) == 0 ? first + std::min(count, all - first) : first;
    for (std::uint64_t place = findFree(first); place < end; place = findFree(place))
    {
      const std::uint64_t inFile = page + place - first;
      pagesOfPlaces[place] = inFile < given->pagesOfFile ? given->firstOfFile + inFile : layout.GetNumberOfMainPages();
      next[place] = place + 1;
    }
  }
  pages.resize(placed);
  places = std::make_shared<const std::vector<std::uint64_t>>(std::move(pagesOfPlaces));
  return true;
}

void
OMEImage::TakePages()
{
  for (std::uint64_t channel = 0; channel < pages.size(); ++channel)
  {
    pages[channel] = isPlane ? (*places)[GetPlace(channel, depth, pages.size())] : (*places)[channel];
  }
}

std::vector<std::uint64_t>
OMEImage::GetAllPages() const
{
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const std::uint64_t page : places ? *places : std::vector<std::uint64_t>())
  {
    ranges.emplace_back(page, page + 1);
  }
  for (const auto & [element, file, firstOfFile, pagesOfFile] : *tiffData)
  {
    const std::uint64_t usual = firstOfFile == 0 && !pages.empty() ? pages.front() : firstOfFile;
    const std::uint64_t page = element.Get("IFD").empty() ? usual : firstOfFile + GetNumber(element, "IFD", 0);
    const std::uint64_t end = firstOfFile + pagesOfFile;
    const std::uint64_t count = GetNumber(element, "PlaneCount", element.Get("IFD").empty() ? CountPlanes() : 1);
    ranges.emplace_back(page, page + std::min(count, end - std::min(page, end)));
  }
  std::sort(ranges.begin(), ranges.end());
  std::vector<std::uint64_t> all;
  std::uint64_t              done = 0;
  for (const auto & [begin, end] : ranges)
  {
    for (std::uint64_t page = std::max(begin, done); page < end; ++page)
    {
      all.push_back(page);
    }
    done = std::max(done, end);
  }
  return all;
}

} // namespace gigapixel

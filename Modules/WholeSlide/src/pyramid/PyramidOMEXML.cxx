/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidOMEXML.h"

#include "gigapixelPrintable.h"
#include "gigapixelXMLElements.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace gigapixel
{
namespace
{
const std::string Schema = "http://www.openmicroscopy.org/Schemas/OME/2016-06";

/** The namespace of our MapAnnotation. */
const std::string OwnSpace = "https://github.com/InsightSoftwareConsortium/ITKGigapixel/pyramid";

/** A text of any bytes as XML can hold it. */
std::string
Escape(const std::string & text)
{
  constexpr std::size_t part = MostPrintableBytes / 2;          // no more is printable at once
  const auto            isInside = [&text](std::size_t place) { // a character of UTF-8
    return place < text.size() && (static_cast<unsigned char>(text[place]) & 0xc0u) == 0x80u;
  };
  std::string escaped;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end)
  {
    for (end = std::min(begin + part, text.size()); isInside(end); ++end)
    {}
    for (const char c : GetPrintable(text.substr(begin, end - begin)))
    {
      escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
    }
  }
  return escaped;
}

std::string
Attribute(const std::string & name, const std::string & value)
{
  return ' ' + name + "=\"" + Escape(value) + '"';
}

std::string
GetType(const PyramidPage & page)
{
  return page.bits == 1 ? "bit" : page.sampleFormat == 3 ? "float" : "uint" + std::to_string(page.bits);
}

/** Attributes of a channel, as far as they are known. */
std::string
DescribeChannel(const SlideChannel & channel)
{
  const auto describeLength = [](const std::string & name, double length) {
    return length > 0.0 ? Attribute(name, FormatShortest(length)) : "";
  };
  return (channel.name.empty() ? "" : Attribute("Name", channel.name)) +
         (channel.color ? Attribute("Color", FormatOMEColor(*channel.color)) : "") +
         describeLength("ExcitationWavelength", channel.excitation) +
         describeLength("EmissionWavelength", channel.emission);
}

/** An element Image, whose pages follow each other, one for each channel. */
struct DescribedImage
{
  std::size_t               number;
  const PyramidPage &       page; // the first one
  std::size_t               firstInChain;
  std::string               name;
  std::string               sizes; // attributes
  std::vector<SlideChannel> channels;
  std::string               reference; // behind Pixels
};

std::string
DescribeImage(const DescribedImage & image)
{
  const PyramidPage & page = image.page;
  const std::string   number = std::to_string(image.number);
  const std::string   samples = Attribute("SamplesPerPixel", std::to_string(page.samples));
  std::string         channels;
  for (std::size_t i = 0; i < image.channels.size(); ++i)
  {
    channels += "<Channel" + Attribute("ID", "Channel:" + number + ':' + std::to_string(i)) +
                DescribeChannel(image.channels[i]) + samples + "/>";
  }
  const std::size_t pages = image.channels.size();
  return "<Image" + Attribute("ID", "Image:" + number) + (image.name.empty() ? "" : Attribute("Name", image.name)) +
         "><Pixels" + Attribute("ID", "Pixels:" + number) + Attribute("DimensionOrder", "XYCZT") +
         Attribute("Type", GetType(page)) + Attribute("SizeX", std::to_string(page.width)) +
         Attribute("SizeY", std::to_string(page.height)) + Attribute("SizeC", std::to_string(pages * page.samples)) +
         Attribute("SizeZ", "1") + Attribute("SizeT", "1") + image.sizes + '>' + channels + "<TiffData" +
         Attribute("IFD", std::to_string(image.firstInChain)) + Attribute("PlaneCount", std::to_string(pages)) +
         "/></Pixels>" + image.reference + "</Image>\n";
}
} // namespace

bool
IsOMETIFFName(const std::string & fileName)
{
  std::string name = fileName;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::array<std::string, 2> endings{ ".ome.tif", ".ome.tiff" };
  return std::any_of(endings.begin(), endings.end(), [&name](const std::string & ending) {
    return name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
  });
}

std::string
ComposeOMEXML(const std::vector<PyramidPage> & pages,
              const PyramidMetadata &          metadata,
              const PyramidDescription &       description)
{
  const std::string annotation = Attribute("ID", "Annotation:0");
  std::string       sizes;
  for (const unsigned axis : { 0, 1 })
  {
    const std::string name = axis == 0 ? "PhysicalSizeX" : "PhysicalSizeY";
    const double      density = metadata.pixelsPerCentimeter[axis];
    sizes += density > 0 ? Attribute(name, FormatShortest(1e4 / density)) + Attribute(name + "Unit", "\u00b5m") : "";
  }
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<OME" + Attribute("xmlns", Schema) +
                    Attribute("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance") +
                    Attribute("xsi:schemaLocation", Schema + ' ' + Schema + "/ome.xsd") +
                    Attribute("Creator", "ITKGigapixel") + ">\n";
  std::vector<SlideChannel> channels = description.channels;
  channels.resize(static_cast<std::size_t>(std::count_if(
    pages.begin(), pages.end(), [](const PyramidPage & page) { return page.role == PyramidPage::Role::First; })));
  xml += DescribeImage({ 0, pages.front(), 0, "", sizes, channels, "<AnnotationRef" + annotation + "/>" });
  std::size_t image = 0;
  for (const PyramidPage & page : pages)
  {
    if (page.role == PyramidPage::Role::Associated)
    {
      xml += DescribeImage(
        { ++image, page, channels.size() + image - 1, page.description, "", std::vector<SlideChannel>(1), "" });
    }
  }
  xml += "<StructuredAnnotations><MapAnnotation" + annotation + Attribute("Namespace", OwnSpace) + "><Value>\n";
  PyramidDescription own = description;
  own.channels.clear(); // which are elements
  for (const auto & entry : own.GetEntries())
  {
    xml += "<M" + Attribute("K", entry.first) + '>' + Escape(entry.second) + "</M>\n";
  }
  return xml + "</Value></MapAnnotation></StructuredAnnotations></OME>";
}

PyramidDescription::Entries
ReadOMEXMLEntries(const std::string & text)
{
  PyramidDescription::Entries entries;
  if (text.find(OwnSpace) == std::string::npos) // which is quicker than to read large XML
  {
    return entries;
  }
  unsigned   depth = 0; // of our annotation; 0: elsewhere
  bool       isEntry = false;
  const auto visit = [&](const XMLElement & element) {
    depth = element.depth <= depth ? 0 : depth;
    depth = element.name == "MapAnnotation" && element.Get("Namespace") == OwnSpace ? element.depth : depth;
    isEntry = depth > 0 && element.name == "M";
    if (isEntry)
    {
      entries.emplace_back(element.Get("K"), "");
    }
    return true;
  };
  ReadXML(text, visit, [&](const std::string & part) {
    if (isEntry)
    {
      entries.back().second += part;
    }
  });
  return entries;
}

} // namespace gigapixel

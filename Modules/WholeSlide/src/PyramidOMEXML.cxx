/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidOMEXML.h"

#include "gigapixelPrintable.h"
#include "gigapixelXMLElements.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

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

/** Name and color of the channel that level 0 shows, as far as they are known. */
std::string
DescribeChannel(const PyramidDescription & description)
{
  const auto  found = description.properties.find(ChannelProperty);
  std::string name = found == description.properties.end() ? "" : found->second;
  std::string attributes;
  if (name.size() > 8 && name[0] == '#' && name[7] == ' ' && name.find_first_not_of("0123456789abcdef", 1) == 7)
  {
    const auto rgba = static_cast<std::uint32_t>(std::stoul(name.substr(1, 6) + "ff", nullptr, 16));
    attributes = Attribute("Color", std::to_string(static_cast<std::int32_t>(rgba)));
    name.erase(0, 8);
  }
  return (name.empty() ? "" : Attribute("Name", name)) + attributes;
}

/** \param image its number, which is that of its page in the chain \param inside attributes of Pixels, and of Channel
 * \param reference behind Pixels */
std::string
DescribeImage(const PyramidPage &                page,
              std::size_t                        image,
              const std::string &                name,
              const std::array<std::string, 2> & inside,
              const std::string &                reference)
{
  const std::string number = std::to_string(image);
  return "<Image" + Attribute("ID", "Image:" + number) + (name.empty() ? "" : Attribute("Name", name)) + "><Pixels" +
         Attribute("ID", "Pixels:" + number) + Attribute("DimensionOrder", "XYCZT") + Attribute("Type", GetType(page)) +
         Attribute("SizeX", std::to_string(page.width)) + Attribute("SizeY", std::to_string(page.height)) +
         Attribute("SizeC", std::to_string(page.samples)) + Attribute("SizeZ", "1") + Attribute("SizeT", "1") +
         inside[0] + "><Channel" + Attribute("ID", "Channel:" + number + ":0") + inside[1] +
         Attribute("SamplesPerPixel", std::to_string(page.samples)) + "/><TiffData" + Attribute("IFD", number) +
         Attribute("PlaneCount", "1") + "/></Pixels>" + reference + "</Image>\n";
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
  xml +=
    DescribeImage(pages.front(), 0, "", { sizes, DescribeChannel(description) }, "<AnnotationRef" + annotation + "/>");
  std::size_t image = 0;
  for (const PyramidPage & page : pages)
  {
    xml += page.role == PyramidPage::Role::Associated ? DescribeImage(page, ++image, page.description, {}, "") : "";
  }
  xml += "<StructuredAnnotations><MapAnnotation" + annotation + Attribute("Namespace", OwnSpace) + "><Value>\n";
  for (const auto & entry : description.GetEntries())
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

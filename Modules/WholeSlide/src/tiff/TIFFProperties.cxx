/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "files/NumberText.h"
#include "pyramid/PyramidDescription.h"
#include "slide/SlideImageChoice.h"
#include "TIFFSlide.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

namespace gigapixel
{

std::string
GetImageJValue(const TIFFPage & page, const std::string & key)
{
  const std::string text = page.GetShortText(TIFFTag::ImageDescription);
  const std::string line = '\n' + key + '=';
  const std::size_t found = text.rfind("ImageJ=", 0) == 0 ? text.find(line) : std::string::npos;
  if (found == std::string::npos)
  {
    return {};
  }
  std::string value = text.substr(found + line.size(), text.find('\n', found + 1) - found - line.size());
  value.erase(value.find_last_not_of(" \r\t") + 1);
  return value;
}

namespace
{

/** Micrometers of a unit as ImageJ's users write it; 0 where it is no length. */
double
GetMicronsOfUnit(std::string unit)
{
  std::transform(
    unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char * mu : { "\\u00b5", "\\u03bc", "\xC2\xB5", "\xCE\xBC", "\xB5" })
  {
    const std::string sign = mu;
    unit = unit.rfind(sign, 0) == 0 ? "u" + unit.substr(sign.size()) : unit;
  }
  static const std::pair<const char *, double> units[] = {
    { "um", 1.0 },         { "micron", 1.0 },     { "micrometer", 1.0 }, { "micrometre", 1.0 }, { "nm", 1e-3 },
    { "nanometer", 1e-3 }, { "nanometre", 1e-3 }, { "mm", 1e3 },         { "millimeter", 1e3 }, { "millimetre", 1e3 },
    { "cm", 1e4 },         { "centimeter", 1e4 }, { "centimetre", 1e4 }, { "m", 1e6 },          { "meter", 1e6 },
    { "metre", 1e6 },      { "in", 25400.0 },     { "inch", 25400.0 },   { "inche", 25400.0 } // and an s
  };
  const auto known = std::find_if(std::begin(units), std::end(units), [&unit](const auto & each) {
    const std::string name = each.first;
    return unit == name || (name.size() > 2 && unit == name + 's');
  });
  return known == std::end(units) ? 0.0 : known->second;
}

/** Micrometers per pixel of a resolution tag; 0 = not said. The units that ImageJ's text names go before the tag of the
 * unit, which says none or something else there. TIFF's unit is the inch where the file names none.
 * \param described the page with the text: the first one of a stack */
double
GetMicrons(const TIFFPage & page, const TIFFPage & described, TIFFTag tag)
{
  const double      perUnit = page.GetNumber(tag, 0.0);
  const std::string unit = GetImageJValue(described, "unit");
  const std::string ofY = tag == TIFFTag::YResolution ? GetImageJValue(described, "yunit") : std::string();
  const auto        ofTag = page.GetInteger(TIFFTag::ResolutionUnit, 2);
  const double      micrometers = !ofY.empty()    ? GetMicronsOfUnit(ofY)
                                  : !unit.empty() ? GetMicronsOfUnit(unit)
                                  : ofTag == 2    ? 25400.0
                                  : ofTag == 3    ? 10000.0
                                                  : 0.0;
  return perUnit > 0.0 ? micrometers / perUnit : 0.0;
}

} // namespace

namespace
{

/** Adds the tags that OpenSlide keeps as they are. */
void
AddTags(const TIFFPage & page, std::map<std::string, std::string> & properties)
{
  const struct
  {
    TIFFTag      tag;
    const char * name;
  } texts[] = { { TIFFTag::ImageDescription, "tiff.ImageDescription" },
                { TIFFTag::Make, "tiff.Make" },
                { TIFFTag::Model, "tiff.Model" },
                { TIFFTag::Software, "tiff.Software" },
                { TIFFTag::DateTime, "tiff.DateTime" },
                { TIFFTag::Artist, "tiff.Artist" },
                { TIFFTag::HostComputer, "tiff.HostComputer" },
                { TIFFTag::Copyright, "tiff.Copyright" },
                { TIFFTag::DocumentName, "tiff.DocumentName" } };
  for (const auto & text : texts)
  {
    const std::string value = page.GetText(text.tag);
    if (!value.empty())
    {
      properties.emplace(text.name, value);
    }
  }
  for (const TIFFTag tag : { TIFFTag::XResolution, TIFFTag::YResolution, TIFFTag::XPosition, TIFFTag::YPosition })
  {
    const char * const name = tag == TIFFTag::XResolution   ? "tiff.XResolution"
                              : tag == TIFFTag::YResolution ? "tiff.YResolution"
                              : tag == TIFFTag::XPosition   ? "tiff.XPosition"
                                                            : "tiff.YPosition";
    if (page.Find(tag) != nullptr)
    {
      properties.emplace(name, ToText(page.GetNumber(tag, 0.0)));
    }
  }
  if (page.Find(TIFFTag::ImageDescription) != nullptr)
  {
    properties.emplace("openslide.comment", page.GetText(TIFFTag::ImageDescription));
  }
}

} // namespace

/** OpenSlide's names and values, but for its hash of the pixels (openslide.quickhash-1), which takes longer than
 * opening the file does. */
void
TIFFSlide::FillProperties()
{
  const TIFFPage & base = *m_Sources.front().page;
  m_Properties.emplace("openslide.vendor", "generic-tiff");
  AddTags(base, m_Properties);
  const std::uint64_t unit = base.GetInteger(TIFFTag::ResolutionUnit, 2);
  m_Properties.emplace("tiff.ResolutionUnit", unit == 2 ? "inch" : unit == 3 ? "centimeter" : "none");
  m_Properties["tiff.Orientation"] = std::to_string(base.orientation);
  if (base.samples == 4 && m_Planes.front().IsPicture() && m_Sources.front().alpha == TIFFAlpha::None)
  {
    m_Warnings.push_back(Diagnostic("W-SLIDE-CHANNELS",
                                    "its fourth sample is ignored, since no tag says what it is",
                                    "state it in the tag ExtraSamples (e.g. with tiffset) where it is alpha")
                           .OfFile(m_Path)
                           .OfValue("4"));
  }
  if (base.orientation != 1)
  {
    m_Warnings.push_back(Diagnostic("W-SLIDE-ORIENTATION",
                                    "its orientation tag (" + std::to_string(base.orientation) + ") is ignored",
                                    "rotate the image with another program where it matters")
                           .OfFile(m_Path));
  }
  const TIFFPage & described = base.Find(TIFFTag::ImageDescription) != nullptr ? base : m_Layout->GetPage(0);
  double           x = GetMicrons(base, described, TIFFTag::XResolution);
  double           y = GetMicrons(base, described, TIFFTag::YResolution);
  const double     spacing = ToNumber(GetImageJValue(described, "spacing"));
  const double     depth = spacing * GetMicronsOfUnit(GetImageJValue(described, "unit"));
  if (depth > 0.0 && !DescribeFocalPlane(m_Images).empty())
  {
    m_Properties.emplace(FocalPlaneSpacing, ToText(depth));
  }
  if (m_Layout->micronsPerPixel)
  {
    x = m_Layout->micronsPerPixel->front();
    y = m_Layout->micronsPerPixel->back();
  }
  std::string names;
  for (const SlideChannel & channel : m_Layout->channels)
  {
    names += channel.name + '\n';
  }
  if (names.find_first_not_of('\n') != std::string::npos)
  {
    names.pop_back();
    m_Properties["gigapixel.channel-names"] = names;
  }
  if (x > 0.0 && y > 0.0)
  {
    m_Properties.emplace("openslide.mpp-x", ToText(x));
    m_Properties.emplace("openslide.mpp-y", ToText(y));
  }
  PyramidDescription own;
  const bool         isOwn = PyramidDescription::Parse(base.GetText(TIFFTag::ImageDescription), own);
  if (!m_ReadsLabels || isOwn || IsPlausible(x, y)) // masks of an unknown resolution are matched by their extent
  {
    SetMicronsPerPixel(x, y, isOwn || m_ReadsLabels);
  }
  if (isOwn)
  {
    m_Origin = own.origin;
    m_Properties.insert(own.properties.begin(), own.properties.end());
  }
  FillLevelProperties();
}

/** Our levels, where OpenSlide may see other ones. */
void
TIFFSlide::FillLevelProperties()
{
  const std::string prefix = "openslide.level[";
  for (auto property = m_Properties.begin(); property != m_Properties.end();)
  {
    property = property->first.rfind(prefix, 0) == 0 ? m_Properties.erase(property) : std::next(property);
  }
  m_Properties["openslide.level-count"] = std::to_string(m_NumberOfLevels);
  for (unsigned i = 0; i < m_NumberOfLevels; ++i)
  {
    const SlidePlane & level = m_Planes[i];
    const std::string  name = prefix + std::to_string(i) + "].";
    m_Properties[name + "width"] = std::to_string(level.width);
    m_Properties[name + "height"] = std::to_string(level.height);
    m_Properties[name + "tile-width"] = std::to_string(level.tileWidth);
    m_Properties[name + "tile-height"] = std::to_string(level.tileHeight);
    m_Properties[name + "downsample"] = ToText(level.downsample);
  }
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NumberText.h"
#include "PyramidDescription.h"
#include "TIFFSlide.h"

namespace gigapixel
{
namespace
{

/** Micrometers per pixel of a resolution tag; 0 = not said. TIFF's unit is the inch where the file names none. */
double
GetMicrons(const TIFFPage & page, TIFFTag tag)
{
  const double        perUnit = page.GetNumber(tag, 0.0);
  const std::uint64_t unit = page.GetInteger(TIFFTag::ResolutionUnit, 2);
  if (!(perUnit > 0.0) || (unit != 2 && unit != 3))
  {
    return 0.0;
  }
  return (unit == 2 ? 25400.0 : 10000.0) / perUnit;
}

} // namespace

/** OpenSlide's names and values, but for its hash of the pixels (openslide.quickhash-1), which takes longer than
 * opening the file does. */
void
TIFFSlide::FillProperties()
{
  const TIFFPage & base = *m_Sources.front().page;
  m_Properties.emplace("openslide.vendor", "generic-tiff");
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
    const std::string value = base.GetText(text.tag);
    if (!value.empty())
    {
      m_Properties.emplace(text.name, value);
    }
  }
  for (const TIFFTag tag : { TIFFTag::XResolution, TIFFTag::YResolution, TIFFTag::XPosition, TIFFTag::YPosition })
  {
    const char * const name = tag == TIFFTag::XResolution   ? "tiff.XResolution"
                              : tag == TIFFTag::YResolution ? "tiff.YResolution"
                              : tag == TIFFTag::XPosition   ? "tiff.XPosition"
                                                            : "tiff.YPosition";
    if (base.Find(tag) != nullptr)
    {
      m_Properties.emplace(name, ToText(base.GetNumber(tag, 0.0)));
    }
  }
  if (base.Find(TIFFTag::ImageDescription) != nullptr)
  {
    m_Properties.emplace("openslide.comment", base.GetText(TIFFTag::ImageDescription));
  }
  const std::uint64_t unit = base.GetInteger(TIFFTag::ResolutionUnit, 2);
  m_Properties.emplace("tiff.ResolutionUnit", unit == 2 ? "inch" : unit == 3 ? "centimeter" : "none");
  m_Properties["tiff.Orientation"] = std::to_string(base.orientation);
  if (base.orientation != 1)
  {
    m_Warnings.push_back(m_Path + ": its orientation tag (" + std::to_string(base.orientation) +
                         ") is neglected, pixels come as they are stored; flip them where it matters.");
  }
  double x = GetMicrons(base, TIFFTag::XResolution);
  double y = GetMicrons(base, TIFFTag::YResolution);
  if (m_Layout->micronsPerPixel)
  {
    x = m_Layout->micronsPerPixel->front();
    y = m_Layout->micronsPerPixel->back();
  }
  std::string names;
  for (const std::string & name : m_Layout->channelNames)
  {
    names += name + '\n';
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
  SetMicronsPerPixel(x, y, isOwn);
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

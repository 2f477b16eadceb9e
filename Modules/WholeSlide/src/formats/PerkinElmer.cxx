/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// PerkinElmer (Akoya) QPTIFF: each page says in XML what it is and, of fluorescence, which channel.
#include "SlideFormat.h"

#include <map>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr const char * root = "PerkinElmer-QPI-ImageDescription";

/** Text of the first element with this name; empty where there is none. */
std::string
GetElementText(const std::string & xml, const std::string & name)
{
  const std::string begin = '<' + name + '>';
  const std::size_t at = xml.find(begin);
  const std::size_t end = at == std::string::npos ? at : xml.find('<', at + begin.size());
  return end == std::string::npos ? std::string() : xml.substr(at + begin.size(), end - at - begin.size());
}

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && page->GetShortText(TIFFTag::ImageDescription).find(root) != std::string::npos;
}

std::shared_ptr<TIFFLayout>
Describe(const SlideFile & file)
{
  std::map<std::string, std::string> colors; // of channels, by their names
  auto                               layout = std::make_shared<TIFFLayout>(file.GetPath(), file.GetImage());
  PageRules                          rules;
  rules.areTextsNames = false;
  rules.arePartsChannels = true;
  for (std::size_t i = 0; i < layout->GetNumberOfMainPages(); ++i)
  {
    const TIFFPage &  page = layout->GetPage(i);
    const std::string xml = page.GetShortText(TIFFTag::ImageDescription);
    PageRole          role;
    role.name = FindUsualName(GetElementText(xml, "ImageType"));
    if (!role.name.empty())
    {
      role.kind = PageRole::Kind::Associated;
    }
    else if (page.samples == 1)
    {
      role.part = GetElementText(xml, "Name");
      role.name = role.part;
      colors.emplace(role.part, GetElementText(xml, "Color"));
    }
    rules.roles.push_back(role);
  }
  auto images = layout->FindImages(rules);
  layout->SetImages(std::move(images));
  for (SlideChannel & channel : layout->channels)
  {
    channel.color = ReadColorList(colors[channel.name]);
  }
  return layout;
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  return OpenTIFF(file, Describe(file));
}

/** A file whose tables are damaged is left to others. */
bool
Claims(const SlideFile & file)
{
  try
  {
    return Describe(file)->GetPage(0).tiled;
  }
  catch (const std::runtime_error &)
  {
    return false;
  }
}

} // namespace

extern const SlideFormat perkinElmerFormat;
const SlideFormat        perkinElmerFormat{ "perkinelmer", { ".qptiff" }, Detect, Open, Claims };

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidDescription.h"
#include "PyramidOMEXML.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>

namespace gigapixel
{
namespace
{
const std::string FirstLine = "ITKGigapixel pyramid";
const std::string Equals = " = ";

std::string
MakeOneLine(std::string text)
{
  std::replace_if(
    text.begin(), text.end(), [](unsigned char c) { return c < 32; }, ' ');
  return text;
}

std::array<double, 2>
ParseOrigin(const std::string & text)
{
  std::istringstream numbers(text);
  numbers.imbue(std::locale::classic());
  double x = 0;
  double y = 0;
  return numbers >> x >> y ? std::array<double, 2>{ { x, y } } : std::array<double, 2>{ { 0, 0 } };
}

std::string
FormatOrigin(const std::array<double, 2> & origin)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(std::numeric_limits<double>::max_digits10);
  text << origin[0] << ' ' << origin[1];
  return text.str();
}

/** The entries of a text of lines; nothing where it is not of this format. */
std::optional<PyramidDescription::Entries>
ReadLines(const std::string & text)
{
  std::istringstream lines(text);
  std::string        line;
  if (!std::getline(lines, line) || line != FirstLine)
  {
    return std::nullopt;
  }
  PyramidDescription::Entries entries;
  while (std::getline(lines, line))
  {
    const std::size_t equals = line.find(Equals);
    if (equals != std::string::npos)
    {
      entries.emplace_back(line.substr(0, equals), line.substr(equals + Equals.size()));
    }
  }
  return entries;
}

/** 0 to 255 of a text of decimals; -1 for another. */
int
ParseByte(const std::string & text)
{
  const bool isNumber = !text.empty() && text.size() <= 3 && text.find_first_not_of("0123456789") == std::string::npos;
  const int  value = isNumber ? std::stoi(text) : -1;
  return value <= 255 ? value : -1;
}
} // namespace

const char * const ClassPropertyStart = "gigapixel.class.";

PyramidDescription::Entries
PyramidDescription::GetEntries() const
{
  Entries entries{ { "origin-mm", FormatOrigin(origin) }, { "content", labels ? "labels" : "picture" } };
  if (!madeBy.empty())
  {
    entries.emplace_back("made-by", MakeOneLine(madeBy));
  }
  auto all = DescribeChannels(channels);
  all.insert(properties.begin(), properties.end());
  for (const auto & property : all)
  {
    entries.emplace_back(MakeOneLine(property.first), MakeOneLine(property.second));
  }
  return entries;
}

std::string
PyramidDescription::Compose() const
{
  std::string text = FirstLine + '\n';
  for (const auto & entry : GetEntries())
  {
    text += entry.first + Equals + entry.second + '\n';
  }
  return text;
}

bool
PyramidDescription::Parse(const std::string & text, PyramidDescription & description)
{
  auto entries = ReadLines(text);
  if (!entries)
  {
    entries = ReadOMEXMLEntries(text);
    if (entries->empty())
    {
      return false;
    }
  }
  description = PyramidDescription();
  std::map<std::string, std::string> channels;
  for (const auto & [name, value] : *entries)
  {
    if (name == "origin-mm")
    {
      description.origin = ParseOrigin(value);
    }
    else if (name == "content")
    {
      description.labels = value == "labels";
    }
    else if (name == "made-by")
    {
      description.madeBy = value;
    }
    else if (name.find('.') != std::string::npos)
    {
      (name.rfind(ChannelPropertyStart, 0) == 0 ? channels : description.properties)[name] = value;
    }
  }
  description.channels = ReadChannels(channels);
  return true;
}

std::vector<std::uint16_t>
PyramidDescription::GetColorMap() const
{
  std::vector<std::uint16_t> map;
  const std::string          start = ClassPropertyStart;
  for (const auto & property : properties)
  {
    if (property.first.rfind(start, 0) != 0)
    {
      continue;
    }
    const int           value = ParseByte(property.first.substr(start.size()));
    const std::string & text = property.second;
    if (value < 0 || text.size() < 7 || text[0] != '#' || text.find_first_not_of("0123456789abcdefABCDEF", 1) < 7 ||
        (text.size() > 7 && text[7] != ' '))
    {
      throw Refusal(Diagnostic("E-OPTION-VALUE",
                               "the class " + property.first + Equals + text +
                                 " is not written as gigapixel.class.NUMBER = #rrggbb NAME with a number from 0 to 255",
                               "correct it"));
    }
    for (std::size_t i = 0; map.size() < 768; ++i)
    {
      map.push_back(static_cast<std::uint16_t>(i % 256 * 257));
    }
    for (std::size_t color = 0; color < 3; ++color)
    {
      const unsigned byte = static_cast<unsigned>(std::stoul(text.substr(1 + 2 * color, 2), nullptr, 16));
      map[color * 256 + static_cast<std::size_t>(value)] = static_cast<std::uint16_t>(byte * 257);
    }
  }
  return map;
}

} // namespace gigapixel

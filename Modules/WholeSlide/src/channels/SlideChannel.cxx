/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideChannel.h"

#include "files/NumberText.h"

#include "gigapixelPrintable.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <locale>
#include <sstream>

namespace gigapixel
{
namespace
{
const std::string Excitation = ".excitation-nm";
const std::string Emission = ".emission-nm";

ChannelColor
SplitBytes(std::uint32_t rgb)
{
  return { { static_cast<unsigned char>(rgb >> 16 & 255),
             static_cast<unsigned char>(rgb >> 8 & 255),
             static_cast<unsigned char>(rgb & 255) } };
}
} // namespace

const char * const ChannelPropertyStart = "gigapixel.channel.";

std::string
FormatHexColor(const ChannelColor & color)
{
  char text[8] = "";
  std::snprintf(text, sizeof(text), "#%02x%02x%02x", color[0], color[1], color[2]);
  return text;
}

std::optional<ChannelColor>
ReadHexColor(const std::string & text)
{
  if (text.size() != 7 || text[0] != '#' || text.find_first_not_of("0123456789abcdefABCDEF", 1) != std::string::npos)
  {
    return std::nullopt;
  }
  return SplitBytes(static_cast<std::uint32_t>(std::strtoul(text.c_str() + 1, nullptr, 16)));
}

std::string
FormatOMEColor(const ChannelColor & color)
{
  const std::uint32_t rgba = std::uint32_t{ color[0] } << 24 | std::uint32_t{ color[1] } << 16 |
                             std::uint32_t{ color[2] } << 8 | std::uint32_t{ 255 };
  return std::to_string(static_cast<std::int32_t>(rgba));
}

std::optional<ChannelColor>
ReadOMEColor(const std::string & text)
{
  const std::size_t first = !text.empty() && text.front() == '-' ? 1 : 0;
  const bool        isNumber =
    text.size() > first && text.size() < 12 && text.find_first_not_of("0123456789", first) == std::string::npos;
  if (!isNumber)
  {
    return std::nullopt;
  }
  return SplitBytes(static_cast<std::uint32_t>(std::strtoll(text.c_str(), nullptr, 10)) >> 8);
}

std::optional<ChannelColor>
ReadColorList(const std::string & text)
{
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  std::array<unsigned, 3> rgb{};
  char                    comma = 0;
  stream >> rgb[0] >> comma >> rgb[1] >> comma >> rgb[2];
  if (!stream || comma != ',' || *std::max_element(rgb.begin(), rgb.end()) > 255)
  {
    return std::nullopt;
  }
  return SplitBytes(rgb[0] << 16 | rgb[1] << 8 | rgb[2]);
}

std::map<std::string, std::string>
DescribeChannels(const std::vector<SlideChannel> & channels)
{
  std::map<std::string, std::string> properties;
  for (std::size_t i = 0; i < channels.size(); ++i)
  {
    const SlideChannel & channel = channels[i];
    const std::string    key = ChannelPropertyStart + std::to_string(i + 1);
    const std::string    color = channel.color ? FormatHexColor(*channel.color) + ' ' : "";
    if (channels.size() > 1 || !channel.name.empty() || channel.color)
    {
      properties[key] = color + channel.name;
    }
    if (channel.excitation > 0.0)
    {
      properties[key + Excitation] = FormatShortest(channel.excitation);
    }
    if (channel.emission > 0.0)
    {
      properties[key + Emission] = FormatShortest(channel.emission);
    }
  }
  return properties;
}

std::vector<SlideChannel>
ReadChannels(const std::map<std::string, std::string> & properties)
{
  const std::string         start = ChannelPropertyStart;
  std::vector<SlideChannel> channels;
  for (auto property = properties.lower_bound(start);
       property != properties.end() && property->first.rfind(start, 0) == 0;
       ++property)
  {
    const std::size_t digits = property->first.find_first_not_of("0123456789", start.size());
    const std::string number = property->first.substr(start.size(), digits - start.size());
    const std::string what = digits == std::string::npos ? "" : property->first.substr(digits);
    const std::size_t channel = number.size() < 5 ? std::strtoul(number.c_str(), nullptr, 10) : 0;
    if (channel < 1 || channel > MostChannels)
    {
      continue;
    }
    channels.resize(std::max(channels.size(), channel));
    SlideChannel &      of = channels[channel - 1];
    const std::string & value = property->second;
    if (what.empty())
    {
      of.color = ReadHexColor(value.substr(0, value.find(' ')));
      of.name = of.color ? value.substr(std::min<std::size_t>(8, value.size())) : value;
    }
    else if (what == Excitation)
    {
      of.excitation = ToNumber(value);
    }
    else if (what == Emission)
    {
      of.emission = ToNumber(value);
    }
  }
  return channels;
}

} // namespace gigapixel

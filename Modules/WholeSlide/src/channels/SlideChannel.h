/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideChannel_h
#define SlideChannel_h

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** More channels than any file has pages for; a damaged number must not take the machine's memory, nor hours. */
constexpr std::size_t MostChannels = 4096;

using ChannelColor = std::array<unsigned char, 3>; // red, green, blue

/** What a file says of one of its channels. */
struct SlideChannel
{
  std::string                 name;              // empty where it says none
  std::optional<ChannelColor> color{};           // in which it is shown
  double                      excitation{ 0.0 }; // nanometers; 0: not said
  double                      emission{ 0.0 };
};

/** \name Colors as files write them. Those that read return nothing for another text. @{ */
/** "#rrggbb" */
std::string                 FormatHexColor(const ChannelColor & color);
std::optional<ChannelColor> ReadHexColor(const std::string & text);
/** OME-XML: a whole number of 32 bit with sign; red, green, blue and alpha from the highest byte on. */
std::string                 FormatOMEColor(const ChannelColor & color);
std::optional<ChannelColor> ReadOMEColor(const std::string & text);
/** "red,green,blue" */
std::optional<ChannelColor> ReadColorList(const std::string & text);
/** @} */

/** What the properties of channels begin with. Channel N, from 1, is "gigapixel.channel.N" = "#rrggbb NAME" or "NAME",
 * with "gigapixel.channel.N.excitation-nm" and "gigapixel.channel.N.emission-nm" where they are known. */
extern const char * const ChannelPropertyStart;

/** Channels as properties; nothing for a channel alone of which nothing is known. */
std::map<std::string, std::string> DescribeChannels(const std::vector<SlideChannel> & channels);

/** The channels among properties; numbers beyond MostChannels are left out. */
std::vector<SlideChannel> ReadChannels(const std::map<std::string, std::string> & properties);

} // namespace gigapixel

#endif

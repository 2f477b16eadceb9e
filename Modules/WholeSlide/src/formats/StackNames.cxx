/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "StackNames.h"

#include "gigapixelUTF16.h"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** A string of JSON. \param at its first quote; becomes the place behind the last one */
std::string
ReadString(const std::string & json, std::size_t & at)
{
  std::string text;
  for (++at; at < json.size() && json[at] != '"'; ++at)
  {
    if (json[at] != '\\')
    {
      text += json[at];
      continue;
    }
    std::string units; // of UTF-16, which several escapes may be needed for
    for (; at < json.size() && json.compare(at, 2, "\\u") == 0; at += 6)
    {
      const auto unit = std::strtoul(json.substr(at + 2, 4).c_str(), nullptr, 16);
      units += { static_cast<char>(unit >> 8), static_cast<char>(unit) };
    }
    if (!units.empty())
    {
      text += DecodeUTF16(units, true);
      --at; // the loop goes on behind it
      continue;
    }
    ++at;
    const char escaped = at < json.size() ? json[at] : ' ';
    text += escaped == '"' || escaped == '\\' || escaped == '/' ? escaped : ' ';
  }
  ++at;
  return text;
}

} // namespace

std::vector<std::string>
FindImageJLabels(const TIFFPage & page)
{
  constexpr auto          countsTag = static_cast<TIFFTag>(50838), bytesTag = static_cast<TIFFTag>(50839);
  constexpr std::uint64_t most = std::uint64_t{ 1 } << 20;
  const TIFFEntry * const countsEntry = page.Find(countsTag);
  if (countsEntry == nullptr || page.Find(bytesTag) == nullptr)
  {
    return {};
  }
  try
  {
    const std::string bytes = page.GetBytes(bytesTag);
    const auto        counts = page.GetFile().ReadIntegers(*countsEntry, most); // of the header, then of each value
    const bool        isBigEndian = page.GetFile().IsBigEndian();
    const auto getByte = [&](std::size_t at) { return std::uint32_t{ static_cast<unsigned char>(bytes.at(at)) }; };
    const auto getUnit = [&](std::size_t at) {
      return isBigEndian ? getByte(at) << 8 | getByte(at + 1) : getByte(at + 1) << 8 | getByte(at);
    };
    const auto getNumber = [&](std::size_t at) {
      return isBigEndian ? getUnit(at) << 16 | getUnit(at + 2) : getUnit(at + 2) << 16 | getUnit(at);
    };
    constexpr std::uint32_t  magic = 0x494a494a, labelsType = 0x6c61626c; // "IJIJ", "labl"
    std::vector<std::string> labels;
    std::size_t              value = 1, place = counts.at(0);
    if (getNumber(0) != magic)
    {
      return {};
    }
    for (std::size_t entry = 4; entry < counts[0]; entry += 8)
    {
      for (std::uint32_t i = 0; i < getNumber(entry + 4); ++i, place += counts.at(value++))
      {
        if (getNumber(entry) != labelsType)
        {
          continue;
        }
        std::size_t end = place;
        while (end + 1 < place + counts.at(value) && getUnit(end) != '\n')
        {
          end += 2;
        }
        labels.push_back(DecodeUTF16(bytes.substr(place, end - place), isBigEndian));
      }
    }
    return labels;
  }
  catch (const std::exception &)
  {
    return {}; // names do not decide whether the pixels are read
  }
}

std::vector<std::string>
FindShapedNames(const TIFFPage & page)
{
  const std::string text = page.GetText(TIFFTag::ImageDescription);
  const std::string key = "\"Channel\": {\"Name\": [";
  std::size_t       at = text.find(key);
  if (text.empty() || text.front() != '{' || at == std::string::npos)
  {
    return {};
  }
  std::vector<std::string> names;
  at += key.size();
  while (at < text.size() && text[at] == '"')
  {
    names.push_back(ReadString(text, at));
    at = text.find_first_not_of(", ", at);
  }
  return names;
}

} // namespace gigapixel

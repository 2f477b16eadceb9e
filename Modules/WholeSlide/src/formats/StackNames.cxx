/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "StackNames.h"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** UTF-8 of units of UTF-16, which are added one by one. */
class TextOfUTF16
{
public:
  void
  Add(std::uint32_t unit)
  {
    if (unit >= 0xd800 && unit < 0xdc00)
    {
      m_High = unit;
      return;
    }
    const bool isPair = m_High != 0 && unit >= 0xdc00 && unit < 0xe000;
    this->Append(isPair ? 0x10000 + ((m_High - 0xd800) << 10) + (unit - 0xdc00) : unit);
    m_High = 0;
  }

  std::string text;

private:
  void
  Append(std::uint32_t code)
  {
    const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80)
    {
      text += static_cast<char>(code);
    }
    else if (code < 0x800)
    {
      text += static_cast<char>(0xc0 | (code >> 6));
      tail(0);
    }
    else if (code < 0x10000)
    {
      text += static_cast<char>(0xe0 | (code >> 12));
      tail(6);
      tail(0);
    }
    else
    {
      text += static_cast<char>(0xf0 | (code >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }

  std::uint32_t m_High{ 0 }; // the first one of a pair
};

/** A string of JSON. \param at its first quote; becomes the place behind the last one */
std::string
ReadString(const std::string & json, std::size_t & at)
{
  TextOfUTF16 read;
  for (++at; at < json.size() && json[at] != '"'; ++at)
  {
    if (json[at] != '\\')
    {
      read.text += json[at];
      continue;
    }
    ++at;
    const char escaped = at < json.size() ? json[at] : ' ';
    if (escaped == 'u')
    {
      read.Add(static_cast<std::uint32_t>(std::strtoul(json.substr(at + 1, 4).c_str(), nullptr, 16)));
      at += 4;
    }
    else
    {
      read.text += escaped == '"' || escaped == '\\' || escaped == '/' ? escaped : ' ';
    }
  }
  ++at;
  return read.text;
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
        TextOfUTF16 label;
        for (std::size_t at = place; at + 1 < place + counts.at(value) && getUnit(at) != '\n'; at += 2)
        {
          label.Add(getUnit(at));
        }
        labels.push_back(label.text);
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

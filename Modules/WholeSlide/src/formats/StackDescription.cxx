/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "StackDescription.h"

#include "gigapixelUTF16.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace gigapixel
{
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

namespace
{
/** JSON as Python writes it, made what the standard has: NaN and the infinities are null. Empty where it nests deeper
 * than any program writes, which would take the whole stack of whoever walks through it. */
std::string
MakeStandardJSON(const std::string & text)
{
  constexpr int     deepest = 64;
  const std::string words[] = { "NaN", "-Infinity", "Infinity" };
  std::string       standard;
  int               depth = 0;
  bool              isInString = false;
  for (std::size_t i = 0; i < text.size(); ++i)
  {
    const auto isHere = [&](const std::string & word) { return text.compare(i, word.size(), word) == 0; };
    const auto word = isInString ? std::end(words) : std::find_if(std::begin(words), std::end(words), isHere);
    if (word != std::end(words))
    {
      standard += "null";
      i += word->size() - 1;
      continue;
    }
    standard += text[i];
    if (isInString && text[i] == '\\' && i + 1 < text.size())
    {
      standard += text[++i];
      continue;
    }
    isInString = isInString != (text[i] == '"');
    depth += isInString ? 0 : (text[i] == '[' || text[i] == '{') - (text[i] == ']' || text[i] == '}');
    if (depth > deepest)
    {
      return {};
    }
  }
  return standard;
}

} // namespace

ShapedStack
ReadShapedStack(const TIFFPage & page)
{
  constexpr std::size_t most = std::size_t{ 1 } << 20; // damaged texts must not take the machine's memory
  const std::string     text = page.GetText(TIFFTag::ImageDescription);
  if (text.empty() || text.front() != '{' || text.size() > most)
  {
    return {};
  }
  const auto           json = nlohmann::json::parse(MakeStandardJSON(text), nullptr, false);
  ShapedStack          stack;
  const nlohmann::json none;
  const auto           find = [&none](const nlohmann::json & values, const char * key) -> const nlohmann::json & {
    const auto found = values.is_object() ? values.find(key) : values.end();
    return found == values.end() ? none : *found;
  };
  const nlohmann::json & shape = find(json, "shape");
  if (!shape.is_array())
  {
    return stack;
  }
  for (const auto & size : shape)
  {
    stack.shape.push_back(size.is_number_unsigned() ? size.get<std::uint64_t>() : 0);
  }
  const auto getText = [](const nlohmann::json & value) { return value.is_string() ? value.get<std::string>() : ""; };
  stack.axes = getText(find(json, "axes"));
  stack.isTruncated = find(json, "truncated") == true;
  const nlohmann::json & names = find(find(json, "Channel"), "Name");
  for (std::size_t i = 0; names.is_array() && i < names.size(); ++i)
  {
    stack.channelNames.push_back(getText(names[i]));
  }
  return stack;
}

} // namespace gigapixel

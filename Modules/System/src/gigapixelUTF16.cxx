/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelUTF16.h"

#include <cstdint>

namespace gigapixel
{
namespace
{

void
AppendUTF8(std::uint32_t point, std::string & text)
{
  if (point < 0x80)
  {
    text += static_cast<char>(point);
    return;
  }
  const unsigned     following = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr unsigned lead[] = { 0, 0xC0, 0xE0, 0xF0 };
  text += static_cast<char>(lead[following] | point >> (6 * following));
  for (unsigned i = following; i > 0; --i)
  {
    text += static_cast<char>(0x80 | (point >> (6 * (i - 1)) & 0x3F));
  }
}

} // namespace

std::string
DecodeUTF16(const std::string & text, bool bigEndian)
{
  const auto getUnit = [&text, bigEndian](std::size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const auto second = static_cast<unsigned char>(text[at + 1]);
    return static_cast<std::uint32_t>(bigEndian ? first << 8 | second : second << 8 | first);
  };
  constexpr std::uint32_t byteOrderMark = 0xFEFF;
  constexpr std::uint32_t unknown = 0xFFFD;
  std::string             decoded;
  decoded.reserve(text.size() / 2);
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
  {
    std::uint32_t point = getUnit(at);
    const bool    isHigh = point >= 0xD800 && point < 0xDC00;
    const auto    low = isHigh && at + 3 < text.size() ? getUnit(at + 2) : 0;
    if (low >= 0xDC00 && low < 0xE000)
    {
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
      at += 2;
    }
    else if (point >= 0xD800 && point < 0xE000)
    {
      point = unknown;
    }
    if (at > 0 || point != byteOrderMark)
    {
      AppendUTF8(point, decoded);
    }
  }
  return decoded;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPrintable.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace gigapixel
{
namespace
{

/** Bytes of the character that begins here (RFC 3629); 0: it is none that is printed. */
std::size_t
GetCharacterLength(const std::string & text, std::size_t first)
{
  const auto byte = static_cast<unsigned char>(text[first]);
  if (byte < 0x80)
  {
    return byte >= 0x20 && byte != 0x7f ? 1 : 0;
  }
  const std::size_t length = byte >= 0xc2 && byte < 0xe0   ? 2
                             : byte >= 0xe0 && byte < 0xf0 ? 3
                             : byte >= 0xf0 && byte < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || first + length > text.size())
  {
    return 0;
  }
  std::uint32_t character = byte & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i)
  {
    const auto next = static_cast<unsigned char>(text[first + i]);
    if ((next & 0xc0u) != 0x80u)
    {
      return 0;
    }
    character = character << 6 | (next & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> least{ 0, 0, 0xa0, 0x800, 0x10000 }; // below 0xa0 there are more controls
  const bool                             surrogate = character >= 0xd800 && character < 0xe000;
  // Ends of lines, and what turns the direction of the text behind it, by which a message would seem to say another
  // thing.
  const bool turns = (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069) ||
                     character == 0x200e || character == 0x200f;
  const bool none = (character & 0xfffeu) == 0xfffeu; // the last two of each plane never are characters
  return character >= least[length] && character <= 0x10ffff && !surrogate && !turns && !none ? length : 0;
}

/** Its beginning and its end, where a message says what is wrong and what to do about it. */
std::string
Shorten(const std::string & text)
{
  constexpr std::size_t mostAtEnd = 1024;
  if (text.size() <= MostPrintableBytes)
  {
    return text;
  }
  const auto isInside = [&text](std::size_t place) { // a character of UTF-8
    return (static_cast<unsigned char>(text[place]) & 0xc0u) == 0x80u;
  };
  std::size_t first = MostPrintableBytes - mostAtEnd, last = text.size() - mostAtEnd;
  for (int i = 0; i < 3 && isInside(first); ++i)
  {
    --first;
  }
  for (int i = 0; i < 3 && isInside(last); ++i)
  {
    ++last;
  }
  return text.substr(0, first) + " ... " + text.substr(last);
}

} // namespace

std::string
GetPrintable(const std::string & whole)
{
  constexpr const char * digits = "0123456789abcdef";
  const std::string      text = Shorten(whole);
  std::string            printable;
  for (std::size_t i = 0; i < text.size();)
  {
    const std::size_t length = GetCharacterLength(text, i);
    if (length > 0)
    {
      printable.append(text, i, length);
      i += length;
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[i++]);
    printable += { '\\', 'x', digits[byte / 16], digits[byte % 16] };
  }
  return printable;
}

std::string
FormatShortest(double number)
{
  char text[32];
  return { text, std::to_chars(text, text + sizeof text, number).ptr };
}

std::string
GetPrintableReason(const std::string & what)
{
  // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
  const std::size_t end = what.rfind("[json.exception.", 0) == 0 ? what.find("] ") : std::string::npos;
  return GetPrintable(end == std::string::npos ? what : what.substr(end + 2));
}

} // namespace gigapixel

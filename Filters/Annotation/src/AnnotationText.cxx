/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "AnnotationFormat.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelUTF16.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <zlib.h>

namespace gigapixel
{
namespace
{

/** Outlines shrink to a fifth or a tenth. What unpacks to much more was made to fill the memory. */
constexpr std::size_t largestRatio = 64;
constexpr std::size_t alwaysAllowed = std::size_t{ 64 } << 20;
constexpr std::size_t largestText = std::size_t{ 4 } << 30;

std::string
Unpack(const std::string & packed)
{
  const std::size_t limit = std::min(largestText, std::max(alwaysAllowed, largestRatio * packed.size()));
  z_stream          state{};
  constexpr int     gzipHeader = 15 + 16;
  if (inflateInit2(&state, gzipHeader) != Z_OK)
  {
    throw std::bad_alloc();
  }
  const std::unique_ptr<z_stream, int (*)(z_stream *)> owner(&state, inflateEnd);
  std::string                                          text;
  std::string                                          out(1 << 16, '\0');
  std::size_t                                          next = 0;
  int                                                  result = Z_OK;
  while (result != Z_STREAM_END || state.avail_in > 0 || next < packed.size())
  {
    if (state.avail_in == 0)
    {
      const std::size_t piece = std::min<std::size_t>(packed.size() - next, 1 << 24);
      state.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data() + next)); // zlib does not write there
      state.avail_in = static_cast<uInt>(piece);
      next += piece;
    }
    if (result == Z_STREAM_END)
    {
      inflateReset(&state); // several gzip streams in one file are one text
    }
    state.next_out = reinterpret_cast<Bytef *>(out.data());
    state.avail_out = static_cast<uInt>(out.size());
    result = inflate(&state, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END)
    {
      throw Refusal(
        Diagnostic("E-FILE-DAMAGED", "its gzip data end early or are damaged", "get the file again from its source"));
    }
    text.append(out, 0, out.size() - state.avail_out);
    if (text.size() > limit)
    {
      throw Refusal(Diagnostic("E-FILE-LIMIT",
                               "its gzip data unpack to more than " + std::to_string(limit >> 20) + " MiB",
                               "unpack the file with gunzip if its size is right")
                      .OfValue(std::to_string(packed.size())));
    }
  }
  return text;
}

bool
BeginsWith(const std::string & text, const std::string & start)
{
  return text.compare(0, start.size(), start) == 0;
}

/** Whether a text is UTF-16 of big-endian order; nothing where it is none. JSON and XML begin with an ASCII character.
 */
std::optional<bool>
FindUTF16(const std::string & text)
{
  if (text.size() < 2)
  {
    return std::nullopt;
  }
  const bool isBig = BeginsWith(text, "\xFE\xFF") || (text[0] == '\0' && text[1] != '\0');
  const bool isLittle = BeginsWith(text, "\xFF\xFE") || (text[0] != '\0' && text[1] == '\0');
  return isBig || isLittle ? std::make_optional(isBig) : std::nullopt;
}

} // namespace

std::string
ReadAnnotationText(const std::string & file)
{
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
  {
    throw Refusal(Diagnostic("E-FILE-ACCESS", "the file cannot be read: " + DescribeLastFileRefusal()));
  }
  std::string text{ std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>() };
  if (BeginsWith(text, "\x1F\x8B"))
  {
    text = Unpack(text);
  }
  if (BeginsWith(text, "PK\x03\x04"))
  {
    throw Refusal(
      Diagnostic("E-ANNOTATION-FORMAT", "the file is a zip archive", "unpack it, and name the file inside"));
  }
  if (const auto bigEndian = FindUTF16(text))
  {
    text = DecodeUTF16(text, *bigEndian);
  }
  return BeginsWith(text, "\xEF\xBB\xBF") ? text.substr(3) : text;
}

} // namespace gigapixel

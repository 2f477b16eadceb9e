/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PictureFile.h"

#include "MadeBy.h"

#include "gigapixelAtomicFile.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <zlib.h>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
std::string
ToBigEndian(std::uint32_t number)
{
  return { static_cast<char>(number >> 24),
           static_cast<char>(number >> 16),
           static_cast<char>(number >> 8),
           static_cast<char>(number) };
}

/** Length, type, data and checksum (PNG specification, 5.3). */
std::string
MakeChunk(const std::string & type, std::string_view data)
{
  const std::string body = type + std::string(data);
  const uLong       checksum = crc32_z(0, reinterpret_cast<const Bytef *>(body.data()), body.size());
  return ToBigEndian(static_cast<std::uint32_t>(data.size())) + body +
         ToBigEndian(static_cast<std::uint32_t>(checksum));
}

/** The end of a picture, with a text before it (PNG specification, 11.3.4.3). */
std::string
MakeEnd(const std::string & madeBy)
{
  return (madeBy.empty() ? std::string() : MakeChunk("tEXt", std::string("made-by") + '\0' + madeBy)) +
         MakeChunk("IEND", {});
}

/** What a file ends with: more than the text that says how it was made takes. */
std::string
ReadEnd(const std::string & file)
{
  constexpr std::streamoff most = 4096;
  std::ifstream            stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff     size = std::min<std::streamoff>(most, stream.tellg());
  std::string              end(static_cast<std::size_t>(std::max<std::streamoff>(0, size)), 0);
  stream.seekg(-size, std::ios::end);
  stream.read(end.data(), size);
  return stream ? end : std::string();
}

/** The text that MakeEnd() was given; empty: the file ends otherwise. */
std::string
FindMadeBy(const std::string & end)
{
  const std::string key = std::string("tEXtmade-by") + '\0';
  const std::size_t checksum = 4;
  const std::size_t behind = end.size() - std::min(end.size(), MakeEnd({}).size() + checksum);
  const std::size_t at = end.rfind(key);
  return at == std::string::npos || at + key.size() > behind ? std::string()
                                                             : end.substr(at + key.size(), behind - at - key.size());
}

std::string
MakeHeader(const Picture & picture)
{
  constexpr char bits = 8;
  constexpr char rgb = 2;
  return MakeChunk("IHDR",
                   ToBigEndian(picture.width) + ToBigEndian(picture.height) + std::string{ bits, rgb, 0, 0, 0 });
}

/** Rows of differences to the pixel at the left (filter type 1), compressed. */
std::string
CompressPixels(const Picture & picture)
{
  constexpr char    sub = 1;
  const std::size_t rowBytes = std::size_t{ 3 } * picture.width;
  std::string       rows;
  rows.reserve((rowBytes + 1) * picture.height);
  for (std::size_t y = 0; y < picture.height; ++y)
  {
    const unsigned char * const row = picture.pixels.data() + y * rowBytes;
    rows += sub;
    for (std::size_t i = 0; i < rowBytes; ++i)
    {
      rows += static_cast<char>(i < 3 ? row[i] : row[i] - row[i - 3]);
    }
  }
  uLongf      size = compressBound(rows.size());
  std::string packed(size, '\0');
  if (compress(
        reinterpret_cast<Bytef *>(packed.data()), &size, reinterpret_cast<const Bytef *>(rows.data()), rows.size()) !=
      Z_OK)
  {
    throw std::bad_alloc();
  }
  packed.resize(size);
  return packed;
}
} // namespace

void
AppendPNG(const Picture & picture, AtomicFile & output, const std::string & madeBy)
{
  constexpr std::size_t most = 1 << 30; // bytes of a chunk; the specification allows 2^31 - 1
  const std::string     pixels = CompressPixels(picture);
  output.Append("\x89PNG\r\n\x1A\n");
  output.Append(MakeHeader(picture));
  for (std::size_t at = 0; at < pixels.size(); at += most)
  {
    output.Append(MakeChunk("IDAT", std::string_view(pixels).substr(at, most)));
  }
  output.Append(MakeEnd(madeBy));
}

void
WritePNG(const Picture & picture, const std::string & file, const std::string & madeBy, bool mayReplace)
{
  AtomicFile output(file, mayReplace);
  AppendPNG(picture, output, madeBy);
  output.Commit();
}

bool
HasValidPNG(const std::string & file, const std::string & madeBy)
{
  if (!fs::is_regular_file(file)) // opening a pipe would wait for its other end
  {
    return false;
  }
  const std::string wanted = MakeEnd(madeBy);
  const std::string end = ReadEnd(file);
  if (end.size() < wanted.size() || end.compare(end.size() - wanted.size(), wanted.size(), wanted) != 0)
  {
    const std::string found = FindMadeBy(end);
    throw Refusal(Diagnostic("E-OUTPUT-EXISTS",
                             file + " exists, but " +
                               (found.empty() ? "is no whole picture of this program"
                                              : "was made in another way than is asked for (" +
                                                  DescribeOtherMaking(found, madeBy) + ')'),
                             "--overwrite replaces it, another output name keeps it")
                    .OfFile(file));
  }
  return true;
}

std::string
FindMadeByOfPNG(const std::string & file)
{
  return fs::is_regular_file(file) ? FindMadeBy(ReadEnd(file)) : std::string();
}

} // namespace gigapixel::application

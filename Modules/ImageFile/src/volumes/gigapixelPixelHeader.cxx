/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPixelHeader.h"

#include "gigapixelDiagnostic.h"

#include <array>
#include <fstream>
#include <system_error>
#include <zlib.h>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

/** Bytes that a zlib or gzip stream comes to, or several of gzip one behind the other; what lacks at the end does not
 * count. \return whether all are whole */
bool
Inflate(std::istream & stream, std::uintmax_t & bytes)
{
  constexpr std::size_t      piece = 1 << 16;
  std::vector<unsigned char> in(piece);
  std::vector<unsigned char> out(piece);
  z_stream                   state{};
  constexpr int              anyHeader = 15 + 32;
  int                        result = inflateInit2(&state, anyHeader);
  while (result == Z_OK && stream)
  {
    stream.read(reinterpret_cast<char *>(in.data()), piece);
    state.next_in = in.data();
    state.avail_in = static_cast<uInt>(stream.gcount());
    do
    {
      state.next_out = out.data();
      state.avail_out = piece;
      result = inflate(&state, Z_NO_FLUSH);
      bytes += piece - state.avail_out;
    } while (result == Z_OK && state.avail_out == 0);
    result = result == Z_BUF_ERROR ? Z_OK : result; // it wants more, which the file may have
    if (result == Z_STREAM_END)
    {
      stream.clear();
      stream.seekg(-static_cast<std::streamoff>(state.avail_in), std::ios::cur);
      result = IsGzip(stream) ? inflateReset(&state) : result;
    }
  }
  inflateEnd(&state);
  return result == Z_STREAM_END;
}

} // namespace

void
RefuseCut(const std::string & file, const std::string & reason)
{
  throw Refusal(
    Diagnostic("E-FILE-DAMAGED", file + " is cut short or damaged: " + reason, "get it again from where it came")
      .OfFile(file));
}

std::string
GetField(const Fields & fields, const std::string & key)
{
  const auto found = fields.find(key);
  return found == fields.end() ? std::string() : found->second;
}

bool
IsGzip(std::istream & stream)
{
  std::array<char, 2> start{};
  const auto          begin = stream.tellg();
  const bool          is = stream.read(start.data(), start.size()) && start == std::array<char, 2>{ '\x1F', '\x8B' };
  stream.clear();
  stream.seekg(begin);
  return is;
}

void
CheckCompressed(const std::string &           file,
                const std::filesystem::path & pixels,
                std::uintmax_t                begin,
                std::uintmax_t                expected)
{
  std::ifstream stream(pixels, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(begin));
  std::uintmax_t bytes = 0;
  if (!Inflate(stream, bytes) || bytes < expected)
  {
    RefuseCut(file,
              (expected > 0 ? "of " + std::to_string(expected) + " bytes of pixels, " : "of its pixels, ") +
                std::to_string(bytes) + (expected > 0 ? "" : " bytes") + " can be decompressed");
  }
}

void
CheckPixelHeader(const std::string & file, const PixelHeader & header)
{
  if (!header.trouble.IsEmpty())
  {
    throw Refusal(header.trouble.OfFile(file));
  }
  // A reader opens what a header names, whatever it is.
  for (const fs::path & pixels : header.files)
  {
    std::error_code error;
    const auto      type = fs::status(pixels, error).type();
    if (type != fs::file_type::regular)
    {
      const bool isMissing = type == fs::file_type::not_found;
      throw Refusal(
        Diagnostic(isMissing ? "E-FILE-MISSING" : "E-FILE-KIND",
                   "its header names " + pixels.string() + " as the file of its pixels, which is " +
                     (isMissing ? "not there" : "no file (a folder, a pipe, a device or a loop of links)"),
                   isMissing ? "put it beside the header, under this name" : "name the file with the pixels there")
          .OfFile(file));
    }
  }
}

std::vector<std::string>
ListPixelFiles(const std::string & file)
{
  std::vector<std::string> files{ file };
  const auto               header = ReadPixelHeader(file);
  for (const fs::path & pixels : header->files)
  {
    files.push_back(pixels.string());
  }
  return files;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWholeFile.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelJPEGFile.h"
#include "gigapixelNIfTIHeader.h"
#include "gigapixelPixelFiles.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <vector>
#include <zlib.h>

#if defined(GIGAPIXEL_HAS_PNG) && !__has_include("itk_png.h")
#  undef GIGAPIXEL_HAS_PNG // an ITK that keeps its header to itself
#endif
#ifdef GIGAPIXEL_HAS_PNG
#  include "itk_png.h" // the one that ITK uses
#endif

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

[[noreturn]] void
RefuseCut(const std::string & file, const std::string & reason)
{
  throw Refusal(
    Diagnostic("E-FILE-DAMAGED", file + " is cut short or damaged: " + reason, "get it again from where it came")
      .OfFile(file));
}

std::string
GetField(const PixelHeader & header, const std::string & key)
{
  const auto found = header.fields.find(key);
  return found == header.fields.end() ? std::string() : found->second;
}

bool
IsTrue(const std::string & value)
{
  return !value.empty() && (value[0] == 'T' || value[0] == 't' || value[0] == '1'); // as MetaIO reads it
}

/** Bytes of a sample of the MetaImage, in a file; 0: of no type that is known. */
std::uintmax_t
GetSampleBytes(const std::string & type)
{
  static const std::map<std::string, std::uintmax_t> bytes{ { "CHAR", 1 },       { "UCHAR", 1 }, { "SHORT", 2 },
                                                            { "USHORT", 2 },     { "INT", 4 },   { "UINT", 4 },
                                                            { "LONG", 4 },       { "ULONG", 4 }, { "LONG_LONG", 8 },
                                                            { "ULONG_LONG", 8 }, { "FLOAT", 4 }, { "DOUBLE", 8 } };
  const std::string                                  start = "MET_";
  std::string       name = type.rfind(start, 0) == 0 ? type.substr(start.size()) : type;
  const std::size_t array = name.rfind("_ARRAY");
  name = array == std::string::npos ? name : name.substr(0, array);
  const auto found = bytes.find(name);
  return found == bytes.end() ? 0 : found->second;
}

std::uintmax_t
CountSamples(const PixelHeader & header)
{
  std::istringstream sizes(GetField(header, "DimSize"));
  std::uintmax_t     samples = 1;
  for (std::uintmax_t size = 0; sizes >> size;)
  {
    samples *= size;
  }
  std::uintmax_t channels = 1;
  std::istringstream(GetField(header, "ElementNumberOfChannels")) >> channels;
  return samples * std::max<std::uintmax_t>(channels, 1);
}

bool
IsText(const PixelHeader & header)
{
  return header.fields.count("BinaryData") > 0 && !IsTrue(GetField(header, "BinaryData"));
}

bool
IsCompressed(const PixelHeader & header)
{
  const std::string ending = header.files.empty() ? std::string() : header.files.front().extension().string();
  return IsTrue(GetField(header, "CompressedData")) || ending == ".gz" || ending == ".Z";
}

/** Whether a gzip stream begins where the file is read on. */
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

void
CheckCompressed(const std::string & file, const fs::path & pixels, std::uintmax_t begin, std::uintmax_t expected)
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

std::uintmax_t
CountBytes(const PixelHeader & header)
{
  return CountSamples(header) * GetSampleBytes(GetField(header, "ElementType"));
}

/** Where the pixels of a MetaImage begin, in each of its files. */
std::uintmax_t
FindBegin(const PixelHeader & header)
{
  std::intmax_t size = 0;
  std::istringstream(GetField(header, "HeaderSize")) >> size;
  return size > 0 ? static_cast<std::uintmax_t>(size) : header.files.empty() ? header.bytes : 0;
}

/** All of them are decompressed. */
void
CheckCompressedMetaImage(const std::string & file, const PixelHeader & header)
{
  const auto files = header.files.empty() ? std::vector<fs::path>{ file } : header.files;
  CheckCompressed(
    file, files.front(), FindBegin(header), CountBytes(header) / files.size()); // of slices, of which a mask has one
}

/** The pixels in their file, or in several; compressed ones are not decompressed. */
void
CheckMetaImage(const std::string & file, const PixelHeader & header)
{
  for (const char * const field : { "DimSize", "ElementType" })
  {
    if (header.fields.count(field) == 0)
    {
      RefuseCut(file, std::string("its header has no field ") + field);
    }
  }
  const bool isLocal = header.files.empty();
  const bool isText = IsText(header);
  if (IsCompressed(header))
  {
    if (isLocal && header.fields.count("CompressedDataSize") == 0)
    {
      // MetaIO would take the header for a part of them.
      RefuseCut(file, "its header does not say how many bytes its compressed pixels have (CompressedDataSize)");
    }
    return;
  }
  const std::uintmax_t begin = FindBegin(header), expected = isText ? CountSamples(header) : CountBytes(header);
  std::uintmax_t       found = 0;
  for (const fs::path & pixels : isLocal ? std::vector<fs::path>{ file } : header.files)
  {
    std::ifstream stream(pixels, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(begin));
    const std::uintmax_t size = fs::file_size(pixels);
    using Words = std::istream_iterator<std::string>;
    found += isText         ? static_cast<std::uintmax_t>(std::distance(Words(stream), Words()))
             : size > begin ? size - begin
                            : 0;
  }
  if (found < expected)
  {
    RefuseCut(file,
              "it has " + std::to_string(found) + " of " + std::to_string(expected) + (isText ? " numbers" : " bytes") +
                " of pixels");
  }
}

/** Pixels of an NRRD that are said to be text: words that are no numbers end the reader of ITK. */
void
CheckTextOfNRRD(const std::string & file, const PixelHeader & header)
{
  const std::string encoding = GetField(header, "encoding");
  if (encoding != "ascii" && encoding != "text" && encoding != "txt")
  {
    return;
  }
  for (const fs::path & pixels : header.files.empty() ? std::vector<fs::path>{ file } : header.files)
  {
    std::ifstream stream(pixels, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(header.files.empty() ? header.bytes : 0));
    constexpr std::size_t longest = 64; // digits of a number
    std::size_t           length = 0;
    for (std::istreambuf_iterator<char> at(stream), end; at != end; ++at)
    {
      const auto byte = static_cast<unsigned char>(*at);
      const bool isSpace = std::isspace(byte) != 0 || byte == ',';
      length = isSpace ? 0 : length + 1;
      if (length > longest || (!isSpace && std::isalnum(byte) == 0 && byte != '+' && byte != '-' && byte != '.'))
      {
        RefuseCut(file, "its header says that its pixels are text (encoding), and they are none");
      }
    }
  }
}

/** What a header names is opened by its reader, whatever it is. */
void
CheckPixelFiles(const std::string & file, const PixelHeader & header)
{
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

int
GetBigEndian(const std::array<char, 4> & bytes)
{
  return static_cast<unsigned char>(bytes[2]) << 8 | static_cast<unsigned char>(bytes[3]);
}

/** Whether the picture has its end: in the coded pixels 0xFF is followed by 0, the number of a restart or, behind the
 * last of them, the marker EOI (ISO/IEC 10918-1, B.1.1). What programs append behind it does not matter. */
bool
HasJPEGEnd(std::istream & stream)
{
  constexpr unsigned char startOfScan = 0xDA;
  constexpr unsigned char end = 0xD9;
  std::array<char, 4>     marker{};
  stream.seekg(2); // the marker of the start
  while (stream.read(marker.data(), marker.size()) && marker[0] == '\xFF' &&
         static_cast<unsigned char>(marker[1]) != startOfScan)
  {
    stream.seekg(GetBigEndian(marker) - 2, std::ios::cur);
  }
  std::vector<char> bytes(1 << 16);
  unsigned char     before = 0;
  while (stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size())), stream.gcount() > 0)
  {
    for (std::streamsize i = 0; i < stream.gcount(); ++i)
    {
      const auto byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
      if (before == 0xFF && byte == end)
      {
        return true;
      }
      before = byte;
    }
  }
  return false;
}

bool
IsJPEG(std::istream & stream)
{
  std::array<char, 3> start{};
  return stream.read(start.data(), start.size()) && start == std::array<char, 3>{ '\xFF', '\xD8', '\xFF' };
}

/** Where a row cannot be decoded, ITK 5.2's reader frees itself, since a register is not what it was before libjpeg's
 * jump; later ones leave out the rest. */
void
CheckJPEG(const std::string & file, std::istream & stream)
{
  if (!HasJPEGEnd(stream))
  {
    RefuseCut(file, "the end of its pixels is missing");
  }
#ifdef GIGAPIXEL_HAS_JPEG
  if (const std::string error = FindJPEGError(file); !error.empty())
  {
    RefuseCut(file, "libjpeg says of it: " + error);
  }
#endif
}

#ifdef GIGAPIXEL_HAS_PNG
bool
IsPNG(const std::string & file)
{
  std::array<char, 4> start{};
  return std::ifstream(file, std::ios::binary).read(start.data(), start.size()) &&
         start == std::array<char, 4>{ '\x89', 'P', 'N', 'G' };
}

/** ITK's reader asks libpng for the header without a way back from an error, and libpng ends the program then: so it is
 * read before, as libpng reads it with a way back. */
void
CheckPNGHeader(const std::string & file)
{
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, file.c_str()) == 0)
  {
    RefuseCut(file, std::string("libpng says of its header: ") + image.message);
  }
  png_image_free(&image);
}
#endif

/** \param bytes of the file, decompressed */
void
CheckNIfTIBytes(const std::string & file, std::uintmax_t expected, std::uintmax_t bytes)
{
  if (bytes < expected)
  {
    RefuseCut(file, "it has " + std::to_string(bytes) + " of " + std::to_string(expected) + " bytes");
  }
}

void
CheckNIfTI(const std::string & file)
{
  const NIfTIFiles nifti = FindNIfTIFiles(file);
  if (!nifti.said)
  {
    return;
  }
  CheckNIfTIHeader(nifti.header, *nifti.said);
  if (nifti.pixels.empty())
  {
    throw Refusal(Diagnostic("E-FILE-MISSING", "its pixels are not there", "put the file that ends in .img beside it")
                    .OfFile(file));
  }
  if (std::ifstream plain(nifti.pixels, std::ios::binary); !IsGzip(plain))
  {
    CheckNIfTIBytes(nifti.pixels, nifti.said->offset + nifti.said->pixelBytes, fs::file_size(nifti.pixels));
  }
}

} // namespace

void
RequireWholeHeader(const std::string & file)
{
  std::ifstream stream(file, std::ios::binary);
  if (IsJPEG(stream))
  {
    CheckJPEG(file, stream);
  }
#ifdef GIGAPIXEL_HAS_PNG
  if (IsPNG(file))
  {
    CheckPNGHeader(file);
  }
#endif
  CheckNIfTI(file);
  if (const auto header = ReadPixelHeader(file))
  {
    if (!header->trouble.IsEmpty())
    {
      throw Refusal(header->trouble.OfFile(file));
    }
    CheckPixelFiles(file, *header);
    if (header->isMetaImage)
    {
      CheckMetaImage(file, *header);
    }
    else
    {
      CheckTextOfNRRD(file, *header);
    }
  }
}

void
RequireWholeFile(const std::string & file)
{
  RequireWholeHeader(file);
  if (const auto header = ReadPixelHeader(file); header && header->isMetaImage && IsCompressed(*header))
  {
    CheckCompressedMetaImage(file, *header);
  }
}

void
RequireWholeCompression(const std::string & file)
{
  if (const auto header = ReadPixelHeader(file))
  {
    if (header->isMetaImage && IsCompressed(*header))
    {
      CheckCompressedMetaImage(file, *header);
    }
    const std::string encoding = GetField(*header, "encoding"); // of NRRD
    const bool        isWhole = header->fields.count("byte skip") == 0 && header->fields.count("line skip") == 0;
    if ((encoding == "gzip" || encoding == "gz") && isWhole && header->files.size() < 2)
    {
      const bool isLocal = header->files.empty();
      CheckCompressed(file, isLocal ? fs::path(file) : header->files.front(), isLocal ? header->bytes : 0, 0);
    }
    return;
  }
  const NIfTIFiles nifti = FindNIfTIFiles(file);
  std::ifstream    stream(nifti.pixels, std::ios::binary);
  if (!IsGzip(stream))
  {
    return;
  }
  std::uintmax_t bytes = 0;
  if (!Inflate(stream, bytes))
  {
    RefuseCut(nifti.pixels, "only its first " + std::to_string(bytes) + " bytes can be decompressed");
  }
  if (nifti.said)
  {
    CheckNIfTIBytes(nifti.pixels, nifti.said->offset + nifti.said->pixelBytes, bytes);
  }
}

std::string
DescribeFailedReading(const std::string & reason)
{
  const std::string again = "; get it again from where it came";
  if (reason.find("nrrdSpacingStatusScalarWithSpace") != std::string::npos)
  {
    return "its header names a space and spacings, which say nothing of directions in it; write \"space directions\" "
           "in "
           "place of \"spacings\"";
  }
  const std::string ofNRRD = "fread got only "; // 4000 1-sized things, not 8000
  const std::size_t place = reason.find(ofNRRD);
  if (place != std::string::npos)
  {
    std::istringstream words(reason.substr(place + ofNRRD.size()));
    std::uintmax_t     found = 0, size = 0, expected = 0;
    std::string        word;
    words >> found >> size >> word >> word >> word >> expected;
    return "it is cut short: of " + std::to_string(expected * size) + " bytes of pixels, " +
           std::to_string(found * size) + " are there" + again;
  }
  return reason.rfind("Error while reading file", 0) == 0
           ? "its pixels cannot be decoded, since it is cut short or damaged" + again
           : reason;
}

bool
IsMetaImageWithoutParts(const std::string & file)
{
  const auto header = ReadPixelHeader(file);
  return header && header->isMetaImage && (IsCompressed(*header) || IsText(*header));
}

} // namespace gigapixel

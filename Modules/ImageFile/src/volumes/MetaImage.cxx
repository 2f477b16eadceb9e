/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPixelHeader.h"
#include "gigapixelVolumeFormat.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

bool
IsTrue(const std::string & value)
{
  return !value.empty() && (value[0] == 'T' || value[0] == 't' || value[0] == '1'); // as MetaIO reads it
}

/** Bytes of a sample in a file; 0: of no type that is known. */
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
  std::istringstream sizes(GetField(header.fields, "DimSize"));
  std::uintmax_t     samples = 1;
  for (std::uintmax_t size = 0; sizes >> size;)
  {
    samples *= size;
  }
  std::uintmax_t channels = 1;
  std::istringstream(GetField(header.fields, "ElementNumberOfChannels")) >> channels;
  return samples * std::max<std::uintmax_t>(channels, 1);
}

bool
IsText(const PixelHeader & header)
{
  return header.fields.count("BinaryData") > 0 && !IsTrue(GetField(header.fields, "BinaryData"));
}

bool
IsCompressed(const PixelHeader & header)
{
  const std::string ending = header.files.empty() ? std::string() : header.files.front().extension().string();
  return IsTrue(GetField(header.fields, "CompressedData")) || ending == ".gz" || ending == ".Z";
}

std::uintmax_t
CountBytes(const PixelHeader & header)
{
  return CountSamples(header) * GetSampleBytes(GetField(header.fields, "ElementType"));
}

/** Where the pixels of a MetaImage begin, in each of its files. */
std::uintmax_t
FindBegin(const PixelHeader & header)
{
  std::intmax_t size = 0;
  std::istringstream(GetField(header.fields, "HeaderSize")) >> size;
  return size > 0 ? static_cast<std::uintmax_t>(size) : header.files.empty() ? header.bytes : 0;
}

void
CheckPixels(const std::string & file)
{
  const auto header = ReadPixelHeader(file);
  if (IsCompressed(*header))
  {
    const auto files = header->files.empty() ? std::vector<fs::path>{ file } : header->files;
    CheckCompressed(file,
                    files.front(),
                    FindBegin(*header),
                    CountBytes(*header) / files.size()); // of slices, of which a mask has one
  }
}

/** The pixels in their file, or in several; compressed ones are not decompressed. */
void
CheckHeader(const std::string & file)
{
  const auto          read = ReadPixelHeader(file);
  const PixelHeader & header = *read;
  CheckPixelHeader(file, header);
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

/** MetaImage, https://itk.org/Wiki/ITK/MetaIO/Documentation: all but the unit is as ITK's reader has it. */
void
ReadPlace(const std::string & file, VolumePlace & place)
{
  const std::string name = GetField(ReadPixelHeader(file)->fields, "DistanceUnits");
  const double      unit = name == "?" ? 1 : GetUnitOfLength(name, "DistanceUnits", place);
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    place.grid.spacing[axis] *= unit;
    place.grid.origin[axis] *= unit;
  }
}

bool
IsOf(const std::string & file)
{
  const auto header = ReadPixelHeader(file);
  return header && header->isMetaImage;
}

/** MetaIO complains of parts of compressed pixels though they are sound, and of pixels that are text it gives others.
 */
bool
HasParts(const std::string & file)
{
  const auto header = ReadPixelHeader(file);
  return !IsCompressed(*header) && !IsText(*header);
}

} // namespace

const VolumeFormat &
GetMetaImageFormat()
{
  static const VolumeFormat format = [] {
    VolumeFormat entry{ "MetaImage", { ".mha", ".mhd" }, { ".mha" }, { ".mhd" }, { ".raw", ".raw.gz", ".zraw" } };
    entry.hasPictures = true;
    entry.isFilledUp = true;
    entry.isOf = IsOf;
    entry.checkHeader = CheckHeader;
    entry.checkPixels = CheckPixels;
    entry.readPlace = ReadPlace;
    entry.listFiles = ListPixelFiles;
    entry.hasParts = HasParts;
    return entry;
  }();
  return format;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWholeFile.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelJPEGFile.h"
#include "volumes/gigapixelPixelHeader.h"
#include "volumes/gigapixelVolumeFormat.h"

#include <array>
#include <fstream>
#include <vector>

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
  if (const VolumeFormat * const format = FindVolumeFormat(file))
  {
    format->checkHeader(file);
  }
}

void
RequireWholeFile(const std::string & file)
{
  RequireWholeHeader(file);
  const VolumeFormat * const format = FindVolumeFormat(file);
  if (format != nullptr && format->isFilledUp)
  {
    format->checkPixels(file);
  }
}

void
RequireWholeCompression(const std::string & file)
{
  if (const VolumeFormat * const format = FindVolumeFormat(file))
  {
    format->checkPixels(file);
  }
}

std::string
DescribeFailedReading(const std::string & reason)
{
  for (const VolumeFormat * const format : GetVolumeFormats())
  {
    std::string words = format->explain != nullptr ? format->explain(reason) : std::string();
    if (!words.empty())
    {
      return words;
    }
  }
  return reason.rfind("Error while reading file", 0) == 0 // of a PNG
           ? "its pixels cannot be decoded, since it is cut short or damaged; get it again from where it came"
           : reason;
}

bool
IsReadInParts(const std::string & file)
{
  const VolumeFormat * const format = FindVolumeFormat(file);
  return format == nullptr || format->hasParts == nullptr || format->hasParts(file);
}

} // namespace gigapixel

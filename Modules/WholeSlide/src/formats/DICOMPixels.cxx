/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DICOMPixels.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include <openjpeg.h>

namespace gigapixel
{
namespace
{

constexpr const char * decompress = "decompress it, for instance with gdcmconv --raw";
constexpr const char * convertToTIFF = "convert the series to a tiled TIFF";

/** OpenJPEG decodes high-throughput streams from version 2.5 on. */
bool
HasHTJ2K()
{
  char *     behind = nullptr;
  const long major = std::strtol(opj_version(), &behind, 10);
  const long minor = *behind == '.' ? std::strtol(behind + 1, nullptr, 10) : 0;
  return major > 2 || (major == 2 && minor >= 5);
}

unsigned char
ToByte(double value)
{
  return static_cast<unsigned char>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

/** PS3.3 C.7.6.3.1.2, YBR_FULL. */
void
ConvertYCbCr(unsigned char * color)
{
  const double luma = color[0];
  const double blue = color[1] - 128.0;
  const double red = color[2] - 128.0;
  color[0] = ToByte(luma + 1.402 * red);
  color[1] = ToByte(luma - 0.344136 * blue - 0.714136 * red);
  color[2] = ToByte(luma + 1.772 * blue);
}

/** Min-is-white to min-is-black. */
void
Invert(const PixelSpan & out, std::uint64_t storedBits)
{
  const auto most = static_cast<std::uint16_t>((std::uint32_t{ 1 } << storedBits) - 1);
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    unsigned char * const row = out.data + y * out.stride;
    for (std::size_t i = 0; i < std::size_t{ out.width } * out.channels; ++i)
    {
      if (out.sampleBytes == 1)
      {
        row[i] = static_cast<unsigned char>(most - row[i]);
        continue;
      }
      std::uint16_t value = 0;
      std::memcpy(&value, row + 2 * i, 2);
      value = static_cast<std::uint16_t>(most - value);
      std::memcpy(row + 2 * i, &value, 2);
    }
  }
}

} // namespace

DICOMPixels::DICOMPixels(const DICOMFile & file)
  : columns(file.GetInteger(DICOMTag::Columns, 0))
  , rows(file.GetInteger(DICOMTag::Rows, 0))
  , samples(file.GetInteger(DICOMTag::Samples, 1))
  , bits(file.GetInteger(DICOMTag::BitsAllocated, 8))
  , storedBits(file.GetInteger(DICOMTag::BitsStored, bits))
  , isSigned(file.GetInteger(DICOMTag::PixelRepresentation, 0) != 0)
  , isPlanar(file.GetInteger(DICOMTag::PlanarConfiguration, 0) != 0)
  , photometric(file.GetText(DICOMTag::Photometric))
  , syntax(file.GetText(DICOMTag::TransferSyntax))
{
  static const std::map<std::string, Codec> codecs{
    { "1.2.840.10008.1.2", Codec::None },          { "1.2.840.10008.1.2.1", Codec::None },
    { "1.2.840.10008.1.2.4.50", Codec::JPEG },     { "1.2.840.10008.1.2.4.51", Codec::JPEG },
    { "1.2.840.10008.1.2.4.90", Codec::JPEG2000 }, { "1.2.840.10008.1.2.4.91", Codec::JPEG2000 },
    { "1.2.840.10008.1.2.4.201", Codec::HTJ2K },   { "1.2.840.10008.1.2.4.202", Codec::HTJ2K },
    { "1.2.840.10008.1.2.4.203", Codec::HTJ2K },
  };
  const auto found = codecs.find(syntax);
  isKnownSyntax = found != codecs.end();
  codec = isKnownSyntax ? found->second : Codec::None;
}

Diagnostic
DICOMPixels::FindObstacle() const
{
  static const std::set<std::string> models{ "",         "MONOCHROME1",  "MONOCHROME2", "RGB",
                                             "YBR_FULL", "YBR_FULL_422", "YBR_ICT",     "YBR_RCT" };
  if (!isKnownSyntax)
  {
    return { "E-DICOM-FORMAT", "its transfer syntax, " + NameTransferSyntax(syntax) + ", is not decoded", decompress };
  }
  if (codec == Codec::HTJ2K && !HasHTJ2K())
  {
    return { "E-DICOM-FORMAT",
             "its transfer syntax, " + NameTransferSyntax(syntax) + ", is not decoded by OpenJPEG " + opj_version(),
             "install OpenJPEG 2.5 or later" };
  }
  if (samples != 1 && samples != 3)
  {
    return { "E-SLIDE-CHANNELS",
             "it has " + FormatCount(samples, "sample") + " a pixel, where 1 and 3 are read",
             convertToTIFF };
  }
  if (bits != 8 && bits != 16)
  {
    return { "E-SLIDE-CHANNELS",
             "its samples have " + std::to_string(bits) + " bit, where 8 bit, and 16 bit of gray, are read",
             "convert it to 8 bit" };
  }
  if (bits == 16 && (samples == 3 || isSigned))
  {
    return { "E-SLIDE-CHANNELS",
             std::string("its pixels are ") + (samples == 3 ? "colors" : "signed numbers") +
               " of 16 bit, which are not read",
             "convert it to 8 bit" };
  }
  if (bits == 16 && codec == Codec::JPEG)
  {
    return { "E-SLIDE-CHANNELS",
             "its pixels are gray of 16 bit in " + NameTransferSyntax(syntax) +
               ", where 16 bit are read uncompressed and in JPEG 2000",
             decompress };
  }
  if (storedBits == 0 || storedBits > bits)
  {
    return { "E-FILE-DAMAGED", "it states " + std::to_string(storedBits) + " stored bits in " + std::to_string(bits) };
  }
  if (photometric == "PALETTE COLOR")
  {
    return { "E-DICOM-FORMAT",
             "its pixels are indices of a palette (PALETTE COLOR), which are not read",
             "convert it to RGB" };
  }
  if (models.count(photometric) == 0 ||
      (codec == Codec::None && photometric.rfind("YBR_FULL", 0) != 0 && photometric.rfind("YBR", 0) == 0))
  {
    return { "E-DICOM-FORMAT",
             "its photometric interpretation, " + photometric + ", is not read",
             "convert it to RGB" };
  }
  return {};
}

bool
DICOMPixels::IsLike(const DICOMPixels & other) const
{
  return columns == other.columns && rows == other.rows && samples == other.samples && bits == other.bits &&
         storedBits == other.storedBits && isPlanar == other.isPlanar && photometric == other.photometric &&
         syntax == other.syntax;
}

std::string
DICOMPixels::GetCodecName() const
{
  return codec == Codec::JPEG       ? "JPEG"
         : codec == Codec::JPEG2000 ? "JPEG 2000"
         : codec == Codec::HTJ2K    ? "HTJ2K"
                                    : "uncompressed";
}

ColorModel
DICOMPixels::GetColorModel() const
{
  if (samples == 1)
  {
    return ColorModel::Gray;
  }
  // JPEG 2000 undoes its own color transforms (YBR_RCT, YBR_ICT). There are JPEG streams of other colors than the
  // header says.
  const bool isYCbCr = photometric == "YBR_FULL" || photometric == "YBR_FULL_422";
  if (codec == Codec::JPEG)
  {
    return isYCbCr ? ColorModel::Marked : ColorModel::MarkedRGB;
  }
  return isYCbCr ? ColorModel::YCbCr : ColorModel::RGB;
}

unsigned
DICOMPixels::GetLargestReduction(ByteSpan frame) const
{
  if (bits != 8 || codec == Codec::None)
  {
    return 1;
  }
  return codec == Codec::JPEG ? 8 : GetLargestJPEG2000Reduction(frame);
}

std::string
DICOMPixels::Decode(ByteSpan frame, unsigned reduction, const PixelSpan & out) const
{
  // Frames are whole, also where they reach beyond the image.
  const StoredSize stored{ static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(rows), reduction };
  std::string      damage;
  if (codec == Codec::JPEG)
  {
    damage = DecodeJPEG(frame, { nullptr, 0 }, GetColorModel(), out, stored);
  }
  else if (codec == Codec::None)
  {
    CopyPixels(frame, out);
  }
  else
  {
    DecodeJPEG2000(frame, GetColorModel(), out, stored);
  }
  if (photometric == "MONOCHROME1")
  {
    Invert(out, storedBits);
  }
  return damage;
}

void
DICOMPixels::ReadColor(ByteSpan frame, std::size_t x, std::size_t y, unsigned char * color) const
{
  const std::size_t pixel = y * columns + x;
  if (photometric == "YBR_FULL_422") // two lumas, then the colors of both pixels
  {
    const unsigned char * const pair = frame.data + pixel / 2 * 4;
    color[0] = pair[pixel % 2];
    color[1] = pair[2];
    color[2] = pair[3];
    return;
  }
  for (std::size_t i = 0; i < 3; ++i)
  {
    color[i] = frame.data[isPlanar ? i * columns * rows + pixel : 3 * pixel + i];
  }
}

void
DICOMPixels::CopyPixels(ByteSpan frame, const PixelSpan & out) const
{
  const std::size_t pixels = std::size_t{ columns } * rows;
  const bool        isYCbCr = photometric.rfind("YBR_FULL", 0) == 0;
  const std::size_t size = photometric == "YBR_FULL_422" ? (pixels + 1) / 2 * 4 : pixels * samples * bits / 8;
  if (frame.size < size || out.width > columns || out.height > rows)
  {
    throw Refusal(Diagnostic("E-FILE-DAMAGED", "it holds fewer pixels than its size"));
  }
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    unsigned char * to = out.data + y * out.stride;
    if (samples == out.channels && !isYCbCr && (samples == 1 || !isPlanar))
    {
      const std::size_t pixelBytes = std::size_t{ out.channels } * out.sampleBytes;
      const std::size_t rowBytes = out.width * pixelBytes;
      std::memcpy(to, frame.data + y * columns * pixelBytes, rowBytes);
      if (out.sampleBytes > 1 && IsBigEndianMachine())
      {
        SwapBytes(to, rowBytes, out.sampleBytes);
      }
      continue;
    }
    for (std::uint32_t x = 0; x < out.width; ++x, to += out.channels)
    {
      if (samples == 1)
      {
        std::fill_n(to, 3, frame.data[y * columns + x]);
        continue;
      }
      unsigned char color[3];
      ReadColor(frame, x, y, color);
      if (out.channels == 1)
      {
        to[0] = isYCbCr ? color[0] : LumaFromRGB(color[0], color[1], color[2]);
        continue;
      }
      if (isYCbCr)
      {
        ConvertYCbCr(color);
      }
      std::copy(color, color + 3, to);
    }
  }
}

} // namespace gigapixel

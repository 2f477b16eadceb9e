/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TIFFPixels.h"

namespace gigapixel
{
namespace
{

bool
HasColorChannels(const TIFFPage & page)
{
  const auto photometric = static_cast<TIFFPhotometric>(page.photometric);
  if (page.samples == 1)
  {
    return photometric == TIFFPhotometric::MinIsBlack || photometric == TIFFPhotometric::MinIsWhite ||
           photometric == TIFFPhotometric::Palette;
  }
  const bool coded = page.compression == static_cast<unsigned>(TIFFCompression::AperioJPEG2000YCbCr) ||
                     page.compression == static_cast<unsigned>(TIFFCompression::JPEG) ||
                     page.compression == static_cast<unsigned>(TIFFCompression::JPEG2000);
  return photometric == TIFFPhotometric::RGB ||
         (photometric == TIFFPhotometric::YCbCr && coded && !page.separatePlanes);
}

} // namespace

std::string
GetCompressionName(const TIFFPage & page)
{
  switch (static_cast<TIFFCompression>(page.compression))
  {
    case TIFFCompression::None:
      return "uncompressed";
    case TIFFCompression::LZW:
      return "LZW";
    case TIFFCompression::JPEG:
      return "JPEG";
    case TIFFCompression::AdobeDeflate:
    case TIFFCompression::Deflate:
      return "deflate";
    case TIFFCompression::PackBits:
      return "PackBits";
    case TIFFCompression::AperioJPEG2000YCbCr:
    case TIFFCompression::AperioJPEG2000RGB:
    case TIFFCompression::JPEG2000:
      return "JPEG 2000";
    case TIFFCompression::Zstandard:
      return "zstd";
    case TIFFCompression::WebP:
      return "WebP";
  }
  return {};
}

bool
IsImageCodec(const TIFFPage & page)
{
  const std::string name = GetCompressionName(page);
  return name == "JPEG" || name == "JPEG 2000" || name == "WebP";
}

TIFFAlpha
GetAlpha(const TIFFPage & page)
{
  if (page.samples != 4 || page.bits != 8 || page.photometric != static_cast<unsigned>(TIFFPhotometric::RGB))
  {
    return TIFFAlpha::None;
  }
  switch (page.GetInteger(TIFFTag::ExtraSamples, 0))
  {
    case 1:
      return TIFFAlpha::Premultiplied;
    case 2:
      return TIFFAlpha::Straight;
    default:
      return page.compression == static_cast<unsigned>(TIFFCompression::WebP) ? TIFFAlpha::Straight : TIFFAlpha::None;
  }
}

bool
IsStoredOnly(const TIFFPage & page)
{
  if (page.bits != 8 || page.samples == 1)
  {
    return page.bits > 8;
  }
  const auto photometric = static_cast<TIFFPhotometric>(page.photometric);
  const bool isGray = photometric == TIFFPhotometric::MinIsWhite || photometric == TIFFPhotometric::MinIsBlack ||
                      photometric == TIFFPhotometric::Palette;
  const bool isUnstated = photometric == TIFFPhotometric::RGB && page.samples == 4 && GetAlpha(page) == TIFFAlpha::None;
  return isGray || isUnstated || (page.samples != 3 && page.samples != 4);
}

TIFFObstacle
FindObstacle(const TIFFPage & page)
{
  const auto photometric = static_cast<TIFFPhotometric>(page.photometric);
  const bool isNumber = page.uniformBits && (page.bits == 32 ? page.sampleFormat == 3 && page.predictor == 1
                                                             : (page.bits == 8 || page.bits == 16) &&
                                                                 page.sampleFormat != 2 && page.sampleFormat != 3);
  if (IsStoredOnly(page) && isNumber && page.samples > 0 && page.samples <= 64 && !IsImageCodec(page) &&
      !GetCompressionName(page).empty() && page.predictor <= 2 && page.fillOrder == 1 &&
      (photometric == TIFFPhotometric::MinIsBlack || photometric == TIFFPhotometric::RGB))
  {
    return {};
  }
  const std::string useITK = "read it with itk::TIFFImageIO, or convert it to 8-bit gray or RGB";
  const bool        isBilevel = page.bits == 1 && page.samples == 1 && !IsImageCodec(page);
  if ((page.bits != 8 && !isBilevel) || !page.uniformBits)
  {
    return { "its samples are of " + std::to_string(page.bits) + " bit, where slides have 8", useITK };
  }
  if (page.sampleFormat == 2 || page.sampleFormat == 3)
  {
    return { "its samples are signed, where slides have unsigned ones", useITK };
  }
  if (page.samples != 1 && page.samples != 3 && page.samples != 4)
  {
    return { "it has " + std::to_string(page.samples) + " samples per pixel, where slides have 1, 3 or 4", useITK };
  }
  const std::string name = GetCompressionName(page);
  if (IsStoredOnly(page)) // OpenSlide, by libtiff, would make colors of them, or leave all but the first out
  {
    return { "no tag says that its " + std::to_string(page.samples) + " samples per pixel are colors, and as " +
               (name.empty() ? "compression " + std::to_string(page.compression) : name) + " they are not read",
             "convert it to RGB, or to channels in deflate" };
  }
  if (name.empty())
  {
    return { "its compression (" + std::to_string(page.compression) + ") is not supported",
             "convert it to JPEG or deflate tiles",
             true };
  }
  const bool coded = IsImageCodec(page);
  if (!HasColorChannels(page))
  {
    return { "its colors (photometric interpretation " + std::to_string(page.photometric) + ", " + name +
               ") are not supported",
             "convert it to RGB",
             true };
  }
  if (page.samples == 4 && name != "WebP" && coded)
  {
    return { "it has 4 samples per pixel in " + name, "convert it to RGB" };
  }
  if (!coded && (page.predictor > 2 || page.fillOrder != 1))
  {
    return { "its predictor or bit order is not supported", "convert it with tiffcp", true };
  }
  return {};
}

} // namespace gigapixel

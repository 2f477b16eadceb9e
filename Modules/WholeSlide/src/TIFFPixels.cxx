/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TIFFPixels.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

namespace
{

/** Numbers of TIFF's SampleFormat; beyond these nothing is said. */
constexpr unsigned signedFormat = 2;
constexpr unsigned floatFormat = 3;

/** TIFF's numbers for what samples mean that are not read here, beside those of TIFFPhotometric. */
constexpr unsigned maskPhotometric = 4;
constexpr unsigned cmykPhotometric = 5;
constexpr unsigned cieLabPhotometric = 8;
constexpr unsigned logLPhotometric = 32844;
constexpr unsigned logLuvPhotometric = 32845;

/** "CIELab (photometric interpretation 8)". */
std::string
DescribePhotometric(const TIFFPage & page)
{
  const std::pair<unsigned, const char *> names[] = { { 0, "min-is-white gray" },
                                                      { 1, "gray" },
                                                      { 2, "RGB" },
                                                      { 3, "a palette" },
                                                      { maskPhotometric, "a transparency mask" },
                                                      { cmykPhotometric, "CMYK" },
                                                      { 6, "YCbCr" },
                                                      { cieLabPhotometric, "CIELab" },
                                                      { 9, "ICCLab" },
                                                      { 10, "ITULab" },
                                                      { 32803, "a color filter array" },
                                                      { logLPhotometric, "LogL" },
                                                      { logLuvPhotometric, "LogLuv" } };
  const auto                              found = std::find_if(
    std::begin(names), std::end(names), [&page](const auto & name) { return name.first == page.photometric; });
  const std::string number = "photometric interpretation " + std::to_string(page.photometric);
  return found == std::end(names) ? number : found->second + (" (" + number + ")");
}

TIFFObstacle
FindObstacleOfNumbers(const TIFFPage & page)
{
  const std::string useITK = "read it with itk::TIFFImageIO, or convert it to 8-bit gray or RGB";
  const std::string bits = std::to_string(page.bits) + " bit";
  if (!page.uniformBits)
  {
    return { "its samples are of different numbers of bits", useITK };
  }
  if (page.sampleFormat == floatFormat && page.bits != 32)
  {
    return { "its samples are floats of " + bits + ", where floats are read of 32 bit", useITK };
  }
  if (page.sampleFormat == signedFormat)
  {
    return { "its samples are signed integers of " + bits + ", where integers are read without sign", useITK };
  }
  const bool isBilevel = page.bits == 1 && page.samples == 1 && !IsImageCodec(page);
  if (page.sampleFormat != floatFormat && page.bits != 8 && page.bits != 16 && !isBilevel)
  {
    return { "its samples are integers of " + bits + ", where integers are read of 8 and 16 bit", useITK };
  }
  if (page.samples == 0 || page.samples > 64)
  {
    return { "it has " + std::to_string(page.samples) + " samples per pixel, where 1 to 64 are read", useITK };
  }
  return {};
}

/** Of pages whose samples come as they are stored. OpenSlide, by libtiff, would make colors of them, or leave all but
 * the first out. */
TIFFObstacle
FindObstacleOfChannels(const TIFFPage & page)
{
  const auto        photometric = static_cast<TIFFPhotometric>(page.photometric);
  const std::string samples = std::to_string(page.samples) + (page.samples == 1 ? " sample" : " samples") + " of " +
                              std::to_string(page.bits) + " bit";
  if (photometric != TIFFPhotometric::MinIsBlack && photometric != TIFFPhotometric::RGB)
  {
    return { "its pixels are " + DescribePhotometric(page) + " in " + samples + ", as which only gray and RGB are read",
             "convert it to gray (min-is-black) or RGB" };
  }
  const std::string name = GetCompressionName(page);
  const std::string codec = name.empty() ? "compression " + std::to_string(page.compression) : name;
  if (page.bits == 8 && (name.empty() || IsImageCodec(page)))
  {
    return { "no tag says that its " + std::to_string(page.samples) + " samples per pixel are colors, and as " + codec +
               " they are not read",
             "convert it to RGB, or to channels in deflate" };
  }
  if (name.empty() || IsImageCodec(page))
  {
    return { "its pixels of " + samples + " are in " + codec + ", as which only those of 8 bit are read",
             "convert it to deflate tiles" };
  }
  if (page.predictor > (page.bits == 32 ? 1u : 2u) || page.fillOrder != 1)
  {
    return { "its predictor or bit order is not supported", "convert it with tiffcp" };
  }
  return {};
}

TIFFObstacle
FindObstacleOfPicture(const TIFFPage & page)
{
  const std::string name = GetCompressionName(page);
  if (name.empty())
  {
    return { "its compression (" + std::to_string(page.compression) + ") is not supported",
             "convert it to JPEG or deflate tiles",
             true };
  }
  const bool coded = IsImageCodec(page);
  if (!HasColorChannels(page))
  {
    constexpr unsigned libtiffs[] = { cmykPhotometric,
                                      static_cast<unsigned>(TIFFPhotometric::YCbCr),
                                      cieLabPhotometric,
                                      logLPhotometric,
                                      logLuvPhotometric };
    const bool isLibtiffs = std::find(std::begin(libtiffs), std::end(libtiffs), page.photometric) != std::end(libtiffs);
    return { "its colors, " + DescribePhotometric(page) + ", are not supported (" + name + ")",
             "convert it to RGB",
             isLibtiffs };
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

} // namespace

TIFFObstacle
FindObstacle(const TIFFPage & page)
{
  if (page.photometric == maskPhotometric)
  {
    return { "it is a transparency mask (photometric interpretation 4) of a picture, and no picture",
             "name the file of the picture, or convert it to 8-bit gray" };
  }
  TIFFObstacle obstacle = FindObstacleOfNumbers(page);
  if (!obstacle.what.empty())
  {
    return obstacle;
  }
  return IsStoredOnly(page) ? FindObstacleOfChannels(page) : FindObstacleOfPicture(page);
}

} // namespace gigapixel

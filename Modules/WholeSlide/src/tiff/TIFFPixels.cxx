/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TIFFPixels.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cstring>
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

std::string
DescribeCompression(const TIFFPage & page)
{
  // Libtiff's and tifffile's lists.
  static const std::pair<unsigned, const char *> names[] = { { 2, "CCITT modified Huffman" },
                                                             { 3, "CCITT Group 3 fax" },
                                                             { 4, "CCITT Group 4 fax" },
                                                             { 6, "old-style JPEG" },
                                                             { 9, "JBIG black and white" },
                                                             { 10, "JBIG color" },
                                                             { 99, "JPEG" },
                                                             { 262, "Kodak 262" },
                                                             { 32766, "NeXT" },
                                                             { 32767, "Sony ARW" },
                                                             { 32769, "packed raw" },
                                                             { 32770, "Samsung SRW" },
                                                             { 32771, "CCITT modified Huffman, word-aligned" },
                                                             { 32772, "Samsung SRW 2" },
                                                             { 32809, "ThunderScan" },
                                                             { 32867, "Kodak KDC" },
                                                             { 32895, "IT8 CT padding" },
                                                             { 32896, "IT8 line work" },
                                                             { 32897, "IT8 monochrome picture" },
                                                             { 32898, "IT8 binary line art" },
                                                             { 32908, "Pixar film" },
                                                             { 32909, "Pixar log" },
                                                             { 32947, "Kodak DCS" },
                                                             { 33004, "JPEG 2000 (Aperio)" },
                                                             { 33007, "JPEG (Alternative)" },
                                                             { 34661, "ISO JBIG" },
                                                             { 34676, "SGI LogL" },
                                                             { 34677, "SGI LogLuv 24" },
                                                             { 34692, "LURADOC" },
                                                             { 34713, "Nikon NEF" },
                                                             { 34715, "JBIG2" },
                                                             { 34718, "Microsoft binary" },
                                                             { 34719, "Microsoft progressive JPEG" },
                                                             { 34720, "Microsoft vector" },
                                                             { 34887, "LERC" },
                                                             { 34892, "lossy JPEG of DNG" },
                                                             { 34925, "LZMA" },
                                                             { 34926, "zstd (former number)" },
                                                             { 34927, "WebP (former number)" },
                                                             { 34933, "PNG" },
                                                             { 22610, "JPEG XR (HD Photo)" },
                                                             { 34934, "JPEG XR (HD Photo)" },
                                                             { 50002, "JPEG XL" },
                                                             { 50013, "pixtiff" },
                                                             { 52546, "JPEG XL (DNG)" },
                                                             { 65000, "Kodak DCR" },
                                                             { 65535, "Pentax PEF" } };
  const std::string                              own = GetCompressionName(page);
  const auto                                     found = std::find_if(
    std::begin(names), std::end(names), [&page](const auto & name) { return name.first == page.compression; });
  return !own.empty()               ? own
         : found == std::end(names) ? "compression " + std::to_string(page.compression)
                                    : std::string(found->second);
}

bool
IsTransparencyMask(const TIFFPage & page)
{
  constexpr unsigned maskPhotometric = 4;
  constexpr unsigned maskType = 4; // of NewSubfileType, by which GDAL goes alone
  return (page.photometric == maskPhotometric || (page.subfileType & maskType) != 0) && page.samples == 1 &&
         (page.bits == 1 || page.bits == 8) && !GetCompressionName(page).empty() && !IsImageCodec(page) &&
         page.predictor < 3 && page.fillOrder == 1;
}

bool
IsImageCodec(const TIFFPage & page)
{
  const std::string name = GetCompressionName(page);
  return name == "JPEG" || name == "JPEG 2000" || name == "WebP";
}

std::size_t
DecodeBytes(TIFFCompression compression, ByteSpan stream, unsigned char * out, std::size_t size, std::size_t * used)
{
  switch (compression)
  {
    case TIFFCompression::LZW:
      return DecodeLZW(stream, out, size, used);
    case TIFFCompression::AdobeDeflate:
    case TIFFCompression::Deflate:
      return DecodeDeflate(stream, out, size, used);
    case TIFFCompression::PackBits:
      return DecodePackBits(stream, out, size, used);
    case TIFFCompression::Zstandard:
      return DecodeZstandard(stream, out, size, used);
    default: {
      const std::size_t count = std::min(size, stream.size);
      std::memcpy(out, stream.data, count);
      if (used != nullptr)
      {
        *used = count;
      }
      return count;
    }
  }
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
  return isGray || (page.samples != 3 && page.samples != 4);
}

namespace
{

/** Numbers of TIFF's SampleFormat; beyond these nothing is said. */
constexpr unsigned signedFormat = 2;
constexpr unsigned floatFormat = 3;
constexpr unsigned complexIntegerFormat = 5;
constexpr unsigned complexFormat = 6;

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

/** "complex numbers of 64 bit", "floats of 16 bit"; numbers of TIFF's SampleFormat beyond 6 say nothing. */
std::string
DescribeNumbers(const TIFFPage & page)
{
  const std::string kind = page.sampleFormat == signedFormat  ? "signed integers"
                           : page.sampleFormat == floatFormat ? "floats"
                           : page.sampleFormat == complexIntegerFormat || page.sampleFormat == complexFormat
                             ? "complex numbers"
                           : page.sampleFormat > complexFormat
                             ? "numbers of an unknown kind (sample format " + std::to_string(page.sampleFormat) + ")"
                             : "integers";
  return kind + " of " + std::to_string(page.bits) + " bit";
}

const char * const convertNumbers = "convert it to integers of 8 or 16 bit without sign, or to floats of 32 bit";

bool
IsYCbCrJPEG2000(const TIFFPage & page)
{
  return page.compression == static_cast<unsigned>(TIFFCompression::AperioJPEG2000YCbCr);
}

/** What is read of an image codec, where it is not these pixels. */
std::string
DescribeReadBits(const TIFFPage & page)
{
  return GetCompressionName(page) != "JPEG 2000" ? ", where only 8 bit are read"
         : IsYCbCrJPEG2000(page)                 ? " of YCbCr (33003), where only 8 bit are read"
                                                 : ", where 8 bit are read, and 16 bit without sign";
}

/** Whether components of JPEG 2000 are samples of 16 bit as they are stored. */
bool
IsDeepJPEG2000(const TIFFPage & page)
{
  const bool isJPEG2000 = GetCompressionName(page) == "JPEG 2000" && (!IsYCbCrJPEG2000(page) || page.samples == 1);
  const bool areComponents = page.samples == 1 || page.samples == 3 || page.separatePlanes;
  return isJPEG2000 && areComponents && page.bits == 16 && page.sampleFormat != signedFormat &&
         page.sampleFormat != floatFormat;
}

TIFFObstacle
FindObstacleOfNumbers(const TIFFPage & page)
{
  const std::string numbers = "its samples are " + DescribeNumbers(page);
  if (!page.uniformBits)
  {
    return { "its samples are of different numbers of bits", convertNumbers };
  }
  if (page.sampleFormat >= complexIntegerFormat)
  {
    return { numbers + ", where integers and floats are read", convertNumbers };
  }
  if (page.sampleFormat == floatFormat && page.bits != 16 && page.bits != 32)
  {
    return { numbers + ", where floats are read of 16 and 32 bit", convertNumbers };
  }
  if (page.sampleFormat == signedFormat)
  {
    return { numbers + ", where integers are read without sign", convertNumbers };
  }
  const bool isBilevel = page.bits == 1 && page.samples == 1 && !IsImageCodec(page);
  const bool areObjects = page.bits == 32 && page.samples == 1; // numbers of objects need them
  if (page.sampleFormat != floatFormat && page.bits != 8 && page.bits != 16 && !isBilevel && !areObjects)
  {
    return { numbers + ", where integers are read of 8 and 16 bit, and labels also of 32", convertNumbers };
  }
  if (page.samples == 0 || page.samples > 64)
  {
    return { "it has " + FormatCount(page.samples, "sample") + " per pixel, where 1 to 64 are read", convertNumbers };
  }
  return {};
}

/** Finds what hinders reading the samples of byte codecs. */
TIFFObstacle
FindObstacleOfBytes(const TIFFPage & page)
{
  const unsigned mostPredictor = page.sampleFormat == floatFormat ? 3 : 2;
  if (page.predictor > mostPredictor || (page.predictor == 2 && page.bits < 8) ||
      (page.predictor == 2 && page.sampleFormat == floatFormat))
  {
    const std::string name = page.predictor == 2   ? "the horizontal predictor (2)"
                             : page.predictor == 3 ? "the floating-point predictor (3)"
                                                   : "predictor " + std::to_string(page.predictor);
    return { name + " is not supported for its samples of " + std::to_string(page.bits) + " bit",
             "convert it with tiffcp -c zip:1",
             true };
  }
  if (page.fillOrder != 1)
  {
    return { "its bits are stored from the lowest to the highest (fill order " + std::to_string(page.fillOrder) +
               "), which is not supported",
             "convert it with tiffcp -f msb2lsb",
             true };
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
  const bool isTurned = photometric == TIFFPhotometric::MinIsWhite && page.sampleFormat != floatFormat;
  if (photometric != TIFFPhotometric::MinIsBlack && photometric != TIFFPhotometric::RGB && !isTurned)
  {
    return { "its pixels are " + DescribePhotometric(page) + " in " + samples + ", where only gray and RGB are read",
             "convert it to gray (min-is-black) or RGB" };
  }
  const std::string name = GetCompressionName(page);
  const std::string codec = DescribeCompression(page);
  if (page.bits == 8 && (name.empty() || IsImageCodec(page)))
  {
    return { "no tag says that its " + FormatCount(page.samples, "sample") + " per pixel are colors, and as " + codec +
               " they are not read",
             "convert it to RGB, or to channels in deflate" };
  }
  if (IsDeepJPEG2000(page))
  {
    return {};
  }
  if (name.empty() || IsImageCodec(page))
  {
    return { "its pixels of " + samples + " are compressed as " + codec + DescribeReadBits(page),
             "convert it to deflate tiles" };
  }
  TIFFObstacle obstacle = FindObstacleOfBytes(page);
  obstacle.isOpenSlides = false;
  return obstacle;
}

TIFFObstacle
FindObstacleOfPicture(const TIFFPage & page)
{
  const std::string name = GetCompressionName(page);
  if (name.empty())
  {
    return { "its compression, " + DescribeCompression(page) + ", is not supported",
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
  return coded ? TIFFObstacle() : FindObstacleOfBytes(page);
}

/** Finds what hinders reading a page as labels: numbers of any type in one sample. */
TIFFObstacle
FindObstacleOfLabels(const TIFFPage & page)
{
  const std::string bits = std::to_string(page.bits) + " bit";
  const bool        isFloat = page.sampleFormat == floatFormat;
  const bool        isSmall = !isFloat && page.sampleFormat != signedFormat && page.bits < 8;
  const bool        isKnown = page.bits == 8 || page.bits == 16 || page.bits == 32 || page.bits == 64;
  if (page.samples != 1)
  {
    return { "it has " + FormatCount(page.samples, "sample") + " per pixel, where a mask has one",
             "give a mask of one channel whose values are the classes",
             false,
             "E-MASK-FORMAT" };
  }
  if (page.sampleFormat > 4 || !page.uniformBits || (isFloat && (!isKnown || page.bits == 8)) ||
      (isSmall ? page.bits != 1 && page.bits != 2 && page.bits != 4 : !isKnown))
  {
    return { "its samples are " + DescribeNumbers(page) + ", which are not read as labels",
             "convert it to unsigned integers of 8 bit",
             false,
             "E-MASK-FORMAT" };
  }
  const std::string name = GetCompressionName(page);
  if (name.empty())
  {
    return { "its compression, " + DescribeCompression(page) + ", is not supported", "convert it to deflate tiles" };
  }
  if (IsImageCodec(page) && !IsDeepJPEG2000(page) && (page.bits != 8 || page.sampleFormat == signedFormat))
  {
    return { "its pixels of " + bits + " are compressed as " + name + DescribeReadBits(page),
             "convert it to deflate tiles" };
  }
  if (page.photometric > maskPhotometric)
  {
    return { "its pixels are " + DescribePhotometric(page) + ", and no labels",
             "give a mask of one channel whose values are the classes",
             false,
             "E-MASK-FORMAT" };
  }
  TIFFObstacle obstacle = IsImageCodec(page) ? TIFFObstacle() : FindObstacleOfBytes(page);
  obstacle.isOpenSlides = false;
  return obstacle;
}

} // namespace

TIFFObstacle
FindObstacle(const TIFFPage & page, TIFFReading reading)
{
  if (reading == TIFFReading::Labels)
  {
    return FindObstacleOfLabels(page);
  }
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

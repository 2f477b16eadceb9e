/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TIFFPixels_h
#define TIFFPixels_h

#include "TIFFDirectory.h"
#include "codecs/TileDecoder.h"

#include <cstddef>
#include <string>

namespace gigapixel
{

/** TIFF's numbers for compression, as far as this library decodes them. */
enum class TIFFCompression : unsigned
{
  None = 1,
  LZW = 5,
  JPEG = 7,
  AdobeDeflate = 8,
  PackBits = 32773,
  Deflate = 32946,
  AperioJPEG2000YCbCr = 33003,
  AperioJPEG2000RGB = 33005,
  JPEG2000 = 34712,
  Zstandard = 50000,
  WebP = 50001
};

/** TIFF's numbers for what samples mean. */
enum class TIFFPhotometric : unsigned
{
  MinIsWhite = 0,
  MinIsBlack = 1,
  RGB = 2,
  Palette = 3,
  YCbCr = 6
};

/** Name of the page's compression, e.g. "JPEG"; empty where this library does not decode it. */
std::string GetCompressionName(const TIFFPage & page);

/** Name of any compression that TIFF's registries know, e.g. "JPEG XL", decoded here or not; "compression 12345" for
 * others. */
std::string DescribeCompression(const TIFFPage & page);

/** What pixels are read for. */
enum class TIFFReading
{
  Colors, ///< as a person sees them: palettes and min-is-white are resolved
  Labels  ///< one sample per pixel as it is stored: indices of a palette, and bits as 0 and 1
};

/** True where each tile is an image of its own (JPEG, JPEG 2000, WebP), false where it is compressed bytes. */
bool IsImageCodec(const TIFFPage & page);

/** Decodes a tile that is compressed bytes, or bytes that are not compressed, as the byte codecs of TileDecoder.h do.
 */
std::size_t DecodeBytes(TIFFCompression compression,
                        ByteSpan        stream,
                        unsigned char * out,
                        std::size_t     size,
                        std::size_t *   used = nullptr);

/** Why a page cannot be decoded here. */
struct TIFFObstacle
{
  std::string what;                 // empty: there is none
  std::string remedy;               // what to do
  bool        isOpenSlides = false; // OpenSlide, by libtiff, may decode it to the colors that it shows
  std::string code = "E-TIFF-CODEC";
};

TIFFObstacle FindObstacle(const TIFFPage & page, TIFFReading reading = TIFFReading::Colors);

/** Whether the page is the transparency mask of another: 0 where that page was not scanned. */
bool IsTransparencyMask(const TIFFPage & page);

/** What a fourth sample is to the first three. */
enum class TIFFAlpha
{
  None,
  Premultiplied,
  Straight
};

/** As the tag ExtraSamples states it of RGB of 8 bit; WebP's fourth sample is alpha without it. */
TIFFAlpha GetAlpha(const TIFFPage & page);

/** Whether the pixels of a page only come as they are stored: of 16 bit, of floats, or of samples that no tag makes
 * gray, RGB or RGBA. */
bool IsStoredOnly(const TIFFPage & page);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TileDecoder_h
#define TileDecoder_h

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel
{

/** How the stored samples mean colors, as far as decoders have to know. */
enum class ColorModel
{
  Gray,
  RGB,
  YCbCr,
  Marked,   // of JPEG: as the stream's Adobe marker says, YCbCr where it has none
  MarkedRGB // of JPEG: RGB unless the stream says YCbCr by a marker (JFIF, Adobe) or by reduced chroma
};

/** Compressed bytes as they stand in the file. */
struct ByteSpan
{
  const unsigned char * data;
  std::size_t           size;
};

/** Rectangle of pixels to fill: rows of channels-interleaved bytes, `stride` bytes from one row to the next. */
struct PixelSpan
{
  unsigned char * data;
  std::size_t     stride;
  std::uint32_t   width;
  std::uint32_t   height;
  unsigned        channels;
  unsigned        sampleBytes = 1;
};

/** Rec. 601 luma in 16-bit fixed point, rounded: what libjpeg calls gray. */
inline unsigned char
LumaFromRGB(unsigned r, unsigned g, unsigned b)
{
  return static_cast<unsigned char>((19595u * r + 38470u * g + 7471u * b + 32768u) >> 16);
}

/** What a stream has to hold: the part of the tile that is inside the picture. */
struct StoredSize
{
  std::uint32_t width; // at least
  std::uint32_t height;
  unsigned      reduction = 1; // decoded smaller by 2, 4 or 8: `out` is of the smaller size
};

/** \name Image codecs. Each fills `out` with 1 (gray) or 3 (RGB) channels, whatever is stored.
 * What of `out` the stored image does not cover keeps its bytes. All throw std::runtime_error, with what is wrong in a
 * few words; `out` is undefined then. @{
 */

/** One JPEG stream, after the tables of `tables` (may be empty). `model` says what three stored components are; TIFF's
 * word counts more than the stream's own markers. To gray: luma alone is decoded where the model is YCbCr. Without
 * Huffman tables, as many writers leave them out, the standard ones count (ITU-T T.81, annex K.3). Where the stream is
 * damaged in a way that readers get over (it ends early, a code is none), the pixels are those of libjpeg.
 * \return the first thing that libjpeg warned of, in its words; empty: nothing */
std::string DecodeJPEG(ByteSpan stream, ByteSpan tables, ColorModel model, const PixelSpan & out, StoredSize stored);

/** One JPEG 2000 codestream or JP2 file, 8 bit, one or three components; subsampled ones are replicated. Samples of two
 * bytes are components of 9 to 16 bit, one for each channel, as they are stored. */
void DecodeJPEG2000(ByteSpan stream, ColorModel model, const PixelSpan & out, StoredSize stored);

/** By how much every component of a JPEG 2000 stream can be decoded smaller: 1, 2, 4 or 8. */
unsigned GetLargestJPEG2000Reduction(ByteSpan stream);

/** Whether the wavelet of a JPEG 2000 stream is the one that can give back what was compressed. */
bool IsLosslessJPEG2000(ByteSpan stream);

/** One WebP image; 1, 3 or 4 (RGBA, straight alpha) channels. */
void DecodeWebP(ByteSpan stream, const PixelSpan & out, StoredSize stored);
/** @} */

/** \name Byte codecs. Each fills `out` with up to `size` bytes and returns how many there were. Bytes behind the end of
 * the stream are not looked at; `used` becomes the number of those before it. @{ */
std::size_t DecodeDeflate(ByteSpan stream, unsigned char * out, std::size_t size, std::size_t * used = nullptr);
std::size_t DecodeZstandard(ByteSpan stream, unsigned char * out, std::size_t size, std::size_t * used = nullptr);
/** TIFF 6.0, section 13: codes from the most significant bit, widths change one code early. */
std::size_t DecodeLZW(ByteSpan stream, unsigned char * out, std::size_t size, std::size_t * used = nullptr);
/** TIFF 6.0, section 9. */
std::size_t DecodePackBits(ByteSpan stream, unsigned char * out, std::size_t size, std::size_t * used = nullptr);
/** @} */

/** Undoes TIFF's horizontal differencing (predictor 2) of integers of 1, 2, 4 or 8 bytes, in this machine's byte order.
 */
void UndoHorizontalDifferencing(unsigned char * pixels,
                                std::uint32_t   width,
                                std::uint32_t   height,
                                unsigned        samples,
                                unsigned        sampleBytes);

/** Undoes TIFF's floating-point predictor (3; Adobe Photoshop TIFF Technical Note 3): the bytes of a row are
 * differenced, the highest bytes of all its samples first. They become samples in this machine's byte order. */
void UndoFloatDifferencing(unsigned char * pixels,
                           std::uint32_t   width,
                           std::uint32_t   height,
                           unsigned        samples,
                           unsigned        sampleBytes);

/** The value of an IEEE 754 float of 16 bit. */
float ToFloat(std::uint16_t half);

bool IsBigEndianMachine();

/** Turns the bytes of each sample around. */
void SwapBytes(unsigned char * samples, std::size_t size, unsigned sampleBytes);

} // namespace gigapixel

#endif

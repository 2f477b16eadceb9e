/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidFormat_h
#define PyramidFormat_h

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel
{

/** What the pixels of a pyramid are and how its tiles are compressed. */
struct PyramidFormat
{
  /** TIFF's numbers for compression. */
  enum class Compression : std::uint16_t
  {
    JPEG = 7,
    Deflate = 8,
    Zstandard = 50000,
    WebP = 50001
  };

  /** What a sample is; in rows that are handed over a Bit is a byte, 0 or 255. */
  enum class Sample
  {
    Bit,
    UInt8,
    UInt16,
    UInt32, // of labels alone
    Float
  };

  Sample                     sample{ Sample::UInt8 };
  unsigned                   channels{ 1 };   // interleaved on a page; 1 gray or labels, 3 RGB
  unsigned                   planes{ 1 };     // channels on pages of their own, with `channels` 1
  unsigned                   tileSize{ 256 }; // side in pixels
  bool                       labels{ true };  // else a picture
  Compression                compression{ Compression::Deflate };
  int                        compressionLevel{ 6 }; // the codec's level, or quality
  std::array<unsigned, 2>    subsampling{ 2, 2 };   // of JPEG's chroma, across and down
  bool                       isWhiteZero{ false };  // of one channel: 0 is shown white
  std::vector<std::uint16_t> colorMap;              // 256 reds, greens, blues of 16 bit; empty: no palette

  std::size_t
  GetSampleBytes() const
  {
    const bool isFour = sample == Sample::Float || sample == Sample::UInt32;
    return isFour ? 4 : sample == Sample::UInt16 ? 2 : 1;
  }

  std::size_t
  GetPixelBytes() const
  {
    return GetSampleBytes() * channels;
  }

  /** Pictures of integers are differenced horizontally before their bytes are compressed, which halves them; labels
   * would grow. */
  bool
  HasPredictor() const
  {
    return compression != Compression::JPEG && compression != Compression::WebP && !labels &&
           (sample == Sample::UInt8 || sample == Sample::UInt16);
  }
};

/** What is said of the whole pyramid. */
struct PyramidMetadata
{
  std::array<double, 2>     pixelsPerCentimeter{ 0, 0 }; // of level 0; 0 = unknown
  std::vector<std::uint8_t> colorProfile;                // ICC; empty: none
  bool                      isBig{ false };              // BigTIFF, whatever the size
  bool                      isOME{ false };              // the levels are children of level 0, as OME-TIFF has them
};

} // namespace gigapixel

#endif

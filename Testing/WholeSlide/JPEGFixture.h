/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef JPEGFixture_h
#define JPEGFixture_h

#include "TIFFFixture.h"

namespace gigapixel_test
{

/** What a stream says of its colors: JFIF or nothing leave YCbCr, Adobe's marker says RGB (transform 0) or YCbCr (1).
 */
enum class Marker
{
  JFIF,
  AdobeRGB,
  AdobeYCbCr
};

/** What JPEG streams differ in, one from the next, in the tiles of a file. */
struct JPEGOptions
{
  int      quality = 80;
  bool     ownHuffmanTables = false; // best for the picture; else the standard ones, which are left out
  bool     leaveOutQuantizationTables = false;
  bool     progressive = false;
  unsigned restartInterval = 0;
  int      subsampling = 1; // of colors, both ways
  Marker   marker = Marker::JFIF;
};

using JPEGStream = std::vector<unsigned char>;

/** One stream of a picture of one or three channels (as YCbCr, unless marked otherwise), by libjpeg. */
JPEGStream EncodeJPEG(const Picture & picture, const JPEGOptions & options);

/** How a stream of three components is to be understood: as its container says, or as its own markers do. */
enum class Colors
{
  YCbCr,
  Marked
};

/** A stream as a libjpeg that has seen no other, but for a stream of tables, decodes it, to 1 or 3 channels, smaller by
 * `reduction`. */
Picture DecodeWithLibJPEG(const JPEGStream & stream,
                          unsigned           channels,
                          unsigned           reduction = 1,
                          Colors             colors = Colors::YCbCr,
                          const JPEGStream & tables = {});

/** TIFF of one level, whose tiles of `side` x `side` pixels are the streams, row by row. */
void WriteJPEGTiles(const std::string &             path,
                    const std::vector<JPEGStream> & tiles,
                    std::uint32_t                   across,
                    std::uint32_t                   side,
                    unsigned                        channels,
                    int                             subsampling = 1);

/** Where the entropy-coded bytes of a stream's only scan begin. */
std::size_t FindScan(const JPEGStream & stream);

} // namespace gigapixel_test

#endif

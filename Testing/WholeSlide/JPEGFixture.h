/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef JPEGFixture_h
#define JPEGFixture_h

#include "TIFFFixture.h"

namespace gigapixel_test
{

/** What JPEG streams differ in, one from the next, in the tiles of a file. */
struct JPEGOptions
{
  int      quality = 80;
  bool     ownHuffmanTables = false; // best for the picture; else the standard ones, which are left out
  bool     leaveOutQuantizationTables = false;
  bool     progressive = false;
  unsigned restartInterval = 0;
  int      subsampling = 1; // of colors, both ways
};

using JPEGStream = std::vector<unsigned char>;

/** One stream of a picture of one or three channels (as YCbCr), by libjpeg. */
JPEGStream EncodeJPEG(const Picture & picture, const JPEGOptions & options);

/** A stream as a libjpeg that has seen no other decodes it, to 1 or 3 channels, smaller by `reduction`. */
Picture DecodeWithLibJPEG(const JPEGStream & stream, unsigned channels, unsigned reduction = 1);

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

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TIFFFixture_h
#define TIFFFixture_h

#include <cstdint>
#include <string>
#include <vector>

#include <tiffio.h>

namespace gigapixel_test
{

/** A picture in memory: rows without gaps, channels interleaved. */
struct Picture
{
  std::uint32_t              width = 0;
  std::uint32_t              height = 0;
  unsigned                   channels = 3;
  std::vector<unsigned char> pixels;

  bool
  operator==(const Picture & other) const
  {
    return width == other.width && height == other.height && channels == other.channels && pixels == other.pixels;
  }
};

/** A picture with texture, edges and flat parts, different for each seed. */
Picture MakePicture(std::uint32_t width, std::uint32_t height, unsigned channels, unsigned seed);

/** How a pyramid is written with libtiff, which shares no code with the reader under test. */
struct PyramidOptions
{
  std::uint32_t width = 700;
  std::uint32_t height = 500;
  std::uint32_t tile = 128;
  unsigned      levels = 3;
  unsigned      samples = 3;
  std::uint16_t compression = COMPRESSION_ADOBE_DEFLATE;
  std::uint16_t photometric = PHOTOMETRIC_RGB;
  std::uint16_t predictor = 1;
  std::uint16_t subsampling = 2; // of YCbCr, both ways
  std::uint16_t planes = PLANARCONFIG_CONTIG;
  std::uint16_t extraSample = 0; // of a fourth sample
  bool          big = false;
  bool          bigEndian = false;
  bool          strips = false;
  bool          leaveOutFirstTile = false;     // of level 0
  double        pixelsPerCentimeter = 20000.0; // 0.5 micrometers
  std::string   description;
  std::string   software;
  std::string   colorProfile;   // ICC, of level 0
  std::string   xml;            // XMP packet of level 0
  bool          append = false; // to the pages that the file has
};

/** Writes level k as MakePicture(width >> k, ..., seed k). */
void WritePyramid(const std::string & path, const PyramidOptions & options);

/** A page as libtiff decodes it (JPEG in YCbCr to RGB). */
Picture ReadWithLibTIFF(const std::string & path, unsigned page);

/** One JPEG 2000 codestream of a picture (lossless), with or without the codec's own color transform. */
std::vector<unsigned char> EncodeJPEG2000(const Picture & picture, bool colorTransform);

/** A codestream as OpenJPEG decodes it, `leaveOut` of its resolutions left out, components interleaved. */
Picture DecodeWithOpenJPEG(const std::vector<unsigned char> & stream, unsigned leaveOut = 0);

/** Tiled TIFF of one level whose tiles are JPEG 2000 codestreams under the given compression number. */
void WriteJPEG2000(const std::string & path,
                   const Picture &     picture,
                   std::uint32_t       tile,
                   std::uint16_t       compression,
                   std::uint16_t       photometric,
                   bool                colorTransform,
                   const std::string & description);

/** Name of a file in this test program's own folder below the system's temporary one, removed at exit. */
std::string TemporaryFile(const std::string & name);

} // namespace gigapixel_test

#endif

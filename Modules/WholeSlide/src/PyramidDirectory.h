/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidDirectory_h
#define PyramidDirectory_h

#include "PyramidFile.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel
{

/** One level of the pyramid: its size and where its tiles are, row by row. */
struct PyramidLevel
{
  std::uint64_t              width{ 0 };
  std::uint64_t              height{ 0 };
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> byteCounts;
};

/** What all levels have in common. */
struct PyramidFormat
{
  enum class Compression
  {
    Deflate,
    JPEG
  };

  unsigned              channels{ 1 };   // of 8 bits, interleaved; 1 gray or labels, 3 RGB
  unsigned              tileSize{ 256 }; // side in pixels
  bool                  labels{ true };  // else a picture
  Compression           compression{ Compression::Deflate };
  int                   compressionLevel{ 6 };       // libdeflate's level, or JPEG's quality
  std::array<double, 2> pixelsPerCentimeter{ 0, 0 }; // of level 0; 0 = unknown
  std::string           description;                 // ImageDescription of level 0

  /** Pictures are differenced horizontally before deflate, which halves them; labels would grow. */
  bool
  HasPredictor() const
  {
    return compression == Compression::Deflate && !labels;
  }
};

/** Writes the 16 bytes with which a BigTIFF begins; WriteDirectories() completes them. */
void WriteHeader(PyramidFile & file);

/** Writes the chain of image file directories, level 0 first, behind the tiles, and enters it into the header.
 * \a jpegTables is the value of tag 347, empty where there is none. TIFF 6.0 and the BigTIFF layout
 * (https://www.awaresystems.be/imaging/tiff/bigtiff.html). */
void WriteDirectories(PyramidFile &                     file,
                      const PyramidFormat &             format,
                      const std::vector<std::uint8_t> & jpegTables,
                      const std::vector<PyramidLevel> & levels);

} // namespace gigapixel

#endif

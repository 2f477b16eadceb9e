/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidDirectory_h
#define PyramidDirectory_h

#include "gigapixelAtomicFile.h"
#include "PyramidFormat.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel
{

/** One picture of the file, a level or an associated image: TIFF's words for it, and where its tiles are, row by row.
 */
struct PyramidPage
{
  enum class Role
  {
    First,     // level 0, also of a further channel
    Reduced,   // the other levels
    Associated // a picture of its own
  };

  Role                       role{ Role::First };
  std::uint64_t              width{ 0 };
  std::uint64_t              height{ 0 };
  std::uint32_t              tileWidth{ 0 };
  std::uint32_t              tileHeight{ 0 };
  double                     downsample{ 1 }; // of a level
  std::uint16_t              bits{ 8 };
  std::uint16_t              samples{ 1 };
  std::uint16_t              sampleFormat{ 1 };
  std::uint16_t              compression{ 8 };
  std::uint16_t              photometric{ 1 };
  std::uint16_t              predictor{ 1 };
  std::vector<std::uint16_t> subsampling;  // of YCbCr, across and down; empty: none
  std::vector<std::uint16_t> extraSamples; // empty: none
  std::vector<std::uint16_t> colorMap;     // empty: none
  std::vector<std::uint8_t>  jpegTables;   // value of tag 347; empty: none
  std::string                description;  // empty: none
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> byteCounts;

  /** A page without tiles yet, as the tile compressor of this format fills it. */
  static PyramidPage Make(const PyramidFormat & format, std::uint64_t width, std::uint64_t height);

  std::uint64_t
  GetTilesAcross() const
  {
    return (width + tileWidth - 1) / tileWidth;
  }

  std::uint64_t
  GetTilesDown() const
  {
    return (height + tileHeight - 1) / tileHeight;
  }

  /** Of the samples before compression. */
  double
  GetRawBytes() const
  {
    return static_cast<double>(GetTilesAcross() * tileWidth) * static_cast<double>(GetTilesDown() * tileHeight) *
           samples * bits / 8;
  }
};

/** Writes the pages of a TIFF 6.0, or of a BigTIFF where the file may grow beyond 4 GiB
 * (https://www.awaresystems.be/imaging/tiff/bigtiff.html), in the byte order of the machine. */
class PyramidDirectory
{
public:
  /** Writes the header. \param big BigTIFF */
  PyramidDirectory(AtomicFile & file, bool big);

  /** Writes the chain of directories, behind all tiles, and enters it into the header. The reduced levels of an
   * OME-TIFF, and those of several channels, are not in the chain, but children (SubIFDs) of the level 0 before them.
   */
  void Write(const std::vector<PyramidPage> & pages, const PyramidMetadata & metadata);

private:
  /** Where a directory is, and where it has the offset of the next one, 0 until Link() has written it. */
  struct Place
  {
    std::uint64_t offset;
    std::uint64_t next;
  };

  Place WritePage(const PyramidPage &                page,
                  const PyramidMetadata &            metadata,
                  const std::vector<std::uint64_t> & children);
  void  Link(std::uint64_t place, std::uint64_t offset);

  AtomicFile & m_File;
  bool         m_Big;
};

} // namespace gigapixel

#endif

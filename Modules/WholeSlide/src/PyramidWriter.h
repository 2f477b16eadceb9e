/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidWriter_h
#define PyramidWriter_h

#include "PyramidDirectory.h"
#include "PyramidFile.h"
#include "PyramidTileCompressor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{

/** \class PyramidWriter
 * \brief Rows of level 0 in, a complete pyramid out, in one pass.
 *
 * A row of tiles is compressed and reduced into the band of the level below by all threads, tile by tile: the tile's
 * side is even, so no 2x2 block lies in two tiles. Its tiles are appended to the file in order; a band that is full is
 * the next row of tiles, of its level. So the order in the file follows from the image's size alone. The directories
 * come behind the tiles, because only then all offsets are known. */
class PyramidWriter
{
public:
  PyramidWriter(const std::string & fileName, std::uint64_t width, std::uint64_t height, const PyramidFormat & format);
  ~PyramidWriter();

  /** Rows that have been taken. */
  std::uint64_t
  GetNumberOfRows() const
  {
    return m_NumberOfRows;
  }

  /** Takes the next \a count rows of level 0, width * channels bytes each without gaps. After the last row the file
   * stands under its name. An object that has thrown is to be destroyed; that removes the unfinished file. */
  void WriteRows(const std::uint8_t * rows, std::uint64_t count);

private:
  /** The rows of a level that wait until they fill a row of tiles. */
  struct Band
  {
    std::vector<std::uint8_t> rows;
    std::uint64_t             filled{ 0 };
  };

  /** A row of tiles about to be written: \a height is below the tile's side only in the last one. */
  struct TileRow
  {
    std::size_t          level;
    std::uint64_t        index;
    const std::uint8_t * rows;
    std::uint64_t        height;
  };

  struct Worker;

  std::size_t   GetRowBytes(std::size_t level) const;
  std::uint64_t GetRowsOfNextTileRow(std::size_t level) const;
  void          WriteTileRow(const TileRow & row);
  void          CompressTiles(const TileRow & row);
  void CompressTile(const TileRow & row, std::uint64_t column, Worker & worker, std::vector<std::uint8_t> & compressed);
  void ReduceTile(const TileRow & row, std::uint64_t column);
  void Finish();

  PyramidFormat                          m_Format;
  PyramidFile                            m_File;
  std::vector<PyramidLevel>              m_Levels;
  std::vector<Band>                      m_Bands;
  std::vector<std::unique_ptr<Worker>>   m_Workers;
  std::vector<std::vector<std::uint8_t>> m_Compressed; // the tiles of the row in work
  std::uint64_t                          m_NumberOfRows{ 0 };
};

} // namespace gigapixel

#endif

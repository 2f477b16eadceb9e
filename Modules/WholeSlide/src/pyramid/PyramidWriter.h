/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidWriter_h
#define PyramidWriter_h

#include "PyramidDescription.h"
#include "PyramidDirectory.h"
#include "gigapixelAtomicFile.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{

/** \class PyramidWriter
 * \brief Rows of level 0 in, a complete pyramid out, in one pass over each plane.
 *
 * A row of tiles is compressed and reduced into the band of the level below by all threads, tile by tile: the tile's
 * side is even, so no 2x2 block lies in two tiles. Its tiles are appended to the file in order; a band that is full is
 * the next row of tiles, of its level. So the order in the file follows from the image's size alone. The directories
 * come behind the tiles, because only then all offsets are known.
 *
 * A plane is a gray or RGB image with pages of its own. Several planes are the channels of one image. Their rows come
 * together, or those of one plane after those of another: then the memory is that of one plane.
 *
 * A file whose name ends in .ome.tif or .ome.tiff becomes an OME-TIFF: see PyramidOMEXML.h.
 *
 * The first levels may be copied from another file instead: their pages are given to the constructor, their compressed
 * tiles to CopyTile(), and then rows of the last of them, from which the levels below are computed. */
class PyramidWriter
{
public:
  /** \param copied levels that are copied, finest first; without, level 0 is of \a width x \a height and comes in rows
   * \param mayReplace see AtomicFile */
  PyramidWriter(const std::string &      fileName,
                std::uint64_t            width,
                std::uint64_t            height,
                const PyramidFormat &    format,
                const PyramidMetadata &  metadata,
                std::vector<PyramidPage> copied = {},
                bool                     mayReplace = true);
  ~PyramidWriter();

  /** The next tile of a copied level, row by row. */
  void CopyTile(std::size_t level, const std::vector<std::uint8_t> & bytes);

  /** A picture beside the levels, such as "label": RGB, 8 bit, compressed by deflate, whatever the levels are. */
  void AddPicture(const std::string & name, std::uint64_t width, std::uint64_t height, const std::uint8_t * rgb);

  /** Rows that are wanted: those of level 0, or of the last copied level; 0 where no level remains to be computed. */
  std::uint64_t GetNumberOfWantedRows() const;

  /** Rows that have been taken of the last plane. */
  std::uint64_t
  GetNumberOfRows() const
  {
    return m_Planes.back().numberOfRows;
  }

  /** Takes the next \a count rows, width pixels each without gaps, the channels of all planes interleaved. An object
   * that has thrown is to be destroyed; that removes the unfinished file. */
  void WriteRows(const std::uint8_t * rows, std::uint64_t count);

  /** The same of one plane alone. */
  void WriteRowsOfPlane(std::size_t plane, const std::uint8_t * rows, std::uint64_t count);

  /** Once everything is in: the file stands under its name. */
  void Finish(const PyramidDescription & description);

private:
  /** The rows of a level that wait until they fill a row of tiles. */
  struct Band
  {
    std::vector<std::uint8_t> rows;
    std::uint64_t             filled{ 0 };
  };

  struct Plane
  {
    std::vector<PyramidPage> levels;
    std::vector<Band>        bands; // of the levels
    std::uint64_t            numberOfRows{ 0 };
  };

  /** A row of tiles about to be written: \a height is below the tile's side only in the last one. */
  struct TileRow
  {
    std::size_t          plane;
    std::size_t          level;
    std::uint64_t        index;
    const std::uint8_t * rows;
    std::uint64_t        height;
  };

  struct Worker;

  /** The levels of any plane, which have the same sizes. */
  const std::vector<PyramidPage> &
  GetLevels() const
  {
    return m_Planes.front().levels;
  }

  std::size_t   GetRowBytes(std::size_t level) const;
  std::uint64_t GetRowsOfTileRow(std::size_t level, std::uint64_t index) const;
  std::uint64_t GetColumns(std::size_t level) const;
  void          WriteTileRow(const TileRow & row);
  void          ProcessTiles(const TileRow & row, bool compress);
  void CompressTile(const TileRow & row, std::uint64_t column, Worker & worker, std::vector<std::uint8_t> & compressed);
  void ReduceTile(const TileRow & row, std::uint64_t column);
  template <typename TSample>
  void ReduceSamples(const TileRow & row, std::uint64_t column);
  void Append(PyramidPage & page, const std::vector<std::uint8_t> & tile);

  PyramidFormat                          m_Format;
  PyramidMetadata                        m_Metadata;
  AtomicFile                             m_File;
  std::vector<Plane>                     m_Planes;
  std::size_t                            m_FedLevel{ 0 }; // the one whose rows come in
  std::size_t                            m_FirstCompressed{ 0 };
  std::vector<PyramidPage>               m_Pictures;
  std::unique_ptr<PyramidDirectory>      m_Directory;
  std::vector<std::unique_ptr<Worker>>   m_Workers;
  std::vector<std::vector<std::uint8_t>> m_Compressed; // the tiles of the row in work
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPixelFile_h
#define gigapixelPixelFile_h

#include "GigapixelNetworkExport.h"
#include "gigapixelSource.h"

#include <string>

namespace gigapixel
{

/** \class PixelFile
 * \brief A file of the pixel cache: blocks of pixels that may be there or not.
 *
 * A page with what the file is, a table with an entry of 8 bytes for each block, and the blocks, each as four strips of
 * 128 columns, so that the halo of a tile is read without much of what is beside it. Several threads and processes may
 * use it at the same time: they write the same bytes. */
class GigapixelNetwork_EXPORT PixelFile
{
public:
  static constexpr std::int64_t BlockSide = 512;

  /** Opens the file, or makes it. Others cannot remove it from the cache until it is closed.
   * \throw std::runtime_error when it cannot be made or written, or when another file has its name: that stays as it is
   */
  PixelFile(const std::string & path, const std::string & identity, Size image, unsigned channels);
  ~PixelFile();
  PixelFile(const PixelFile &) = delete;
  PixelFile & operator=(const PixelFile &) = delete;

  /** Whether it is such a file, of any image and version; a link is none. */
  static bool IsAt(const std::string & path);

  /** Of the complete file. */
  static std::int64_t GetBytes(Size image, unsigned channels);

  std::int64_t
  GetNumberOfBlocks() const
  {
    return m_Columns * m_Rows;
  }

  /** Its real pixels, row by row of blocks. */
  Region GetRegion(std::int64_t block) const;

  /** Whether the block is there and right, as its checksum says. */
  bool Check(std::int64_t block) const;

  /** \param samples of GetRegion(block)
   * \throw std::system_error when the disk is full or fails */
  void Write(std::int64_t block, const std::uint8_t * samples) const;

  /** Copies a part of a block that Check() or Write() has found or made right.
   * \param part within GetRegion(block)
   * \param pitch samples from row to row
   * \return false when the disk fails or the block is not there any more */
  bool Read(std::int64_t block, const Region & part, std::uint8_t * samples, std::int64_t pitch) const;

private:
  std::uint64_t ReadEntry(std::int64_t block) const;
  std::int64_t  GetOffset(std::int64_t block) const;

  int                m_File{ -1 };
  const Size         m_Image;
  const std::int64_t m_Channels;
  const std::int64_t m_Columns;
  const std::int64_t m_Rows;
};

} // namespace gigapixel

#endif

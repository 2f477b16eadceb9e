/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidTileCompressor_h
#define PyramidTileCompressor_h

#include "PyramidFormat.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gigapixel
{

/** \class PyramidTileCompressor
 * \brief Compresses one tile at a time. The bytes depend on the tile and the format only; one object per thread. */
class PyramidTileCompressor
{
public:
  virtual ~PyramidTileCompressor() = default;

  /** \a tile: tileSize rows of tileSize pixels of interleaved channels, \a rowBytes from one row to the next. Replaces
   * \a compressed. */
  virtual void Compress(const std::uint8_t * tile, std::size_t rowBytes, std::vector<std::uint8_t> & compressed) = 0;

  /** The tables that all JPEG tiles share (value of TIFF tag 347); empty for others. */
  virtual std::vector<std::uint8_t>
  GetTables()
  {
    return {};
  }

  static std::unique_ptr<PyramidTileCompressor> New(const PyramidFormat & format);
};

/** \name Codecs of whole pictures. They throw std::runtime_error in a few words. @{ */
std::unique_ptr<PyramidTileCompressor> NewJPEGCompressor(const PyramidFormat & format);
std::unique_ptr<PyramidTileCompressor> NewWebPCompressor(const PyramidFormat & format);
/** @} */

} // namespace gigapixel

#endif

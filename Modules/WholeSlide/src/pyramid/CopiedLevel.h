/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef CopiedLevel_h
#define CopiedLevel_h

#include "PyramidDirectory.h"
#include "tiff/TIFFLayout.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gigapixel
{

/** \class CopiedLevel
 * \brief A rectangle of a TIFF's level whose compressed tiles become a level of a pyramid as they are. */
class CopiedLevel
{
public:
  /** Null where its tiles are none of a pyramid: samples or codec that not all readers know, a missing tile, a
   * rectangle that does not begin and end at tiles (or the level's edge). \param level of the layout; \param x of the
   * rectangle in pixels of the level, as the others */
  static std::unique_ptr<const CopiedLevel> Find(std::shared_ptr<const TIFFLayout> layout,
                                                 std::size_t                       level,
                                                 std::uint64_t                     x,
                                                 std::uint64_t                     y,
                                                 std::uint64_t                     width,
                                                 std::uint64_t                     height);

  /** The page as one of a pyramid, without tiles yet. */
  static PyramidPage Describe(const TIFFPage & page);

  /** The level of the pyramid, without tiles yet and of downsample 1. */
  const PyramidPage &
  GetPage() const
  {
    return m_Page;
  }

  std::uint64_t
  GetNumberOfTiles() const
  {
    return m_Tiles.size();
  }

  /** The tile's compressed bytes, without those that no decoder needs: comments, application segments, what stands
   * behind the end of the stream. Throws SlideError. */
  std::vector<std::uint8_t> ReadTile(std::uint64_t tile) const;

private:
  CopiedLevel() = default;

  std::shared_ptr<const TIFFLayout> m_Layout;
  PyramidPage                       m_Page;
  std::size_t                       m_Level{ 0 };
  TIFFPage::Pieces                  m_Pieces; // of all tiles of the level
  std::uint64_t                     m_TilesAcross{ 0 };
  std::vector<std::uint64_t>        m_Tiles; // numbers of those of the rectangle, row by row
};

} // namespace gigapixel

#endif

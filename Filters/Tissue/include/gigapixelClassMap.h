/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelClassMap_h
#define gigapixelClassMap_h

#include "GigapixelTissueExport.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gigapixel
{

/** A whole image of classes (0 to 3) as runs, filled row by row from top to bottom: 4 bytes a run. */
class GigapixelTissue_EXPORT ClassMap
{
public:
  static constexpr std::size_t Classes = 4; ///< 0 to 3

  /** Forgets all rows; rows of the given width follow.
   * \throw std::length_error if width is 2^30 or more */
  void Reset(std::size_t width);

  /** Adds the row below the last one. */
  void AppendRow(const unsigned char * classes);

  /** Writes columns first ... first + count - 1 of row y, a class as its entry in values. */
  void PaintRow(std::size_t                                y,
                std::size_t                                first,
                std::size_t                                count,
                const std::array<unsigned char, Classes> & values,
                unsigned char *                            pixels) const;

  /** In pixels. */
  std::size_t
  GetWidth() const
  {
    return m_Width;
  }
  std::size_t
  GetHeight() const
  {
    return m_RowStarts.size() - 1;
  }

private:
  std::size_t m_Width{ 0 };
  /** Of row y: m_Runs[m_RowStarts[y]] ... m_Runs[m_RowStarts[y + 1] - 1], each the column after its end, times 4, plus
   * its class. */
  std::vector<std::uint32_t> m_Runs;
  std::vector<std::size_t>   m_RowStarts{ 0 };
};

} // namespace gigapixel

#endif

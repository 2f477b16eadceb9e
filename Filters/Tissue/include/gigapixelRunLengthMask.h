/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRunLengthMask_h
#define gigapixelRunLengthMask_h

#include "GigapixelTissueExport.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gigapixel
{

/** A whole binary image as runs, filled row by row from top to bottom: what a filter keeps that has to know the whole
 * image. A row is the list of its foreground runs, each as the column
 * where it begins and the column after its end: 8 bytes a run. */
class GigapixelTissue_EXPORT RunLengthMask
{
public:
  /** Forgets all rows; rows of the given width follow. Throws std::length_error if width is 2^32 - 1 or more. */
  void Reset(std::size_t width);

  /** Adds the row below the last one: foreground where pixels[x] is not 0. */
  void AppendRow(const unsigned char * pixels);

  /** Turns holes into foreground: background that is not 4-connected to the image's edge, of at most `maximum` pixels.
   */
  void FillHoles(std::uint64_t maximum);

  /** Turns 8-connected foreground of fewer than minimum pixels into background. */
  void RemoveSmallObjects(std::uint64_t minimum);

  /** Writes columns first ... first + count - 1 of row y as 0 and 255. */
  void PaintRow(std::size_t y, std::size_t first, std::size_t count, unsigned char * pixels) const;

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
  /** Bytes that the runs occupy. */
  std::size_t GetMemory() const;

private:
  class Runs;

  std::size_t m_Width{ 0 };
  /** Begins and ends of row y: m_Changes[m_RowStarts[y]] ... m_Changes[m_RowStarts[y + 1] - 1]. */
  std::vector<std::uint32_t> m_Changes;
  std::vector<std::size_t>   m_RowStarts{ 0 };
  std::vector<std::uint64_t> m_RowBits;
};

} // namespace gigapixel

#endif

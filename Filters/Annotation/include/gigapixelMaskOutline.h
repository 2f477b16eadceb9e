/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMaskOutline_h
#define gigapixelMaskOutline_h

#include "GigapixelAnnotationExport.h"
#include "gigapixelAnnotation.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gigapixel
{

/** \class MaskOutline
 * \brief The outlines of a mask along the edges of its pixels, taken row by row from the top.
 *
 * Foreground is 4-connected: pixels that touch at a corner only are two pieces. Every polygon is valid (OGC simple
 * features): a ring that would touch itself at a corner is cut there into an outer ring and holes. Filled again
 * (itk::AnnotationImageSource) they give the same mask, to the pixel. Memory: 20 bytes for each change along a row. */
class GigapixelAnnotation_EXPORT MaskOutline
{
public:
  /** \param width of the mask, below 2^32 pixels */
  explicit MaskOutline(std::size_t width)
    : m_Width(width)
  {}

  /** Adds the row below the last one: foreground where pixels[x] equals \a label. */
  void AppendRow(const unsigned char * pixels, unsigned char label);

  /** One annotation for each piece: its outer ring first, then its holes. Points are corners of pixels times the scale;
   * call it once, after the last row. */
  std::vector<Annotation> Trace(double scaleX, double scaleY);

private:
  /** The edge between two pixels of a row that differ. The edges of a row take turns in opening and closing a run. */
  struct Edge
  {
    std::uint32_t x, y;
    std::uint32_t next[2]; ///< the edges that go on from its upper end [0] and from its lower end [1]
    std::uint32_t piece;
  };

  void LinkEnds(std::uint32_t a, int endOfA, std::uint32_t b, int endOfB);
  void LinkLine(std::size_t above, std::size_t below, std::size_t end);
  /** From an edge, first over its end \a end, which has the foreground to the right. */
  void FollowRing(std::uint32_t start, int end, double scaleX, double scaleY, Annotation & annotation);

  std::size_t       m_Width;
  std::uint32_t     m_Height{ 0 };
  std::size_t       m_LastRow{ 0 }; ///< its first edge
  std::vector<Edge> m_Edges;
};

} // namespace gigapixel

#endif

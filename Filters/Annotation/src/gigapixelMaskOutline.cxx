/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMaskOutline.h"

#include <map>
#include <utility>

namespace gigapixel
{
namespace
{
constexpr std::uint32_t NoPiece = 0xFFFFFFFF;
}

void
MaskOutline::LinkEnds(std::uint32_t a, int endOfA, std::uint32_t b, int endOfB)
{
  m_Edges[a].next[endOfA] = b;
  m_Edges[b].next[endOfB] = a;
}

/** Joins the lower ends of the edges [above, below) with the upper ends of [below, end): along the line between two
 * rows, the outline runs between every second pair of ends. */
void
MaskOutline::LinkLine(std::size_t above, std::size_t below, std::size_t end)
{
  std::uint32_t waiting = 0;
  int           endOfWaiting = -1; // -1: none waits
  const auto    arrive = [&](std::size_t edge, int endOfEdge) {
    if (endOfWaiting < 0)
    {
      waiting = static_cast<std::uint32_t>(edge);
      endOfWaiting = endOfEdge;
    }
    else
    {
      LinkEnds(waiting, endOfWaiting, static_cast<std::uint32_t>(edge), endOfEdge);
      endOfWaiting = -1;
    }
  };
  std::size_t a = above;
  std::size_t b = below;
  while (a < below || b < end)
  {
    const bool isBoth = a < below && b < end && m_Edges[a].x == m_Edges[b].x;
    if (!isBoth)
    {
      const bool isAbove = b == end || (a < below && m_Edges[a].x < m_Edges[b].x);
      arrive(isAbove ? a++ : b++, isAbove ? 1 : 0);
      continue;
    }
    const bool opensAbove = (a - above) % 2 == 0;
    const bool opensBelow = (b - below) % 2 == 0;
    if (opensAbove == opensBelow)
    {
      LinkEnds(static_cast<std::uint32_t>(a), 1, static_cast<std::uint32_t>(b), 0); // straight on
    }
    else if (opensAbove)
    {
      // Two pixels touch at this corner. The outline goes around each of them: they are not connected here.
      arrive(b, 0);
      arrive(a, 1);
    }
    else
    {
      arrive(a, 1);
      arrive(b, 0);
    }
    ++a;
    ++b;
  }
}

void
MaskOutline::AppendRow(const unsigned char * pixels, unsigned char label)
{
  const std::size_t row = m_Edges.size();
  bool              inside = false;
  for (std::size_t x = 0; x <= m_Width; ++x)
  {
    const bool isForeground = x < m_Width && pixels[x] == label;
    if (isForeground != inside)
    {
      m_Edges.push_back({ static_cast<std::uint32_t>(x), m_Height, { 0, 0 }, NoPiece });
      inside = isForeground;
    }
  }
  LinkLine(m_LastRow, row, m_Edges.size());
  m_LastRow = row;
  ++m_Height;
}

void
MaskOutline::FollowRing(std::uint32_t start, int end, double scaleX, double scaleY, Annotation & annotation)
{
  const std::uint32_t                                            piece = m_Edges[start].piece;
  AnnotationRing                                                 ring;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places;
  const auto                                                     addCorner = [&](std::uint32_t x, std::uint32_t y) {
    const auto [place, isNew] = places.emplace(std::make_pair(x, y), ring.size());
    if (!isNew)
    {
      // Back at a corner: what lies between is a ring of its own.
      const auto first = ring.begin() + static_cast<std::ptrdiff_t>(place->second);
      annotation.rings.emplace_back(first, ring.end());
      for (auto point = first + 1; point != ring.end(); ++point)
      {
        places.erase({ static_cast<std::uint32_t>(point->x), static_cast<std::uint32_t>(point->y) });
      }
      ring.erase(first + 1, ring.end());
      return;
    }
    ring.push_back({ static_cast<double>(x), static_cast<double>(y) });
  };

  const std::size_t firstRing = annotation.rings.size();
  std::uint32_t     current = start;
  do
  {
    Edge &              edge = m_Edges[current];
    const std::uint32_t next = edge.next[end];
    const bool          isSameRow = m_Edges[next].y == edge.y;
    edge.piece = piece;
    if (m_Edges[next].x != edge.x)
    {
      addCorner(edge.x, edge.y + static_cast<std::uint32_t>(end));
      addCorner(m_Edges[next].x, edge.y + static_cast<std::uint32_t>(end));
    }
    // It arrives at the other's same end when it turns back into its own row, and leaves by the opposite one.
    end = isSameRow ? 1 - end : end;
    current = next;
  } while (current != start);
  annotation.rings.push_back(std::move(ring));
  if (firstRing == 0)
  {
    std::swap(annotation.rings.front(), annotation.rings.back()); // the outer one is what is left after all cuts
  }
  for (std::size_t i = firstRing; i < annotation.rings.size(); ++i)
  {
    for (AnnotationPoint & point : annotation.rings[i])
    {
      point.x *= scaleX;
      point.y *= scaleY;
    }
  }
}

std::vector<Annotation>
MaskOutline::Trace(double scaleX, double scaleY)
{
  LinkLine(m_LastRow, m_Edges.size(), m_Edges.size());
  std::vector<Annotation> pieces;
  std::size_t             row = 0;
  for (std::size_t i = 0; i < m_Edges.size(); ++i)
  {
    row = m_Edges[i].y == m_Edges[row].y ? row : i;
    if (m_Edges[i].piece != NoPiece)
    {
      continue;
    }
    // From the top, a piece is met at its outer ring; a hole is met where a run of its piece closes.
    const bool opens = (i - row) % 2 == 0;
    m_Edges[i].piece = opens ? static_cast<std::uint32_t>(pieces.size()) : m_Edges[i - 1].piece;
    if (opens)
    {
      pieces.emplace_back();
    }
    FollowRing(static_cast<std::uint32_t>(i), opens ? 0 : 1, scaleX, scaleY, pieces[m_Edges[i].piece]);
  }
  return pieces;
}

} // namespace gigapixel

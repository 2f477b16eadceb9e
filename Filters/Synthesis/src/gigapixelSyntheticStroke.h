/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSyntheticStroke_h
#define gigapixelSyntheticStroke_h

#include <cstdint>
#include <vector>

namespace gigapixel
{

/** A line that somebody drew, or a thread that fell: a polyline with a width. Micrometers. */
class SyntheticStroke
{
public:
  /** Begins somewhere on a slide of this size and winds its way. \param stream of chance \param length, halfWidth > 0
   */
  SyntheticStroke(std::uint32_t stream, double width, double height, double length, double halfWidth);

  /** From a point to the middle of the line; 1e9 for points outside the line's box, which are not inside it. */
  double GetDistance(double x, double y) const;

  /** Whether any point of the rectangle may be inside. */
  bool
  MayTouch(double left, double top, double right, double bottom) const
  {
    return left <= m_Right && right >= m_Left && top <= m_Bottom && bottom >= m_Top;
  }

  const std::vector<double> &
  GetX() const
  {
    return m_X;
  }
  const std::vector<double> &
  GetY() const
  {
    return m_Y;
  }
  double
  GetHalfWidth() const
  {
    return m_HalfWidth;
  }

private:
  std::vector<double> m_X, m_Y;
  double              m_HalfWidth;
  double              m_Left, m_Right, m_Top, m_Bottom;
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSyntheticStroke.h"
#include "gigapixelSyntheticNoise.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{
constexpr double FarOutside = 1e9;

double
DistanceToSegment(double x, double y, double ax, double ay, double bx, double by)
{
  const double dx = bx - ax;
  const double dy = by - ay;
  const double length = dx * dx + dy * dy;
  const double t = length > 0.0 ? std::clamp(((x - ax) * dx + (y - ay) * dy) / length, 0.0, 1.0) : 0.0;
  const double ex = x - ax - t * dx;
  const double ey = y - ay - t * dy;
  return std::sqrt(ex * ex + ey * ey);
}
} // namespace

SyntheticStroke::SyntheticStroke(std::uint32_t stream, double width, double height, double length, double halfWidth)
  : m_HalfWidth(halfWidth)
{
  constexpr double pi = 3.14159265358979323846;
  constexpr int    points = 24;
  double           x = width * HashBetween(stream, 2, 0.04, 0.96);
  double           y = height * HashBetween(stream, 3, 0.04, 0.96);
  double           angle = HashBetween(stream, 4, 0.0, 2.0 * pi);
  const double     turn = HashBetween(stream, 5, -1.6, 1.6) / points;
  for (int i = 0; i < points; ++i)
  {
    m_X.push_back(x);
    m_Y.push_back(y);
    angle += turn + 0.10 * (2.0 * HashUnit(stream, 7, i) - 1.0);
    x += length / points * std::cos(angle);
    y += length / points * std::sin(angle);
  }
  const auto   xs = std::minmax_element(m_X.begin(), m_X.end());
  const auto   ys = std::minmax_element(m_Y.begin(), m_Y.end());
  const double reach = 1.5 * m_HalfWidth;
  m_Left = *xs.first - reach;
  m_Right = *xs.second + reach;
  m_Top = *ys.first - reach;
  m_Bottom = *ys.second + reach;
}

double
SyntheticStroke::GetDistance(double x, double y) const
{
  if (!MayTouch(x, y, x, y))
  {
    return FarOutside;
  }
  double distance = FarOutside;
  for (std::size_t i = 1; i < m_X.size(); ++i)
  {
    distance = std::min(distance, DistanceToSegment(x, y, m_X[i - 1], m_Y[i - 1], m_X[i], m_Y[i]));
  }
  return distance;
}

} // namespace gigapixel

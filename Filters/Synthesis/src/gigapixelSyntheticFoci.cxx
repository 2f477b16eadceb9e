/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSyntheticFoci.h"
#include "gigapixelSyntheticNoise.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{
constexpr std::uint32_t FocusStream = 0x180000;
constexpr double        Pi = 3.14159265358979;
constexpr double        LeastRadius = 60.0;
} // namespace

double
SyntheticFoci::Focus::GetRadius(double angle) const
{
  return radius *
         (1.0 + amplitude[0] * std::cos(2.0 * angle + phase[0]) + amplitude[1] * std::cos(3.0 * angle + phase[1]));
}

/** The least depth in tissue, in micrometers, of the focus' center and of points around it; less where it comes close
 * to pen, to another focus, or to pale or fatty tissue, in which it would not be seen. */
double
SyntheticFoci::GetRoom(const SyntheticLayout & layout, const Focus & focus) const
{
  constexpr int points = 12;
  double        room = layout.GetTissueDepth(focus.x, focus.y);
  for (int i = 0; i < points && room > -1e3; ++i)
  {
    const double angle = 2.0 * Pi * i / points;
    const double x = focus.x + focus.GetRadius(angle) * std::cos(angle);
    const double y = focus.y + focus.GetRadius(angle) * std::sin(angle);
    const auto   kind = layout.GetKind(x, y);
    room = std::min({ room, layout.GetTissueDepth(x, y), -layout.GetPenDepth(x, y) });
    room -= 100.0 * (kind.pale + kind.fat);
  }
  for (const Focus & other : m_Foci)
  {
    const double distance = std::hypot(focus.x - other.x, focus.y - other.y);
    room = std::min(room, distance - GreatestStretch * (focus.radius + other.radius));
  }
  return room;
}

SyntheticFoci::SyntheticFoci(const SyntheticLayout & layout,
                             double                  width,
                             double                  height,
                             double                  area,
                             std::uint32_t           seed)
{
  constexpr int    trials = 3000;
  constexpr double enough = 20.0; // the roughness of tissue's edges, and some more
  const auto       most = std::clamp(static_cast<int>(area / (Pi * LeastRadius * LeastRadius)), 1, 3);
  const auto       count = 1 + static_cast<int>(HashPoint(seed + FocusStream, 0, 0) % static_cast<unsigned>(most));
  for (int number = 0; number < count; ++number)
  {
    const auto stream = seed + FocusStream + 16 * static_cast<std::uint32_t>(number + 1);
    Focus      focus{};
    for (std::size_t i = 0; i < 2; ++i)
    {
      focus.amplitude[i] = HashBetween(stream, static_cast<int>(i), 0.05, 0.15);
      focus.phase[i] = HashBetween(stream, static_cast<int>(i + 2), 0.0, 2.0 * Pi);
    }
    const double squares = focus.amplitude[0] * focus.amplitude[0] + focus.amplitude[1] * focus.amplitude[1];
    focus.radius = std::sqrt(area / count / (Pi * (1.0 + 0.5 * squares)));
    Focus  best = focus;
    double bestRoom = -1e30;
    for (int trial = 0; trial < trials && bestRoom < enough; ++trial)
    {
      focus.x = width * HashUnit(stream + 1, trial);
      focus.y = height * HashUnit(stream + 2, trial);
      const double room = GetRoom(layout, focus);
      if (room > bestRoom)
      {
        best = focus;
        bestRoom = room;
      }
    }
    m_Foci.push_back(best);
  }
}

bool
SyntheticFoci::Contains(double x, double y) const
{
  return std::any_of(m_Foci.begin(), m_Foci.end(), [&](const Focus & focus) {
    const double dx = x - focus.x;
    const double dy = y - focus.y;
    const double limit = GreatestStretch * focus.radius;
    if (dx * dx + dy * dy > limit * limit)
    {
      return false;
    }
    const double radius = focus.GetRadius(std::atan2(dy, dx));
    return dx * dx + dy * dy < radius * radius;
  });
}

std::vector<SyntheticFoci::Outline>
SyntheticFoci::GetOutlines() const
{
  constexpr int        corners = 64;
  std::vector<Outline> outlines;
  for (const Focus & focus : m_Foci)
  {
    Outline outline;
    for (int i = 0; i < corners; ++i)
    {
      const double angle = 2.0 * Pi * i / corners;
      const double radius = focus.GetRadius(angle);
      outline.push_back({ { focus.x + radius * std::cos(angle), focus.y + radius * std::sin(angle) } });
    }
    outlines.push_back(outline);
  }
  return outlines;
}

} // namespace gigapixel

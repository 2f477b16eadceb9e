/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSyntheticArtifacts.h"
#include "gigapixelSyntheticNoise.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{
enum Stream : std::uint32_t
{
  PenStream = 0x200000,
  ThreadStream = 0x210000,
  ClumpStream = 0x220000,
  BubbleStream = 0x230000,
  CoverslipStream = 0x240000,
  StripeStream = 0x250000,
  BorderStream = 0x260000
};

/** 1 well inside an edge, 0 outside, linear over \a softness. */
double
Cover(double depth, double softness)
{
  return std::clamp(depth / softness, 0.0, 1.0);
}

/** Of some strokes that chance offers, the one with the least of it over tissue: people mark beside it, and slip. */
SyntheticStroke
ChoosePen(const SyntheticLayout & layout, double right, double bottom, std::uint32_t stream)
{
  const double    side = std::min(right, bottom);
  SyntheticStroke best(stream, right, bottom, side, 1.0);
  double          leastOverTissue = 1e9;
  for (std::uint32_t i = 0; i < 24; ++i)
  {
    const auto            chance = stream + 64 * i;
    const SyntheticStroke stroke(
      chance, right, bottom, side * HashBetween(chance, 1, 0.15, 0.35), 0.5 * std::min(450.0, 0.022 * side));
    double overTissue = 0.0;
    for (std::size_t p = 0; p < stroke.GetX().size(); ++p)
    {
      overTissue += layout.GetTissueDepth(stroke.GetX()[p], stroke.GetY()[p]) > 0.0 ? 1.0 : 0.0;
    }
    if (overTissue < leastOverTissue)
    {
      leastOverTissue = overTissue;
      best = stroke;
    }
  }
  return best;
}
} // namespace

SyntheticArtifacts::SyntheticArtifacts(std::int64_t            width,
                                       std::int64_t            height,
                                       double                  micronsPerPixel,
                                       const SyntheticLayout & layout,
                                       std::uint32_t           seed)
  : m_Width(width)
  , m_Height(height)
  , m_PixelSize(micronsPerPixel)
  , m_Seed(seed)
{
  const double right = static_cast<double>(width) * micronsPerPixel;
  const double bottom = static_cast<double>(height) * micronsPerPixel;
  const double side = std::min(right, bottom);

  const std::array<double, 3> inks[] = {
    { 1.30, 0.80, 0.22 }, { 1.25, 0.45, 0.95 }, { 1.35, 1.40, 1.25 }, { 0.15, 1.10, 0.85 }, { 0.03, 0.35, 1.30 }
  };
  for (std::uint32_t i = 0; i < 5; ++i)
  {
    m_Lines.push_back({ ChoosePen(layout, right, bottom, seed + PenStream + 0x1000 * i), inks[i], 6.0, true });
  }
  const std::array<double, 3> fibers[] = { { 0.90, 0.55, 0.15 }, { 0.10, 0.80, 0.60 }, { 0.55, 0.62, 0.75 } };
  for (std::uint32_t i = 0; i < 6; ++i)
  {
    const auto stream = seed + ThreadStream + 64 * i;
    m_Lines.push_back({ { stream, right, bottom, std::min(2500.0, side * HashBetween(stream, 1, 0.15, 0.4)), 7.0 },
                        fibers[i % 3],
                        3.0,
                        false });
  }
  for (std::uint32_t i = 0; i < 14; ++i)
  {
    const bool isBubble = i < 4;
    const auto stream = seed + (isBubble ? BubbleStream : ClumpStream) + 64 * i;
    m_Discs.push_back({ right * HashUnit(stream, 1),
                        bottom * HashUnit(stream, 2),
                        isBubble ? std::min(1500.0, side * HashBetween(stream, 3, 0.02, 0.07))
                                 : HashBetween(stream, 3, 30.0, std::min(130.0, std::max(31.0, 0.05 * side))),
                        isBubble });
  }
  m_CoverslipX = right * HashBetween(seed + CoverslipStream, 1, 0.93, 0.97);
  m_CoverslipSlope = 0.02 * side / bottom * HashBetween(seed + CoverslipStream, 2, -1.0, 1.0);
  m_StripeWidth = std::max<std::int64_t>(64, static_cast<std::int64_t>(1000.0 / micronsPerPixel));
  m_FrameLeft = static_cast<std::int64_t>(0.02 * static_cast<double>(std::min(width, height)));
  m_FrameTop = m_FrameLeft / 2;
  const auto share = [&](int i, std::int64_t of) {
    return static_cast<std::int64_t>(HashBetween(seed + BorderStream, i, 0.06, 0.16) * static_cast<double>(of));
  };
  m_Unscanned.width = share(1, width);
  m_Unscanned.height = share(2, height);
  m_Unscanned.x = width - m_Unscanned.width;
  m_Unscanned.y = HashUnit(seed + BorderStream, 3) < 0.5 ? 0 : height - m_Unscanned.height;
}

std::vector<const SyntheticArtifacts::Line *>
SyntheticArtifacts::GetLines(const SceneRegion & region) const
{
  std::vector<const Line *> lines;
  for (const Line & line : m_Lines)
  {
    if (line.stroke.MayTouch(static_cast<double>(region.x) * m_PixelSize,
                             static_cast<double>(region.y) * m_PixelSize,
                             static_cast<double>(region.x + region.width) * m_PixelSize,
                             static_cast<double>(region.y + region.height) * m_PixelSize))
    {
      lines.push_back(&line);
    }
  }
  return lines;
}

std::vector<const SyntheticArtifacts::Disc *>
SyntheticArtifacts::GetDiscs(const SceneRegion & region) const
{
  std::vector<const Disc *> discs;
  for (const Disc & disc : m_Discs)
  {
    const double reach = 1.5 * disc.radius + 60.0;
    if (disc.x + reach > static_cast<double>(region.x) * m_PixelSize &&
        disc.y + reach > static_cast<double>(region.y) * m_PixelSize &&
        disc.x - reach < static_cast<double>(region.x + region.width) * m_PixelSize &&
        disc.y - reach < static_cast<double>(region.y + region.height) * m_PixelSize)
    {
      discs.push_back(&disc);
    }
  }
  return discs;
}

void
SyntheticArtifacts::PassDisc(const Disc & disc, double x, double y, Light & light) const
{
  const double dx = x - disc.x;
  const double dy = y - disc.y;
  const double distance = std::sqrt(dx * dx + dy * dy);
  if (disc.isBubble)
  {
    const double ring = 10.0 + 15.0 * Cover(disc.radius, 800.0);
    const double dark = 0.75 * (1.0 - std::min(1.0, std::abs(distance - disc.radius) / ring));
    const double bright = distance < disc.radius - ring ? 1.012 : 1.0;
    for (double & factor : light)
    {
      factor *= (1.0 - dark) * bright;
    }
    return;
  }
  const double rough = 0.35 * disc.radius * FractalNoise(m_Seed + ClumpStream, x / 40.0, y / 40.0, 3);
  const double cover = Cover(disc.radius + rough - distance, 8.0);
  const double thickness = cover * (1.0 + 0.4 * SmoothNoise(m_Seed + ClumpStream + 9, x / 12.0, y / 12.0));
  light[0] *= std::exp(-0.55 * thickness);
  light[1] *= std::exp(-0.80 * thickness);
  light[2] *= std::exp(-1.15 * thickness);
}

/** Coverslip and stripes: everywhere. */
void
SyntheticArtifacts::PassGlass(double x, double y, std::int64_t column, Light & light) const
{
  const double beyond = x - (m_CoverslipX + m_CoverslipSlope * y);
  const double edge = 1.0 - 0.35 * (1.0 - std::min(1.0, std::abs(beyond) / 18.0));
  const auto   stripe = static_cast<std::int32_t>(column / m_StripeWidth);
  const double step = 1.0 + 0.02 * (HashUnit(m_Seed + StripeStream, stripe) - 0.5);
  const Light  cast = { 0.985, 0.975, 0.958 };
  for (std::size_t c = 0; c < 3; ++c)
  {
    light[c] *= edge * step * (beyond > 0.0 ? cast[c] : 1.0);
  }
}

bool
SyntheticArtifacts::IsBeyondScan(std::int64_t x, std::int64_t y, std::uint8_t & gray) const
{
  gray = m_Unscanned.Contains(x, y) ? 255 : 0;
  return gray == 255 || x < m_FrameLeft || y < m_FrameTop;
}

void
SyntheticArtifacts::Draw(const SceneRegion & region, std::uint8_t * rgb, std::int64_t rowBytes) const
{
  const auto lines = GetLines(region);
  const auto discs = GetDiscs(region);
  for (std::int64_t y = region.y; y < region.y + region.height; ++y)
  {
    std::uint8_t * pixel = rgb + (y - region.y) * rowBytes;
    const double   py = (static_cast<double>(y) + 0.5) * m_PixelSize;
    for (std::int64_t x = region.x; x < region.x + region.width; ++x, pixel += 3)
    {
      std::uint8_t gray = 0;
      if (IsBeyondScan(x, y, gray))
      {
        std::fill_n(pixel, 3, gray);
        continue;
      }
      const double px = (static_cast<double>(x) + 0.5) * m_PixelSize;
      Light        light = { 1.0, 1.0, 1.0 };
      for (const Disc * disc : discs)
      {
        PassDisc(*disc, px, py, light);
      }
      for (const Line * line : lines)
      {
        const double depth = line->stroke.GetHalfWidth() - line->stroke.GetDistance(px, py);
        const double cover = Cover(depth, line->softness);
        for (std::size_t c = 0; c < 3 && cover > 0.0; ++c)
        {
          light[c] *= std::exp(-cover * line->density[c]);
        }
      }
      PassGlass(px, py, x, light);
      for (std::size_t c = 0; c < 3; ++c)
      {
        pixel[c] = static_cast<std::uint8_t>(std::min(255.0, std::floor(pixel[c] * light[c] + 0.5)));
      }
    }
  }
}

void
SyntheticArtifacts::Hide(const SceneRegion & region, std::uint8_t * mask, std::int64_t rowLength) const
{
  const auto lines = GetLines(region);
  for (std::int64_t y = region.y; y < region.y + region.height; ++y)
  {
    std::uint8_t * pixel = mask + (y - region.y) * rowLength;
    for (std::int64_t x = region.x; x < region.x + region.width; ++x, ++pixel)
    {
      std::uint8_t ignored = 0;
      const bool   hidden =
        IsBeyondScan(x, y, ignored) || std::any_of(lines.begin(), lines.end(), [&](const Line * line) {
          return line->hides &&
                 line->stroke.GetDistance((static_cast<double>(x) + 0.5) * m_PixelSize,
                                          (static_cast<double>(y) + 0.5) * m_PixelSize) < line->stroke.GetHalfWidth();
        });
      *pixel = hidden ? 0 : *pixel;
    }
  }
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSyntheticLayout.h"
#include "gigapixelSyntheticNoise.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gigapixel
{
namespace
{
/** Every use of chance has a stream of its own. */
enum Stream : std::uint32_t
{
  PieceStream = 0x1000,
  OutlineStream = 0x2000,
  WarpStream = 0x3000,
  HoleStream = 0x4000,
  TearStream = 0x5000,
  KindStream = 0x6000,
  StrokeStream = 0x7000
};

/** Structures of tissue have a physical size where the piece has room for it. */
constexpr double LargestHole = 500.0;
constexpr double LargestZone = 1400.0;

double
SmoothStep(double low, double high, double value)
{
  const double t = std::clamp((value - low) / (high - low), 0.0, 1.0);
  return t * t * (3.0 - 2.0 * t);
}

/** The value above which \a share of the values lie. */
double
UpperQuantile(std::vector<double> values, double share)
{
  if (values.empty())
  {
    return std::numeric_limits<double>::max();
  }
  const auto rank = static_cast<std::size_t>((1.0 - share) * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
  return values[rank];
}
} // namespace

SyntheticLayout::SyntheticLayout(double width, double height, std::uint32_t seed)
  : m_Width(width)
  , m_Height(height)
  , m_Seed(HashPoint(0x51DEu, static_cast<std::int32_t>(seed), 0))
{
  const double aspect = std::max(width, height) / std::min(width, height);
  const auto   chance = HashPoint(m_Seed + PieceStream, 0, 0);
  unsigned count = 1 + chance % 3; // a resection or a few biopsies on a square slide, a row of sections on a long one
  if (aspect > 1.5)
  {
    count = aspect > 2.5 ? 3 + chance % 3 : 2 + chance % 2;
  }
  PlacePieces(0.0, 0.0, width, height, count, 1);
  for (const Piece & piece : m_Pieces)
  {
    m_PieceRadius = std::max(m_PieceRadius, std::min(piece.radiusX, piece.radiusY));
  }
  SetThresholds();
  PlaceStrokes();
}

/** Halves the rectangle, not quite in the middle, until each part holds one piece. */
void
SyntheticLayout::PlacePieces(double left, double top, double right, double bottom, unsigned count, unsigned number)
{
  const auto   stream = m_Seed + PieceStream + number * 16;
  const double width = right - left;
  const double height = bottom - top;
  if (count > 1)
  {
    const unsigned half = count / 2;
    const double   share = static_cast<double>(half) / count + HashBetween(stream, 1, -0.05, 0.05);
    if (width > height)
    {
      PlacePieces(left, top, left + share * width, bottom, half, 2 * number);
      PlacePieces(left + share * width, top, right, bottom, count - half, 2 * number + 1);
    }
    else
    {
      PlacePieces(left, top, right, top + share * height, half, 2 * number);
      PlacePieces(left, top + share * height, right, bottom, count - half, 2 * number + 1);
    }
    return;
  }
  const double angle = HashBetween(stream, 2, -0.25, 0.25);
  Piece        piece;
  piece.x = left + width * HashBetween(stream, 3, 0.46, 0.54);
  piece.y = top + height * HashBetween(stream, 4, 0.46, 0.54);
  piece.radiusX = 0.5 * width * HashBetween(stream, 5, 0.78, 0.98);
  piece.radiusY = 0.5 * height * HashBetween(stream, 6, 0.74, 0.96);
  piece.cosine = std::cos(angle);
  piece.sine = std::sin(angle);
  m_Pieces.push_back(piece);
}

/** 1 at the middle of a piece, 0 at its ellipse, negative outside; warped and roughened by noise. */
double
SyntheticLayout::GetOutline(double x, double y) const
{
  const double scale = 1.0 / m_PieceRadius;
  const double warpX = 0.30 * m_PieceRadius * FractalNoise(m_Seed + WarpStream, 0.9 * x * scale, 0.9 * y * scale, 2);
  const double warpY =
    0.30 * m_PieceRadius * FractalNoise(m_Seed + WarpStream + 7, 0.9 * x * scale, 0.9 * y * scale, 2);
  double best = -1e9;
  for (const Piece & piece : m_Pieces)
  {
    const double dx = x + warpX - piece.x;
    const double dy = y + warpY - piece.y;
    const double u = (dx * piece.cosine + dy * piece.sine) / piece.radiusX;
    const double v = (dy * piece.cosine - dx * piece.sine) / piece.radiusY;
    best = std::max(best, 1.0 - std::sqrt(u * u + v * v));
  }
  // Far away no noise brings tissue back.
  if (best < -1.0)
  {
    return best;
  }
  const double rough = FractalNoise(m_Seed + OutlineStream, 1.7 * x * scale, 1.7 * y * scale, 6, 0.52);
  const double border = std::min(std::min(x, m_Width - x), std::min(y, m_Height - y));
  const double nearBorder = std::max(0.0, 1.0 - border / (0.07 * std::min(m_Width, m_Height)));
  return best + 0.17 * rough - 1.2 * nearBorder * nearBorder;
}

double
SyntheticLayout::GetHoleField(double x, double y) const
{
  const double scale = 1.0 / std::min(LargestHole, 0.45 * m_PieceRadius);
  const double clusters = SmoothNoise(m_Seed + HoleStream + 9, 0.22 * x * scale, 0.22 * y * scale);
  return FractalNoise(m_Seed + HoleStream, x * scale, y * scale, 4, 0.45) + 0.45 * clusters;
}

/** Tears: thin bands along the zero of a noise, in a part of the piece only. */
double
SyntheticLayout::GetTearDepth(double x, double y) const
{
  const double size = 0.9 * std::min(2.0 * LargestZone, m_PieceRadius);
  const double where = SmoothNoise(m_Seed + TearStream + 3, 0.6 * x / size, 0.6 * y / size);
  if (where < 0.2)
  {
    return 1e9;
  }
  const double ridge = std::abs(FractalNoise(m_Seed + TearStream, x / size, y / size, 4, 0.4));
  return (ridge - std::min(0.20 * (where - 0.4), 0.03)) * 0.5 * size;
}

double
SyntheticLayout::GetTissueDepth(double x, double y) const
{
  const double outline = (GetOutline(x, y) - m_OutlineThreshold) * m_PieceRadius;
  if (outline < -60.0)
  {
    return outline;
  }
  const double holeSize = std::min(LargestHole, 0.45 * m_PieceRadius);
  const double hole = (m_HoleThreshold - GetHoleField(x, y)) * 0.4 * holeSize;
  return std::min(std::min(outline, hole), GetTearDepth(x, y));
}

SyntheticLayout::Kind
SyntheticLayout::GetKind(double x, double y) const
{
  const double scale = 1.0 / std::min(LargestZone, 0.6 * m_PieceRadius);
  const double u = x * scale;
  const double v = y * scale;
  const auto   stream = m_Seed + KindStream;
  Kind         kind;
  kind.cellularity = std::clamp(0.5 + 0.5 * FractalNoise(stream, 1.6 * u, 1.6 * v, 3), 0.0, 1.0);
  kind.glandular = SmoothStep(-0.10, 0.22, FractalNoise(stream + 16, 0.8 * u, 0.8 * v, 3));
  const double pale = FractalNoise(stream + 32, 0.7 * u, 0.7 * v, 3, 0.4);
  const double fat = FractalNoise(stream + 48, 0.8 * u, 0.8 * v, 3, 0.4);
  kind.pale = SmoothStep(m_PaleThreshold - 0.22, m_PaleThreshold + 0.10, pale);
  kind.fat = SmoothStep(m_FatThreshold - 0.02, m_FatThreshold + 0.02, fat);
  return kind;
}

void
SyntheticLayout::SetThresholds()
{
  constexpr double    samples = 24000.0;
  const double        step = std::sqrt(m_Width * m_Height / samples);
  std::vector<double> outlines;
  for (double y = 0.5 * step; y < m_Height; y += step)
  {
    for (double x = 0.5 * step; x < m_Width; x += step)
    {
      outlines.push_back(GetOutline(x, y));
    }
  }
  m_OutlineThreshold = UpperQuantile(outlines, HashBetween(m_Seed + OutlineStream, 99, 0.34, 0.53));

  std::vector<double> holes;
  std::vector<double> pale;
  std::vector<double> fat;
  const double        scale = 1.0 / std::min(LargestZone, 0.6 * m_PieceRadius);
  const auto          stream = m_Seed + KindStream;
  for (double y = 0.5 * step; y < m_Height; y += step)
  {
    for (double x = 0.5 * step; x < m_Width; x += step)
    {
      if (GetOutline(x, y) > m_OutlineThreshold)
      {
        holes.push_back(GetHoleField(x, y));
        pale.push_back(FractalNoise(stream + 32, 0.7 * x * scale, 0.7 * y * scale, 3, 0.4));
        fat.push_back(FractalNoise(stream + 48, 0.8 * x * scale, 0.8 * y * scale, 3, 0.4));
      }
    }
  }
  m_HoleThreshold = UpperQuantile(holes, HashBetween(m_Seed + HoleStream, 99, 0.004, 0.016));
  m_PaleThreshold = UpperQuantile(pale, HashBetween(stream, 98, 0.004, 0.022));
  // Fat in one specimen of three: wide white areas inside tissue are what no window of some cells' width can judge.
  const double fatShare = HashBetween(stream, 99, -0.016, 0.008);
  if (fatShare > 0.0)
  {
    m_FatThreshold = UpperQuantile(fat, fatShare);
  }
}

SyntheticStroke
SyntheticLayout::DrawStroke(std::int32_t candidate) const
{
  const auto   stream = m_Seed + StrokeStream + static_cast<std::uint32_t>(candidate) * 32;
  const double side = std::min(m_Width, m_Height);
  return { stream,
           m_Width,
           m_Height,
           side * HashBetween(stream, 1, 0.35, 0.65),
           0.5 * std::min(450.0, side * HashBetween(stream, 6, 0.018, 0.030)) };
}

/** Of many strokes that chance offers, those that run over glass: people mark beside the tissue. */
void
SyntheticLayout::PlaceStrokes()
{
  constexpr int candidates = 60;
  const double  aspect = std::max(m_Width, m_Height) / std::min(m_Width, m_Height);
  const auto wanted = static_cast<std::size_t>(1.0 + std::min(3.0, 0.5 * aspect) * HashUnit(m_Seed + StrokeStream, 5));
  const double side = std::min(m_Width, m_Height);

  std::vector<std::pair<double, int>> offers;
  for (int i = 0; i < candidates; ++i)
  {
    const SyntheticStroke stroke = DrawStroke(i);
    double                cost = 0.0;
    for (std::size_t p = 0; p < stroke.GetX().size(); ++p)
    {
      const double x = stroke.GetX()[p];
      const double y = stroke.GetY()[p];
      const bool   outside = x < 0.0 || y < 0.0 || x > m_Width || y > m_Height;
      cost += outside ? 1.0 : 0.0;
      cost += std::clamp(0.5 + GetTissueDepth(x, y) / (0.05 * side), 0.0, 1.0);
    }
    offers.emplace_back(cost, i);
  }
  std::sort(offers.begin(), offers.end());
  for (std::size_t i = 0; i < wanted; ++i)
  {
    m_Strokes.push_back(DrawStroke(offers[i].second));
  }
}

double
SyntheticLayout::GetPenDepth(double x, double y) const
{
  double depth = -1e9;
  for (const SyntheticStroke & stroke : m_Strokes)
  {
    const double distance = stroke.GetDistance(x, y);
    const double halfWidth = stroke.GetHalfWidth();
    const double wobble = SmoothNoise(m_Seed + StrokeStream, x / (2.0 * halfWidth), y / (2.0 * halfWidth));
    depth = std::max(depth, halfWidth * (1.0 + 0.2 * wobble) - distance);
  }
  return depth;
}

} // namespace gigapixel

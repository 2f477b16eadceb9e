/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSyntheticScene.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{
enum Stream : std::uint32_t
{
  ColorStream = 0x10000,
  RoughStream = 0x20000,
  GlandStream = 0x30000,
  WaveStream = 0x40000,
  ShadeStream = 0x50000,
  SensorStream = 0x60000,
  StrewnStream = 0x70000
};

constexpr std::int32_t DepthLimit = 2000 * 16;

/** Roughness() moves an edge by less than this, 1/16 micrometer. */
constexpr std::int32_t RoughnessLimit = 12 * 16;

/** Log2 of the node distance in pixels: the power of two that is nearest to 8 micrometers. */
int
ChooseNodeShift(double micronsPerPixel)
{
  int shift = 1;
  while (shift < 7 && micronsPerPixel * (1 << shift) < 5.7)
  {
    ++shift;
  }
  return shift;
}

std::int32_t
ToDepth(double micrometers)
{
  return static_cast<std::int32_t>(std::clamp(micrometers * 16.0, -1.0 * DepthLimit, 1.0 * DepthLimit));
}

std::int32_t
ToFraction(double value)
{
  return static_cast<std::int32_t>(std::clamp(value, 0.0, 1.0) * 4096.0);
}

std::array<std::int32_t, 3>
ToDensities(double red, double green, double blue)
{
  return { static_cast<std::int32_t>(red * 1024.0),
           static_cast<std::int32_t>(green * 1024.0),
           static_cast<std::int32_t>(blue * 1024.0) };
}
} // namespace

SyntheticScene::SyntheticScene(const Settings & settings)
  : m_Width(settings.width)
  , m_Height(settings.height)
  , m_PixelSize(static_cast<FixedLength>(settings.micronsPerPixel * 65536.0 + 0.5))
  , m_Seed(HashPoint(0x5EEDu, static_cast<std::int32_t>(settings.seed), 1))
  , m_NodeShift(ChooseNodeShift(settings.micronsPerPixel))
  , m_Layout(static_cast<double>(settings.width) * settings.micronsPerPixel,
             static_cast<double>(settings.height) * settings.micronsPerPixel,
             settings.seed)
  , m_FocusKind(settings.foci)
{
  const auto stream = m_Seed + ColorStream;
  m_Eosin = ToDensities(HashBetween(stream, 1, 0.13, 0.24), 1.0, HashBetween(stream, 2, 0.40, 0.62));
  m_Haematoxylin = ToDensities(HashBetween(stream, 3, 0.70, 0.90), 1.0, HashBetween(stream, 4, 0.38, 0.55));
  m_EosinStrength = static_cast<std::int32_t>(1024 * HashBetween(stream, 5, 0.36, 0.52));
  m_HaematoxylinStrength = static_cast<std::int32_t>(1024 * HashBetween(stream, 6, 0.85, 1.20));
  if (settings.brown)
  {
    // A. C. Ruifrok and D. A. Johnston (Anal. Quant. Cytol. Histol. 23:291, 2001) measured the two stains' vectors.
    m_Eosin = ToDensities(0.268 / 0.570, 1.0, 0.776 / 0.570);
    m_Haematoxylin = ToDensities(0.650 / 0.704, 1.0, 0.286 / 0.704);
    m_HaematoxylinStrength = m_HaematoxylinStrength * 3 / 5;
  }
  const std::array<std::int32_t, 3> inks[] = { ToDensities(1.30, 0.80, 0.22),
                                               ToDensities(1.25, 0.45, 0.95),
                                               ToDensities(1.35, 1.40, 1.25),
                                               ToDensities(0.15, 1.10, 0.85) };
  m_Pen = inks[HashPoint(stream, 7, 0) % 4];
  m_GlassLight = { static_cast<std::int32_t>(16 * HashBetween(stream, 8, 241.0, 245.0)),
                   static_cast<std::int32_t>(16 * HashBetween(stream, 9, 241.0, 245.0)),
                   static_cast<std::int32_t>(16 * HashBetween(stream, 10, 242.0, 246.0)) };
  const double angle = HashBetween(stream, 11, 0.0, 6.2831853);
  m_FiberCosine = static_cast<std::int32_t>(std::lround(1024.0 * std::cos(angle)));
  m_FiberSine = static_cast<std::int32_t>(std::lround(1024.0 * std::sin(angle)));
  m_FiberDirection = static_cast<unsigned>(std::lround(angle / 3.14159265358979 * 64.0)) % 64;
  for (int density = 0; density < 4096; ++density)
  {
    m_Transmission.push_back(static_cast<std::int32_t>(std::lround(65536.0 * std::exp(-density / 1024.0))));
  }
  for (std::size_t i = 0; i < m_Cosine.size(); ++i)
  {
    m_Cosine[i] = static_cast<std::int32_t>(std::lround(1024.0 * std::cos(3.14159265358979 * i / 64.0)));
    m_Sine[i] = static_cast<std::int32_t>(std::lround(1024.0 * std::sin(3.14159265358979 * i / 64.0)));
  }
  if (settings.artifacts)
  {
    m_Artifacts = std::make_unique<const SyntheticArtifacts>(
      settings.width, settings.height, settings.micronsPerPixel, m_Layout, m_Seed);
  }
  if (m_FocusKind != FocusKind::None)
  {
    const double width = static_cast<double>(settings.width) * settings.micronsPerPixel;
    const double height = static_cast<double>(settings.height) * settings.micronsPerPixel;
    m_Foci = SyntheticFoci(m_Layout, width, height, settings.fociShare * width * height, m_Seed);
    EqualizeNuclei();
  }
}

double
SyntheticScene::GetNodePosition(std::int64_t node) const
{
  return static_cast<double>(GetPosition(ShiftLeft(node, m_NodeShift))) * (1.0 / 65536.0);
}

SyntheticScene::Shapes
SyntheticScene::GetShapes(std::int64_t blockX, std::int64_t blockY) const
{
  Shapes shapes;
  shapes.anyTissue = false;
  for (int j = 0; j < ShapeNodes; ++j)
  {
    for (int i = 0; i < ShapeNodes; ++i)
    {
      const double x = GetNodePosition(blockX * CellsPerBlock + i);
      const double y = GetNodePosition(blockY * CellsPerBlock + j);
      ShapeNode &  node = shapes.nodes[j][i];
      node.tissue = ToDepth(m_Layout.GetTissueDepth(x, y));
      node.pen = ToDepth(m_Layout.GetPenDepth(x, y));
      shapes.anyTissue = shapes.anyTissue || node.tissue > -RoughnessLimit;
    }
  }
  return shapes;
}

/** Glands sit, shaken, on a lattice of 128 micrometers. */
double
SyntheticScene::GetGlandDistance(double x, double y) const
{
  constexpr double lattice = 128.0;
  const auto       stream = m_Seed + GlandStream;
  const auto       column = static_cast<std::int32_t>(std::floor(x / lattice));
  const auto       row = static_cast<std::int32_t>(std::floor(y / lattice));
  double           nearest = 9.0;
  for (std::int32_t j = row - 1; j <= row + 1; ++j)
  {
    for (std::int32_t i = column - 1; i <= column + 1; ++i)
    {
      const double dx = x - lattice * (i + 0.2 + 0.6 * HashUnit(stream, i, j));
      const double dy = y - lattice * (j + 0.2 + 0.6 * HashUnit(stream + 1, i, j));
      const double stretch = 0.7 + 0.6 * HashUnit(stream + 2, i, j);
      const double radius = 40.0 + 26.0 * HashUnit(stream + 3, i, j);
      nearest = std::min(nearest, std::sqrt(dx * dx * stretch + dy * dy / stretch) / radius);
    }
  }
  return nearest + 0.16 * FractalNoise(stream + 4, x / 34.0, y / 34.0, 2);
}

/** A specimen with lesions and one with decoys have as many nuclei of either size, and so as much of each color: what
 * the one has in its foci, the other has strewn over its tissue outside, beside a number of both that differs from
 * specimen to specimen, so that they tell nothing. Expected numbers, over a coarse grid. */
void
SyntheticScene::EqualizeNuclei()
{
  constexpr double samples = 24000.0;
  const double     pixel = static_cast<double>(m_PixelSize) / 65536.0;
  const double     width = static_cast<double>(m_Width) * pixel;
  const double     height = static_cast<double>(m_Height) * pixel;
  const double     step = std::sqrt(width * height / samples);
  double           inside = 0.0;
  double           outside = 0.0;
  for (double y = 0.5 * step; y < height; y += step)
  {
    for (double x = 0.5 * step; x < width; x += step)
    {
      const bool isTissue = m_Layout.GetTissueDepth(x, y) > 0.0 && m_Layout.GetPenDepth(x, y) <= 0.0;
      (m_Foci.Contains(x, y) ? inside : outside) += isTissue ? 1.0 : 0.0;
    }
  }
  const double ofFoci = outside > 0.0 ? CrowdedNuclei * inside / outside : 0.0;
  for (int enlarged = 0; enlarged < 2; ++enlarged)
  {
    const bool isCrowd = (enlarged == 1) == (m_FocusKind == FocusKind::Lesion);
    m_StrewnShares[enlarged] =
      ofFoci * (HashBetween(m_Seed + StrewnStream, enlarged, 0.0, 2.0) + (isCrowd ? 0.0 : 1.0));
  }
}

SyntheticScene::KindNode
SyntheticScene::GetKindNode(double x, double y) const
{
  KindNode node = GetTissueNode(x, y);
  if (m_FocusKind != FocusKind::None && m_Foci.Contains(x, y))
  {
    // The ground of both kinds of foci is that of lymphoid tissue. Their nuclei have a lattice of their own.
    node.cellularity = 4096;
    node.glandular = node.pale = node.fat = node.nuclei = 0;
    node.gland = 9 * 1024;
  }
  return node;
}

/** What is there without foci. */
SyntheticScene::KindNode
SyntheticScene::GetTissueNode(double x, double y) const
{
  const SyntheticLayout::Kind kind = m_Layout.GetKind(x, y);
  KindNode                    node;
  node.cellularity = ToFraction(kind.cellularity);
  node.glandular = ToFraction(kind.glandular);
  node.pale = ToFraction(kind.pale);
  node.fat = ToFraction(kind.fat);
  const double gland = kind.glandular > 0.0 ? GetGlandDistance(x, y) : 9.0;
  node.gland = static_cast<std::int32_t>(1024.0 * gland);
  node.wave = static_cast<std::int32_t>(16.0 * 45.0 * FractalNoise(m_Seed + WaveStream, x / 110.0, y / 110.0, 3));

  double     taken = 0.07 + 0.22 * kind.cellularity;
  double     elongated = 0.75;
  const bool lymphoid = kind.cellularity > 0.80;
  if (kind.glandular > 0.5 && gland < 1.02)
  {
    taken = gland < 0.55 ? 0.0 : (gland > 0.66 && gland < 0.98 ? CrowdedNuclei : 0.12);
    elongated = 0.0;
  }
  else if (lymphoid)
  {
    taken = CrowdedNuclei;
    elongated = 0.0;
  }
  taken *= 1.0 - 0.93 * kind.fat;
  node.nuclei = ToFraction(taken);
  node.elongated = ToFraction(elongated);
  return node;
}

void
SyntheticScene::GetKinds(std::int64_t blockX, std::int64_t blockY, Kinds & kinds) const
{
  for (int j = 0; j < KindNodes; ++j)
  {
    for (int i = 0; i < KindNodes; ++i)
    {
      kinds.nodes[j][i] = GetKindNode(GetNodePosition(blockX * CellsPerBlock + i - Margin),
                                      GetNodePosition(blockY * CellsPerBlock + j - Margin));
    }
  }
}

/** What an edge is moved by, 1/16 micrometer: fine structure below the distance of the nodes. */
int
SyntheticScene::GetRoughness(FixedLength x, FixedLength y) const
{
  const auto stream = m_Seed + RoughStream;
  const int  coarse = ValueNoise(stream, x, y, FixedBitsPerMicrometer + 4, FixedBitsPerMicrometer + 4) - 2048;
  const int  middle = ValueNoise(stream + 1, x, y, FixedBitsPerMicrometer + 3, FixedBitsPerMicrometer + 3) - 2048;
  const int  fine = ValueNoise(stream + 2, x, y, FixedBitsPerMicrometer + 1, FixedBitsPerMicrometer + 1) - 2048;
  return (coarse * 96 + middle * 56 + fine * 32) / 2048; // at most 184 < RoughnessLimit
}

SyntheticScene::Matter
SyntheticScene::Classify(const ShapeNode & shape, FixedLength x, FixedLength y) const
{
  const bool closeToPen = std::abs(shape.pen) < RoughnessLimit;
  const bool closeToTissue = std::abs(shape.tissue) < RoughnessLimit;
  const int  rough = closeToPen || closeToTissue ? GetRoughness(x, y) : 0;
  if (shape.pen + rough > 0)
  {
    return Matter::Pen;
  }
  return shape.tissue + rough > 0 ? Matter::Tissue : Matter::Glass;
}

void
SyntheticScene::MarkTissue(const SceneRegion & region, std::uint8_t * mask, std::int64_t rowLength) const
{
  const std::int64_t blockSize = GetBlockSize();
  const std::int64_t blockX = region.x / blockSize;
  const std::int64_t blockY = region.y / blockSize;
  const Shapes       shapes = GetShapes(blockX, blockY);
  const int          inCell = (1 << m_NodeShift) - 1;
  for (std::int64_t y = region.y; y < region.y + region.height; ++y)
  {
    std::uint8_t * row = mask + (y - region.y) * rowLength;
    if (!shapes.anyTissue)
    {
      std::fill_n(row, region.width, std::uint8_t{ 0 });
      continue;
    }
    const int j = static_cast<int>(y - blockY * blockSize) >> m_NodeShift;
    for (std::int64_t x = region.x; x < region.x + region.width; ++x)
    {
      const int         i = static_cast<int>(x - blockX * blockSize) >> m_NodeShift;
      const ShapeNode & a = shapes.nodes[j][i];
      const ShapeNode & b = shapes.nodes[j][i + 1];
      const ShapeNode & c = shapes.nodes[j + 1][i];
      const ShapeNode & d = shapes.nodes[j + 1][i + 1];
      const int         tx = static_cast<int>(x) & inCell;
      const int         ty = static_cast<int>(y) & inCell;
      const ShapeNode   shape{ InterpolateNodes(a.tissue, b.tissue, c.tissue, d.tissue, tx, ty, m_NodeShift),
                             InterpolateNodes(a.pen, b.pen, c.pen, d.pen, tx, ty, m_NodeShift) };
      row[x - region.x] = Classify(shape, GetPosition(x), GetPosition(y)) == Matter::Tissue ? 255 : 0;
    }
  }
  if (m_Artifacts != nullptr)
  {
    m_Artifacts->Hide(region, mask, rowLength);
  }
}

} // namespace gigapixel

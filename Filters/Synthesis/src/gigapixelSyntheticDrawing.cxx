/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSyntheticScene.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace gigapixel
{
namespace
{
enum Stream : std::uint32_t
{
  NucleusStream = 0x100000,
  DebrisStream = 0x110000,
  FiberStream = 0x120000,
  GrainStream = 0x130000,
  FatStream = 0x140000,
  InkStream = 0x150000,
  ShadeStream = 0x160000,
  SensorStream = 0x170000
};

/** From the streams of the tissue's nuclei to those of the foci's. */
constexpr std::uint32_t FocusNuclei = 16;

/** From the middle of four nuclei to theirs along each axis, so that they touch. */
constexpr FixedLength ToTouching = (FixedLength{ 7 } << FixedBitsPerMicrometer) / 2;

/** A shift of ValueNoise() for a lattice of 2^k micrometers. */
constexpr int
Micrometers(int k)
{
  return FixedBitsPerMicrometer + k;
}

/** 0 below low, 1024 above high, linear between. */
inline std::int32_t
Ramp(std::int32_t value, std::int32_t low, std::int32_t high)
{
  return std::clamp((value - low) * 1024 / (high - low), 0, 1024);
}

/** From a (weight 0) to b (weight 1024). */
inline std::int32_t
Blend(std::int32_t a, std::int32_t b, std::int32_t weight)
{
  return a + (((b - a) * weight) >> 10);
}

/** Noise of the camera at pixel x of a row: a byte for each channel. Cheap, because glass needs it at every pixel. */
inline std::uint32_t
GetSensorNoise(std::uint32_t rowHash, std::int64_t x)
{
  std::uint32_t bits = rowHash + static_cast<std::uint32_t>(x) * 0x9E3779B1u;
  bits = (bits ^ (bits >> 16)) * 0x85EBCA6Bu;
  return bits ^ (bits >> 13);
}

/** Two nibbles of noise make a triangular deviation of -15..15 eighths of a gray level. */
inline std::uint8_t
AddNoise(std::int32_t sixteenths, std::uint32_t noise)
{
  const auto deviation = static_cast<std::int32_t>((noise & 15) + ((noise >> 4) & 15)) - 15;
  return static_cast<std::uint8_t>(std::clamp((sixteenths + 2 * deviation + 8) >> 4, 0, 255));
}

struct Range
{
  std::int64_t begin, end;
};

/** The pixels of [begin, begin + size) within \a reach of a place. */
Range
GetReached(FixedLength place, FixedLength reach, FixedLength pixelSize, std::int64_t begin, std::int64_t size)
{
  return { std::max(begin, (place - reach) / pixelSize - 1), std::min(begin + size, (place + reach) / pixelSize + 2) };
}
} // namespace

void
SyntheticScene::DrawEllipse(Canvas & canvas, std::vector<std::int16_t> & layer, const Ellipse & ellipse) const
{
  const SceneRegion & region = canvas.region;
  const auto          reach = static_cast<FixedLength>(std::max(ellipse.radiusA, ellipse.radiusB)) * 5 / 4 * 4096;
  const Range         rows = GetReached(ellipse.y, reach, m_PixelSize, region.y, region.height);
  const Range         columns = GetReached(ellipse.x, reach, m_PixelSize, region.x, region.width);
  const std::int64_t  inverseA = (std::int64_t{ 1 } << 30) / (ellipse.radiusA * ellipse.radiusA);
  const std::int64_t  inverseB = (std::int64_t{ 1 } << 30) / (ellipse.radiusB * ellipse.radiusB);
  const std::int32_t  cosine = m_Cosine[ellipse.direction];
  const std::int32_t  sine = m_Sine[ellipse.direction];
  for (std::int64_t y = rows.begin; y < rows.end; ++y)
  {
    const auto     dy = static_cast<std::int32_t>((GetPosition(y) - ellipse.y) >> 12);
    std::int16_t * row = layer.data() + (y - region.y) * region.width - region.x;
    for (std::int64_t x = columns.begin; x < columns.end; ++x)
    {
      const auto         dx = static_cast<std::int32_t>((GetPosition(x) - ellipse.x) >> 12);
      const std::int64_t a = (dx * cosine + dy * sine) >> 10;
      const std::int64_t b = (dy * cosine - dx * sine) >> 10;
      const auto         q =
        static_cast<std::int32_t>(std::min<std::int64_t>((a * a * inverseA + b * b * inverseB) >> 20, 4096));
      const std::int32_t weight = 1024 - Ramp(q, 1024 - ellipse.softness, 1024 + ellipse.softness / 4);
      row[x] = static_cast<std::int16_t>(std::max<std::int32_t>(row[x], (ellipse.density * weight) >> 10));
    }
  }
}

SyntheticScene::LatticePart
SyntheticScene::GetReachedPart(const SceneRegion & region, int lattice, FixedLength reach) const
{
  return { static_cast<std::int32_t>((GetPosition(region.x) - reach) >> lattice),
           static_cast<std::int32_t>((GetPosition(region.x + region.width - 1) + reach) >> lattice),
           static_cast<std::int32_t>((GetPosition(region.y) - reach) >> lattice),
           static_cast<std::int32_t>((GetPosition(region.y + region.height - 1) + reach) >> lattice) };
}

/** The nucleus at a place of the shaken lattice of 8 micrometers, or, enlarged, of a lattice as much wider. */
SyntheticScene::Ellipse
SyntheticScene::GetNucleus(std::uint32_t stream, std::int32_t column, std::int32_t row, bool spindle, int enlargement)
  const
{
  const int           lattice = Micrometers(3);
  const std::uint32_t place = HashPoint(stream, column, row);
  const std::uint32_t shape = HashPoint(stream + 2, column, row);
  const auto          vary = static_cast<std::int32_t>(shape & 31);           // 0..31
  const auto          varyToo = static_cast<std::int32_t>((shape >> 5) & 15); // 0..15
  Ellipse             nucleus;
  nucleus.x = (ShiftLeft(column, lattice) + static_cast<FixedLength>(place & 0xFFFF) * 8) * enlargement;
  nucleus.y = (ShiftLeft(row, lattice) + static_cast<FixedLength>(place >> 16) * 8) * enlargement;
  nucleus.radiusA = (spindle ? 80 + vary + varyToo : 48 + vary) * enlargement; // 5 to 8, 3 to 5 micrometers
  nucleus.radiusB = (spindle ? 20 + varyToo : 44 + varyToo) * enlargement;     // 1.3 to 2.2, 2.8 to 3.7 micrometers
  nucleus.direction = spindle ? (m_FiberDirection + 58 + (shape >> 10) % 13) % 64 : (shape >> 10) % 64;
  nucleus.density = m_HaematoxylinStrength * static_cast<std::int32_t>(700 + (shape >> 20) % 400) / 1024;
  nucleus.softness = 360;
  return nucleus;
}

/** Places for nuclei lie on a shaken lattice of 8 micrometers; the kind of tissue says which are taken. */
void
SyntheticScene::DrawNuclei(Canvas & canvas, const Kinds & kinds) const
{
  constexpr FixedLength reach = FixedLength{ 11 } << FixedBitsPerMicrometer;
  const FixedLength     nodeSize = m_PixelSize << m_NodeShift;
  const FixedLength     firstNodeX =
    GetPosition((canvas.blockX * CellsPerBlock - Margin) * (std::int64_t{ 1 } << m_NodeShift));
  const FixedLength firstNodeY =
    GetPosition((canvas.blockY * CellsPerBlock - Margin) * (std::int64_t{ 1 } << m_NodeShift));
  const LatticePart part = GetReachedPart(canvas.region, Micrometers(3), reach);
  for (std::int32_t row = part.top; row <= part.bottom; ++row)
  {
    for (std::int32_t column = part.left; column <= part.right; ++column)
    {
      const std::uint32_t place = HashPoint(m_Seed + NucleusStream, column, row);
      const std::uint32_t look = HashPoint(m_Seed + NucleusStream + 1, column, row);
      const FixedLength   x = ShiftLeft(column, Micrometers(3)) + static_cast<FixedLength>(place & 0xFFFF) * 8;
      const FixedLength   y = ShiftLeft(row, Micrometers(3)) + static_cast<FixedLength>(place >> 16) * 8;
      const auto          i = static_cast<std::int64_t>(x - firstNodeX + nodeSize / 2) / nodeSize;
      const auto          j = static_cast<std::int64_t>(y - firstNodeY + nodeSize / 2) / nodeSize;
      if (i < 0 || j < 0 || i >= KindNodes || j >= KindNodes)
      {
        continue; // beyond the margin, and so beyond its own reach
      }
      const KindNode & kind = kinds.nodes[j][i];
      if (static_cast<std::int32_t>(look & 4095) >= kind.nuclei)
      {
        continue;
      }
      const bool spindle = static_cast<std::int32_t>((look >> 12) & 4095) < kind.elongated;
      DrawEllipse(canvas, canvas.nuclei, GetNucleus(m_Seed + NucleusStream, column, row, spindle, 1));
    }
  }
}

/** Of lesions, twice as large as usual in all lengths, or of decoys, as usual: a crowd in the foci of that kind, and
 * strewn over the tissue outside: enlarged ones singly, those of the usual size by fours, which take the same place. */
void
SyntheticScene::DrawNucleiOfFoci(Canvas & canvas, int enlargement) const
{
  constexpr FixedLength reach = FixedLength{ 13 } << FixedBitsPerMicrometer;
  const bool            isCrowd = (enlargement > 1) == (m_FocusKind == FocusKind::Lesion);
  const LatticePart     part = GetReachedPart(canvas.region, Micrometers(enlargement > 1 ? 4 : 3), reach);
  const auto            stream = m_Seed + NucleusStream + FocusNuclei * static_cast<std::uint32_t>(enlargement);
  for (std::int32_t row = part.top; row <= part.bottom; ++row)
  {
    for (std::int32_t column = part.left; column <= part.right; ++column)
    {
      const bool inCrowd = HashUnit(stream + 1, column, row) < (isCrowd ? CrowdedNuclei : 0.0);
      const int  shift = enlargement > 1 ? 0 : 1;
      const bool isStrewn = HashUnit(stream + 3, column >> shift, row >> shift) < m_StrewnShares[enlargement - 1];
      if (!inCrowd && !isStrewn)
      {
        continue;
      }
      Ellipse    nucleus = GetNucleus(stream, column, row, false, enlargement);
      const bool isInside =
        m_Foci.Contains(static_cast<double>(nucleus.x) / 65536.0, static_cast<double>(nucleus.y) / 65536.0);
      if (!isInside && isStrewn && enlargement == 1)
      {
        const std::uint32_t place = HashPoint(stream + 4, column >> 1, row >> 1);
        const auto          arrange = [](std::int32_t number, std::uint32_t chance) {
          const FixedLength middle =
            ShiftLeft(number | 1, Micrometers(3)) + (static_cast<FixedLength>(chance & 0xFFFF) - 0x8000) * 8;
          return middle + (number % 2 == 0 ? -ToTouching : ToTouching);
        };
        nucleus.x = arrange(column, place);
        nucleus.y = arrange(row, place >> 16);
      }
      if (isInside ? inCrowd : isStrewn)
      {
        DrawEllipse(canvas, canvas.nuclei, nucleus);
      }
    }
  }
}

/** Dust, faint and round, and debris, dark and often long, on a lattice of 256 micrometers. */
void
SyntheticScene::DrawDebris(Canvas & canvas) const
{
  constexpr int         lattice = Micrometers(8);
  constexpr FixedLength reach = FixedLength{ 80 } << FixedBitsPerMicrometer;
  const SceneRegion &   region = canvas.region;
  const LatticePart     part = GetReachedPart(region, lattice, reach);
  canvas.anyDebris = false;
  for (std::int32_t row = part.top; row <= part.bottom; ++row)
  {
    for (std::int32_t column = part.left; column <= part.right; ++column)
    {
      const std::uint32_t place = HashPoint(m_Seed + DebrisStream, column, row);
      const std::uint32_t look = HashPoint(m_Seed + DebrisStream + 1, column, row);
      const std::uint32_t chance = look % 100;
      if (chance >= 22)
      {
        continue;
      }
      const bool dust = chance >= 5;
      Ellipse    speck;
      speck.x = ShiftLeft(column, lattice) + static_cast<FixedLength>(place & 0xFFFF) * 256;
      speck.y = ShiftLeft(row, lattice) + static_cast<FixedLength>(place >> 16) * 256;
      const auto size = static_cast<std::int32_t>((look >> 8) & 255);
      speck.radiusA = dust ? 100 + 2 * size : 60 + 3 * size; // 6 to 38, 4 to 52 micrometers
      speck.radiusB = dust ? 100 + size : 32 + size * static_cast<std::int32_t>(place & 1); // fibers, or flakes
      speck.direction = (look >> 16) % 64;
      speck.density =
        dust ? 14 + static_cast<std::int32_t>((look >> 22) & 31) : 350 + static_cast<std::int32_t>((look >> 22) & 511);
      speck.softness = dust ? 900 : 300;
      if (!canvas.anyDebris)
      {
        canvas.debris.assign(static_cast<std::size_t>(region.width * region.height), 0);
        canvas.anyDebris = true;
      }
      DrawEllipse(canvas, canvas.debris, speck);
    }
  }
}

/** Fat cells: the walls between the nearest and the second nearest center of a shaken lattice; 0..1024. */
std::int32_t
SyntheticScene::GetFatMembrane(FixedLength x, FixedLength y) const
{
  constexpr int lattice = Micrometers(6);
  const auto    column = static_cast<std::int32_t>(x >> lattice);
  const auto    row = static_cast<std::int32_t>(y >> lattice);
  std::int64_t  nearest[2] = { INT64_MAX, INT64_MAX };
  std::int64_t  center[2][2] = {};
  for (std::int32_t j = row - 1; j <= row + 1; ++j)
  {
    for (std::int32_t i = column - 1; i <= column + 1; ++i)
    {
      const std::uint32_t place = HashPoint(m_Seed + FatStream, i, j);
      // Shaken over three quarters of the lattice, in 1/16 micrometer.
      const std::int64_t dx = (ShiftLeft(i, lattice) - x) / 4096 + 128 + ((place & 0xFFFF) * 768 >> 16);
      const std::int64_t dy = (ShiftLeft(j, lattice) - y) / 4096 + 128 + ((place >> 16) * 768 >> 16);
      const std::int64_t distance = dx * dx + dy * dy;
      if (distance >= nearest[1])
      {
        continue;
      }
      const int rank = distance < nearest[0] ? 0 : 1;
      if (rank == 0)
      {
        nearest[1] = nearest[0];
        std::copy_n(center[0], 2, center[1]);
      }
      nearest[rank] = distance;
      center[rank][0] = dx;
      center[rank][1] = dy;
    }
  }
  const double ex = static_cast<double>(center[1][0] - center[0][0]);
  const double ey = static_cast<double>(center[1][1] - center[0][1]);
  const double edge = static_cast<double>(nearest[1] - nearest[0]) / (2.0 * std::sqrt(ex * ex + ey * ey) + 1.0);
  return 1024 - Ramp(static_cast<std::int32_t>(edge), 18, 44);
}

SyntheticScene::Stains
SyntheticScene::GetStains(const ShapeNode & shape,
                          const KindNode &  kind,
                          std::int32_t      nucleus,
                          FixedLength       x,
                          FixedLength       y) const
{
  const auto        stream = m_Seed + FiberStream;
  const FixedLength along = (x * m_FiberCosine + y * m_FiberSine) >> 10;
  const FixedLength across = ((y * m_FiberCosine - x * m_FiberSine) >> 10) + FixedLength{ kind.wave } * 4096;
  const int         bundle = ValueNoise(stream, along, across, Micrometers(6), Micrometers(3));
  const int         fiber = ValueNoise(stream + 1, along, across, Micrometers(5), Micrometers(1));
  const int         cloud = ValueNoise(stream + 2, x, y, Micrometers(4), Micrometers(4));
  const int         grain = ValueNoise(m_Seed + GrainStream, x, y, Micrometers(0), Micrometers(0));

  // Stroma: bundles of fibers with pale gaps.
  const std::int32_t fibers = (bundle * 3 + fiber * 2 + cloud) / 6; // 0..4095
  std::int32_t       eosin = (m_EosinStrength * (220 + Ramp(fibers, 900, 3100))) >> 10;
  std::int32_t       haematoxylin = 30 + cloud / 128;

  const std::int32_t lymphoid = Ramp(kind.cellularity, 3050, 3400);
  eosin = Blend(eosin, (m_EosinStrength * 500) >> 10, lymphoid);
  haematoxylin = Blend(haematoxylin, 190, lymphoid);

  if (kind.glandular > 0 && kind.gland < 1200)
  {
    const std::int32_t inside = (1024 - Ramp(kind.gland, 990, 1060)) * Ramp(kind.glandular, 1800, 2400) / 1024;
    const std::int32_t lumen = 1024 - Ramp(kind.gland, 420, 500);
    const std::int32_t mucus = 40 + cloud / 64;
    eosin = Blend(eosin, Blend((m_EosinStrength * (560 + cloud / 16)) >> 10, mucus, lumen), inside);
    haematoxylin = Blend(haematoxylin, Blend(210, 8, lumen), inside);
  }
  if (kind.fat > 0)
  {
    const std::int32_t fat = kind.fat / 4;
    eosin = Blend(eosin, (m_EosinStrength * GetFatMembrane(x, y)) >> 10, fat);
    eosin = std::max(eosin, 8);
    haematoxylin = Blend(haematoxylin, 4, fat);
  }
  if (nucleus > 0)
  {
    const std::int32_t chromatin = 700 + grain / 8; // 700..1211
    haematoxylin = std::max(haematoxylin, (nucleus * chromatin) >> 10);
    eosin = Blend(eosin, eosin / 2, std::min(nucleus, 1024));
  }
  else
  {
    eosin = (eosin * (940 + grain / 24)) >> 10;
  }
  // The cut edge is thin, then takes more stain over some 30 micrometers.
  const std::int32_t thin = 360 + Ramp(shape.tissue, 0, 96) * 664 / 1024;
  const std::int32_t rim = 1024 + (1024 - Ramp(shape.tissue, 160, 560)) / 8;
  const std::int32_t stained = ((thin * rim) >> 10) * (4096 - kind.pale * 29 / 32) >> 12;
  return { (eosin * stained) >> 10, (haematoxylin * stained) >> 10 };
}

/** Ink: blotchy, darker along the stroke's edges, where it dries. */
std::array<std::int32_t, 3>
SyntheticScene::GetPenDensity(const ShapeNode & shape, FixedLength x, FixedLength y) const
{
  const auto         stream = m_Seed + InkStream;
  const int          blotch = ValueNoise(stream, x, y, Micrometers(7), Micrometers(6));
  const int          grain = ValueNoise(stream + 1, x, y, Micrometers(3), Micrometers(3));
  const std::int32_t edge = 1024 - Ramp(std::abs(shape.pen - 160), 0, 240);
  const std::int32_t thickness = 330 + blotch / 8 + grain / 24 + edge / 5;
  return { (m_Pen[0] * thickness) >> 10, (m_Pen[1] * thickness) >> 10, (m_Pen[2] * thickness) >> 10 };
}

/** Illumination falls off slowly over the slide: 1/16 gray level, -28..28. */
std::int32_t
SyntheticScene::GetShade(std::int64_t x, std::int64_t y) const
{
  return (ValueNoise(m_Seed + ShadeStream, GetPosition(x), GetPosition(y), Micrometers(11), Micrometers(11)) - 2048) *
         28 / 2048;
}

void
SyntheticScene::DrawGlass(const SceneRegion & region,
                          std::int32_t        shade,
                          std::uint8_t *      rgb,
                          std::int64_t        rowBytes) const
{
  for (std::int64_t y = 0; y < region.height; ++y)
  {
    const std::uint32_t rowHash = HashPoint(m_Seed + SensorStream, 0, static_cast<std::int32_t>(region.y + y));
    std::uint8_t *      row = rgb + y * rowBytes;
    for (std::int64_t x = 0; x < region.width; ++x)
    {
      const std::uint32_t noise = GetSensorNoise(rowHash, region.x + x);
      row[3 * x] = AddNoise(m_GlassLight[0] + shade, noise);
      row[3 * x + 1] = AddNoise(m_GlassLight[1] + shade, noise >> 8);
      row[3 * x + 2] = AddNoise(m_GlassLight[2] + shade, noise >> 16);
    }
  }
}

/** Density of red, green and blue. */
std::array<std::int32_t, 3>
SyntheticScene::GetDensity(const Canvas & canvas, const Cell & cell, std::int64_t x, std::int64_t y) const
{
  const int  cellX = static_cast<int>(x - cell.left), cellY = static_cast<int>(y - cell.top);
  const auto at = [=](const auto & corners, auto member) { return corners.Get(member, cellX, cellY, m_NodeShift); };
  const ShapeNode   shape{ at(cell.shapes, &ShapeNode::tissue), at(cell.shapes, &ShapeNode::pen) };
  const FixedLength px = GetPosition(x);
  const FixedLength py = GetPosition(y);
  const Matter      matter = Classify(shape, px, py);
  const auto &      all = canvas.region;
  const auto        index = static_cast<std::size_t>((y - all.y) * all.width + x - all.x);

  std::array<std::int32_t, 3> density{ 0, 0, 0 };
  if (matter == Matter::Tissue || (matter == Matter::Pen && shape.tissue > 0)) // also under the pen
  {
    KindNode kind{};
    kind.cellularity = at(cell.kinds, &KindNode::cellularity);
    kind.glandular = at(cell.kinds, &KindNode::glandular);
    kind.pale = at(cell.kinds, &KindNode::pale);
    kind.fat = at(cell.kinds, &KindNode::fat);
    kind.gland = at(cell.kinds, &KindNode::gland);
    kind.wave = at(cell.kinds, &KindNode::wave);
    const Stains stains = GetStains(shape, kind, canvas.nuclei[index], px, py);
    for (int c = 0; c < 3; ++c)
    {
      density[c] += (stains.eosin * m_Eosin[c] + stains.haematoxylin * m_Haematoxylin[c]) >> 10;
    }
  }
  if (canvas.anyDebris)
  {
    const std::int32_t gray = canvas.debris[index];
    density[0] += gray;
    density[1] += gray + gray / 16;
    density[2] += gray + gray / 8;
  }
  if (matter == Matter::Pen)
  {
    const std::array<std::int32_t, 3> ink = GetPenDensity(shape, px, py);
    std::transform(density.begin(), density.end(), ink.begin(), density.begin(), std::plus<>());
  }
  return density;
}

void
SyntheticScene::DrawCell(const Canvas & canvas,
                         const Shapes & shapes,
                         const Kinds &  kinds,
                         int            cellX,
                         int            cellY,
                         std::uint8_t * rgb,
                         std::int64_t   rowBytes) const
{
  const std::int64_t  side = std::int64_t{ 1 } << m_NodeShift;
  const Cell          cell{ (canvas.blockX * CellsPerBlock + cellX) * side,
                   (canvas.blockY * CellsPerBlock + cellY) * side,
                   Corners<ShapeNode>(shapes.nodes, cellX, cellY),
                   Corners<KindNode>(kinds.nodes, cellX + Margin, cellY + Margin) };
  const SceneRegion & all = canvas.region;
  SceneRegion         drawn;
  drawn.x = std::max(cell.left, all.x);
  drawn.y = std::max(cell.top, all.y);
  drawn.width = std::min(cell.left + side, all.x + all.width) - drawn.x;
  drawn.height = std::min(cell.top + side, all.y + all.height) - drawn.y;
  if (drawn.width <= 0 || drawn.height <= 0)
  {
    return;
  }
  rgb += (drawn.y - all.y) * rowBytes + 3 * (drawn.x - all.x);
  const std::int32_t shade = GetShade(cell.left, cell.top);
  const auto         isFar = [](const ShapeNode * node) { return node->tissue < -256 && node->pen < -256; };
  if (!canvas.anyDebris && std::all_of(cell.shapes.nodes.begin(), cell.shapes.nodes.end(), isFar))
  {
    DrawGlass(drawn, shade, rgb, rowBytes);
    return;
  }
  for (std::int64_t y = 0; y < drawn.height; ++y)
  {
    const std::uint32_t rowHash = HashPoint(m_Seed + SensorStream, 0, static_cast<std::int32_t>(drawn.y + y));
    for (std::int64_t x = 0; x < drawn.width; ++x)
    {
      const auto          density = GetDensity(canvas, cell, drawn.x + x, drawn.y + y);
      const std::uint32_t noise = GetSensorNoise(rowHash, drawn.x + x);
      std::uint8_t *      pixel = rgb + y * rowBytes + 3 * x;
      for (int c = 0; c < 3; ++c)
      {
        const std::int32_t light = m_GlassLight[c] + shade;
        const std::int32_t through = m_Transmission[std::min(density[c], 4095)];
        pixel[c] = AddNoise((light * through) >> 16, noise >> (8 * c));
      }
    }
  }
}

void
SyntheticScene::DrawBlock(const SceneRegion & region, std::uint8_t * rgb, std::int64_t rowBytes) const
{
  Canvas canvas;
  canvas.region = region;
  canvas.blockX = region.x / GetBlockSize();
  canvas.blockY = region.y / GetBlockSize();
  const Shapes shapes = GetShapes(canvas.blockX, canvas.blockY);
  DrawDebris(canvas);
  Kinds kinds;
  if (shapes.anyTissue)
  {
    canvas.nuclei.assign(static_cast<std::size_t>(region.width * region.height), 0);
    GetKinds(canvas.blockX, canvas.blockY, kinds);
    DrawNuclei(canvas, kinds);
    if (m_FocusKind != FocusKind::None)
    {
      DrawNucleiOfFoci(canvas, 1);
      DrawNucleiOfFoci(canvas, 2);
    }
  }
  for (int cellY = 0; cellY < CellsPerBlock; ++cellY)
  {
    for (int cellX = 0; cellX < CellsPerBlock; ++cellX)
    {
      DrawCell(canvas, shapes, kinds, cellX, cellY, rgb, rowBytes);
    }
  }
  if (m_Artifacts != nullptr)
  {
    m_Artifacts->Draw(region, rgb, rowBytes);
  }
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Reduced levels: those that a file does not hold, decoded smaller.
#include "Slide.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace gigapixel
{

void
Slide::AddReducedLevels()
{
  constexpr double tolerance = 1.1; // that of choosing a level: itk::WholeSlideImageIO::ResolutionTolerance
  for (unsigned i = 0; i < m_NumberOfLevels; ++i)
  {
    const SlidePlane level = m_Planes[i];
    const bool       isLast = i + 1 == m_NumberOfLevels;
    for (unsigned reduction = 2; reduction <= GetLargestReduction(i); reduction *= 2)
    {
      const double downsample = level.downsample * reduction;
      const bool   serves = !isLast && m_Planes[i + 1].downsample <= downsample * tolerance;
      if (serves || level.tileWidth % reduction != 0 || level.tileHeight % reduction != 0)
      {
        break;
      }
      SlidePlane reduced = level;
      reduced.width = (level.width + reduction - 1) / reduction;
      reduced.height = (level.height + reduction - 1) / reduction;
      reduced.tileWidth /= reduction;
      reduced.tileHeight /= reduction;
      reduced.downsample = downsample;
      reduced.reduction = reduction;
      reduced.source = i;
      m_Planes.push_back(reduced);
      ++m_NumberOfReducedLevels;
    }
  }
}

unsigned
Slide::GetLargestReduction(unsigned) const
{
  return 1;
}

std::string
Slide::DecodeReducedTile(unsigned, std::uint64_t, unsigned, const PixelSpan &) const
{
  throw RefusalOf<std::logic_error>(Diagnostic("E-INTERNAL", "this slide has no reduced levels"));
}

std::string
Slide::DecodeReduced(const SlidePlane & of, std::uint64_t tile, const PixelSpan & out) const
{
  std::string        damage = DecodeReducedTile(of.source, tile, of.reduction, out);
  const SlidePlane & source = m_Planes[of.source];
  const bool         lastColumn = tile % source.GetTilesAcross() + 1 == source.GetTilesAcross();
  const bool         lastRow = tile / source.GetTilesAcross() + 1 == source.GetTilesDown();
  if ((lastColumn && source.width % of.reduction != 0) || (lastRow && source.height % of.reduction != 0))
  {
    AverageEdgeBlocks(of, tile, out);
  }
  return damage;
}

/** Sets those pixels of a reduced tile whose blocks reach beyond the picture. */
void
Slide::AverageEdgeBlocks(const SlidePlane & of, std::uint64_t tile, const PixelSpan & out) const
{
  const SlidePlane &         source = m_Planes[of.source];
  const std::uint64_t        width = source.width - tile % source.GetTilesAcross() * source.tileWidth;
  const std::uint64_t        height = source.height - tile / source.GetTilesAcross() * source.tileHeight;
  const std::size_t          stride = std::size_t{ source.tileWidth } * out.channels;
  std::vector<unsigned char> pixels(stride * source.tileHeight);
  DecodeTile(of.source, tile, { pixels.data(), stride, source.tileWidth, source.tileHeight, out.channels }, nullptr);
  for (std::uint64_t y = 0; y < out.height && y * of.reduction < height; ++y)
  {
    const std::uint64_t bottom = std::min<std::uint64_t>((y + 1) * of.reduction, height);
    for (std::uint64_t x = 0; x < out.width && x * of.reduction < width; ++x)
    {
      const std::uint64_t right = std::min<std::uint64_t>((x + 1) * of.reduction, width);
      const std::uint64_t count = (right - x * of.reduction) * (bottom - y * of.reduction);
      if (count == std::uint64_t{ of.reduction } * of.reduction)
      {
        continue;
      }
      for (unsigned c = 0; c < out.channels; ++c)
      {
        std::uint64_t sum = 0;
        for (std::uint64_t j = y * of.reduction; j < bottom; ++j)
        {
          for (std::uint64_t i = x * of.reduction; i < right; ++i)
          {
            sum += pixels[j * stride + i * out.channels + c];
          }
        }
        out.data[y * out.stride + x * out.channels + c] = static_cast<unsigned char>((2 * sum + count) / (2 * count));
      }
    }
  }
}

} // namespace gigapixel

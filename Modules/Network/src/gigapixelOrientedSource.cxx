/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOrientedSource.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace gigapixel
{

Orientation::Orientation(int index, Size source)
  : m_MirrorX((index & 1) != 0)
  , m_MirrorY((index & 2) != 0)
  , m_Exchange((index & 4) != 0)
  , m_Source(source)
{}

Size
Orientation::GetSize() const
{
  return m_Exchange ? Size{ m_Source.height, m_Source.width } : m_Source;
}

Region
Orientation::GetSourceRegion(const Region & region) const
{
  Region source = m_Exchange ? Region{ region.y, region.x, region.height, region.width } : region;
  if (m_MirrorX)
  {
    source.x = m_Source.width - source.x - source.width;
  }
  if (m_MirrorY)
  {
    source.y = m_Source.height - source.y - source.height;
  }
  return source;
}

namespace
{

constexpr std::int64_t Word = 8; ///< samples in one

/** Exchanges rows and columns of 8 x 8 bytes by swapping their 4 x 4, 2 x 2 and single bytes. */
void
Transpose(std::uint64_t (&rows)[Word])
{
  constexpr std::uint64_t Low[] = { 0x00ff00ff00ff00ffull, 0x0000ffff0000ffffull, 0x00000000ffffffffull };
  for (int level = 0; level < 3; ++level)
  {
    const int side = 1 << level, bits = 8 * side;
    for (int i = 0; i < Word; ++i)
    {
      if ((i & side) == 0)
      {
        std::uint64_t &     upper = rows[i];
        std::uint64_t &     lower = rows[i + side];
        const std::uint64_t swapped = ((upper >> bits) ^ lower) & Low[level];
        upper ^= swapped << bits;
        lower ^= swapped;
      }
    }
  }
}

/** Lays 8 x 8 samples of one channel; a byte at a time costs ten times as much.
 * \param right, down steps from one sample of the source to that for the next column and row of the result */
void
LayWords(const std::uint8_t * in, std::ptrdiff_t right, std::ptrdiff_t down, std::uint8_t * out, std::ptrdiff_t pitch)
{
  const bool           exchange = std::abs(right) != 1;
  const std::ptrdiff_t along = exchange ? down : right, across = exchange ? right : down;
  std::uint64_t        rows[Word];
  for (int i = 0; i < Word; ++i)
  {
    std::memcpy(&rows[i], in + i * across - (along < 0 ? Word - 1 : 0), Word);
    rows[i] = along < 0 ? __builtin_bswap64(rows[i]) : rows[i];
  }
  if (exchange)
  {
    Transpose(rows);
  }
  for (int i = 0; i < Word; ++i)
  {
    std::memcpy(out + i * pitch, &rows[i], Word);
  }
}

} // namespace

void
Orientation::Lay(const Region & region, unsigned channels, const std::uint8_t * source, std::uint8_t * laid) const
{
  const Region         from = GetSourceRegion(region);
  const std::ptrdiff_t right = (m_MirrorX ? -1 : 1) * static_cast<std::ptrdiff_t>(channels);
  const std::ptrdiff_t down = (m_MirrorY ? -1 : 1) * static_cast<std::ptrdiff_t>(channels) * from.width;
  const std::uint8_t * origin =
    source + ((m_MirrorY ? from.height - 1 : 0) * from.width + (m_MirrorX ? from.width - 1 : 0)) * channels;
  const std::ptrdiff_t stepX = m_Exchange ? down : right, stepY = m_Exchange ? right : down;
  const std::ptrdiff_t pitch = region.width * static_cast<std::ptrdiff_t>(channels);
  const bool           words = channels == 1 && from.width > 1; // else both steps may be 1
  // Square blocks: both sides of an exchange of x and y stay in the cache.
  constexpr std::int64_t Block = 64;
  for (std::int64_t y0 = 0; y0 < region.height; y0 += Block)
  {
    for (std::int64_t x0 = 0; x0 < region.width; x0 += Block)
    {
      const std::int64_t   height = std::min(Block, region.height - y0), width = std::min(Block, region.width - x0);
      const std::int64_t   wordRows = words ? height / Word * Word : 0, wordColumns = words ? width / Word * Word : 0;
      const std::uint8_t * in = origin + y0 * stepY + x0 * stepX;
      std::uint8_t *       out = laid + y0 * pitch + x0 * channels;
      for (std::int64_t y = 0; y < wordRows; y += Word)
      {
        for (std::int64_t x = 0; x < wordColumns; x += Word)
        {
          LayWords(in + y * stepY + x * stepX, stepX, stepY, out + y * pitch + x, pitch);
        }
      }
      for (std::int64_t y = 0; y < height; ++y)
      {
        for (std::int64_t x = y < wordRows ? wordColumns : 0; x < width; ++x)
        {
          std::copy_n(in + y * stepY + x * stepX, channels, out + y * pitch + x * channels);
        }
      }
    }
  }
}

SamplesInMemory
Orientation::Lay(SamplesInMemory source) const
{
  if (source.first)
  {
    source.first +=
      (m_MirrorX ? (m_Source.width - 1) * source.column : 0) + (m_MirrorY ? (m_Source.height - 1) * source.row : 0);
  }
  source.column *= m_MirrorX ? -1 : 1;
  source.row *= m_MirrorY ? -1 : 1;
  return m_Exchange ? SamplesInMemory{ source.first, source.row, source.column } : source;
}

namespace
{

/** Reads a region in bands of rows, so that what is laid anew stays in the processor's caches and takes little memory.
 * \param read (region of the source, samples) */
template <typename TRead>
void
ReadInBands(const Orientation & orientation,
            const Region &      region,
            unsigned            channels,
            std::uint8_t *      samples,
            const TRead &       read)
{
  constexpr std::int64_t    Rows = 256;
  std::vector<std::uint8_t> buffer(region.width * std::min(Rows, region.height) * channels);
  for (std::int64_t y = 0; y < region.height; y += Rows)
  {
    const Region band{ region.x, region.y + y, region.width, std::min(Rows, region.height - y) };
    read(orientation.GetSourceRegion(band), buffer.data());
    orientation.Lay(band, channels, buffer.data(), samples + y * region.width * channels);
  }
}

} // namespace

OrientedPixelSource::OrientedPixelSource(PixelSource & source, int orientation)
  : m_Source(source)
  , m_Index(orientation)
  , m_Orientation(orientation, source.GetSize())
{}

Size
OrientedPixelSource::GetSize() const
{
  return m_Orientation.GetSize();
}

unsigned
OrientedPixelSource::GetNumberOfChannels() const
{
  return m_Source.GetNumberOfChannels();
}

void
OrientedPixelSource::Read(const Region & region, std::uint8_t * samples)
{
  if (m_Index == 0)
  {
    m_Source.Read(region, samples);
    return;
  }
  ReadInBands(m_Orientation, region, GetNumberOfChannels(), samples, [this](const Region & from, std::uint8_t * to) {
    m_Source.Read(from, to);
  });
}

SamplesInMemory
OrientedPixelSource::GetInMemory() const
{
  return m_Orientation.Lay(m_Source.GetInMemory());
}

OrientedLabelSource::OrientedLabelSource(LabelSource & source, int orientation)
  : m_Source(source)
  , m_Index(orientation)
  , m_Orientation(orientation, source.GetSize())
{}

Size
OrientedLabelSource::GetSize() const
{
  return m_Orientation.GetSize();
}

void
OrientedLabelSource::Read(const Region & region, std::uint8_t * classes)
{
  if (m_Index == 0)
  {
    m_Source.Read(region, classes);
    return;
  }
  ReadInBands(
    m_Orientation, region, 1, classes, [this](const Region & from, std::uint8_t * to) { m_Source.Read(from, to); });
}

SamplesInMemory
OrientedLabelSource::GetInMemory() const
{
  return m_Orientation.Lay(m_Source.GetInMemory());
}

} // namespace gigapixel

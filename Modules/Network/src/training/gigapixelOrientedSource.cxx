/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOrientedSource.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace gigapixel
{

Orientation::Orientation(int index, Size source)
  : m_MirrorX((index & 1) != 0)
  , m_MirrorY((index & 2) != 0)
  , m_Exchange((index & 4) != 0)
  , m_MirrorZ((index & 8) != 0)
  , m_Source(source)
{}

int
Orientation::Draw(Random & random, const Size & size, bool turns)
{
  const int index = static_cast<int>(random.Below(size.depth > 1 ? 2 * Number : Number));
  return turns ? index : index & ~4;
}

Size
Orientation::GetSize() const
{
  return m_Exchange ? Size{ m_Source.height, m_Source.width, m_Source.depth } : m_Source;
}

Region
Orientation::GetSourceRegion(const Region & region) const
{
  Region source = region;
  if (m_Exchange)
  {
    std::swap(source.x, source.y);
    std::swap(source.width, source.height);
  }
  if (m_MirrorX)
  {
    source.x = m_Source.width - source.x - source.width;
  }
  if (m_MirrorY)
  {
    source.y = m_Source.height - source.y - source.height;
  }
  if (m_MirrorZ)
  {
    source.z = m_Source.depth - source.z - source.depth;
  }
  return source;
}

std::int64_t
Orientation::GetRowsToMultiple(std::int64_t y, std::int64_t side) const
{
  const bool mirrored = m_Exchange ? m_MirrorX : m_MirrorY;
  return mirrored ? (GetSize().height - y - 1) % side + 1 : side - y % side;
}

namespace
{

constexpr std::int64_t Side = 16; ///< bytes of a vector

using Bytes = std::uint8_t __attribute__((vector_size(Side)));

/** Exchanges rows and columns of 16 x 16 bytes: rows are interleaved with those eight further on, four times. */
void
Transpose(const std::uint8_t * in, std::ptrdiff_t inPitch, std::uint8_t * out, std::ptrdiff_t outPitch)
{
  Bytes rows[Side], interleaved[Side];
  for (int i = 0; i < Side; ++i)
  {
    std::memcpy(&rows[i], in + i * inPitch, Side);
  }
  for (int time = 0; time < 4; ++time)
  {
    for (int i = 0; i < Side / 2; ++i)
    {
      const Bytes a = rows[i], b = rows[i + Side / 2];
      interleaved[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      interleaved[2 * i + 1] =
        __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    std::copy(interleaved, interleaved + Side, rows);
  }
  for (int i = 0; i < Side; ++i)
  {
    std::memcpy(out + i * outPitch, &rows[i], Side);
  }
}

/** Lays 16 x 16 samples of one channel; a byte at a time costs many times as much.
 * \param right, down steps from one sample of the source to that for the next column and row of the result */
void
LaySquare(const std::uint8_t * in, std::ptrdiff_t right, std::ptrdiff_t down, std::uint8_t * out, std::ptrdiff_t pitch)
{
  if (std::abs(right) != 1)
  {
    // A row of the source becomes a column: from its end on, if it is mirrored.
    down > 0 ? Transpose(in, right, out, pitch) : Transpose(in - (Side - 1), right, out + (Side - 1) * pitch, -pitch);
    return;
  }
  for (int i = 0; i < Side; ++i, in += down, out += pitch)
  {
    if (right > 0)
    {
      std::memcpy(out, in, Side);
      continue;
    }
    std::uint64_t words[2];
    std::memcpy(words, in - (Side - 1), Side);
    const std::uint64_t mirrored[2] = { __builtin_bswap64(words[1]), __builtin_bswap64(words[0]) };
    std::memcpy(out, mirrored, Side);
  }
}

} // namespace

void
Orientation::Lay(const Region & region, std::int64_t pixelBytes, const std::uint8_t * source, std::uint8_t * laid) const
{
  const Region         from = GetSourceRegion(region);
  const std::ptrdiff_t right = (m_MirrorX ? -1 : 1) * pixelBytes;
  const std::ptrdiff_t down = (m_MirrorY ? -1 : 1) * pixelBytes * from.width;
  const std::uint8_t * origin =
    source + ((m_MirrorY ? from.height - 1 : 0) * from.width + (m_MirrorX ? from.width - 1 : 0)) * pixelBytes;
  const std::ptrdiff_t stepX = m_Exchange ? down : right, stepY = m_Exchange ? right : down;
  const std::ptrdiff_t pitch = region.width * pixelBytes;
  const bool           squares = pixelBytes == 1 && from.width > 1; // else both steps may be 1
  // Square blocks: both sides of an exchange of x and y stay in the cache.
  constexpr std::int64_t Block = 64;
  for (std::int64_t y0 = 0; y0 < region.height; y0 += Block)
  {
    for (std::int64_t x0 = 0; x0 < region.width; x0 += Block)
    {
      const std::int64_t   height = std::min(Block, region.height - y0), width = std::min(Block, region.width - x0);
      const std::int64_t   squareRows = squares ? height / Side * Side : 0;
      const std::int64_t   squareColumns = squares ? width / Side * Side : 0;
      const std::uint8_t * in = origin + y0 * stepY + x0 * stepX;
      std::uint8_t *       out = laid + y0 * pitch + x0 * pixelBytes;
      for (std::int64_t y = 0; y < squareRows; y += Side)
      {
        for (std::int64_t x = 0; x < squareColumns; x += Side)
        {
          LaySquare(in + y * stepY + x * stepX, stepX, stepY, out + y * pitch + x, pitch);
        }
      }
      for (std::int64_t y = 0; y < height; ++y)
      {
        for (std::int64_t x = y < squareRows ? squareColumns : 0; x < width; ++x)
        {
          std::copy_n(in + y * stepY + x * stepX, pixelBytes, out + y * pitch + x * pixelBytes);
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

/** Reads a region slice by slice in bands of rows, so that what is laid anew stays in the processor's caches and takes
 * little memory. They lie as most slides' tiles do, which are then decoded whole and need not be kept.
 * \param read (region of the source, samples) */
template <typename TRead>
void
ReadInBands(const Orientation & orientation,
            const Region &      region,
            std::int64_t        pixelBytes,
            std::uint8_t *      samples,
            const TRead &       read)
{
  constexpr std::int64_t    Rows = 256;
  std::vector<std::uint8_t> buffer(region.width * std::min(Rows, region.height) * pixelBytes);
  for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
  {
    for (std::int64_t y = 0; y < region.height;)
    {
      const std::int64_t rows = std::min(orientation.GetRowsToMultiple(region.y + y, Rows), region.height - y);
      const Region       band{ region.x, region.y + y, region.width, rows, z };
      read(orientation.GetSourceRegion(band), buffer.data());
      orientation.Lay(band, pixelBytes, buffer.data(), samples);
      samples += rows * region.width * pixelBytes;
      y += rows;
    }
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

SampleType
OrientedPixelSource::GetSampleType() const
{
  return m_Source.GetSampleType();
}

void
OrientedPixelSource::Read(const Region & region, std::uint8_t * samples)
{
  if (m_Index == 0)
  {
    m_Source.Read(region, samples);
    return;
  }
  const std::int64_t pixelBytes = GetNumberOfChannels() * GetSampleBytes(GetSampleType());
  ReadInBands(m_Orientation, region, pixelBytes, samples, [this](const Region & from, std::uint8_t * to) {
    m_Source.Read(from, to);
  });
}

void
OrientedPixelSource::ReadAhead(const Region & region)
{
  m_Source.ReadAhead(m_Orientation.GetSourceRegion(region));
}

RowsInMemory
OrientedPixelSource::FindRows(const Region & region) const
{
  return m_Index == 0 ? m_Source.FindRows(region) : RowsInMemory{};
}

SamplesInMemory
OrientedPixelSource::GetInMemory() const
{
  return m_Orientation.Lay(m_Source.GetInMemory());
}

bool
OrientedPixelSource::ReadTissue(const Region & region, std::uint8_t * tissue) const
{
  if (m_Index == 0)
  {
    return m_Source.ReadTissue(region, tissue);
  }
  bool known = true;
  ReadInBands(m_Orientation, region, 1, tissue, [&](const Region & from, std::uint8_t * to) {
    known = known && m_Source.ReadTissue(from, to);
  });
  return known;
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

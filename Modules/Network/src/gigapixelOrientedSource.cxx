/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOrientedSource.h"

#include <algorithm>
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

void
Orientation::Lay(const Region & region, unsigned channels, const std::uint8_t * source, std::uint8_t * laid) const
{
  const Region         from = GetSourceRegion(region);
  const std::ptrdiff_t right = (m_MirrorX ? -1 : 1) * static_cast<std::ptrdiff_t>(channels);
  const std::ptrdiff_t down = (m_MirrorY ? -1 : 1) * static_cast<std::ptrdiff_t>(channels) * from.width;
  const std::uint8_t * origin =
    source + ((m_MirrorY ? from.height - 1 : 0) * from.width + (m_MirrorX ? from.width - 1 : 0)) * channels;
  const std::ptrdiff_t stepX = m_Exchange ? down : right, stepY = m_Exchange ? right : down;
  // Square blocks: both sides of an exchange of x and y stay in the cache.
  constexpr std::int64_t Block = 64;
  for (std::int64_t y0 = 0; y0 < region.height; y0 += Block)
  {
    for (std::int64_t x0 = 0; x0 < region.width; x0 += Block)
    {
      for (std::int64_t y = y0; y < std::min(y0 + Block, region.height); ++y)
      {
        const std::uint8_t * in = origin + y * stepY + x0 * stepX;
        std::uint8_t *       out = laid + (y * region.width + x0) * channels;
        for (std::int64_t x = x0; x < std::min(x0 + Block, region.width); ++x, in += stepX)
        {
          for (unsigned c = 0; c < channels; ++c)
          {
            *out++ = in[c];
          }
        }
      }
    }
  }
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

} // namespace gigapixel

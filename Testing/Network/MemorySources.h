/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef MemorySources_h
#define MemorySources_h

#include "GraphReference.h"
#include "gigapixelSource.h"

#include <algorithm>
#include <atomic>

namespace gigapixel
{
namespace test
{

/** Calls f(place of the row's first pixel in the image) for each row of the region. */
template <typename F>
void
ForEachRow(Size image, const Region & region, const F & f)
{
  for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
  {
    for (std::int64_t y = region.y; y < region.y + region.height; ++y)
    {
      f((z * image.height + y) * image.width + region.x);
    }
  }
}

class MemoryPixels : public PixelSource
{
public:
  explicit MemoryPixels(const LabeledImage & image, unsigned channels)
    : m_Image(image)
    , m_Channels(channels)
  {}

  Size
  GetSize() const override
  {
    return m_Image.size;
  }

  SampleType
  GetSampleType() const override
  {
    return m_Image.floats.empty() ? SampleType::UInt8 : SampleType::Float;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    ++numberOfReads;
    const std::int64_t   pixelBytes = m_Channels * GetSampleBytes(GetSampleType());
    const std::uint8_t * all =
      m_Image.floats.empty() ? m_Image.pixels.data() : reinterpret_cast<const std::uint8_t *>(m_Image.floats.data());
    ForEachRow(m_Image.size, region, [&](std::int64_t place) {
      samples = std::copy_n(all + place * pixelBytes, region.width * pixelBytes, samples);
    });
  }

  bool
  ReadTissue(const Region & region, std::uint8_t * of) const override
  {
    for (std::int64_t y = region.y; y < region.y + region.height && !tissue.empty(); ++y, of += region.width)
    {
      std::copy_n(tissue.begin() + y * m_Image.size.width + region.x, region.width, of);
    }
    return !tissue.empty();
  }

  std::vector<std::uint8_t> tissue; ///< of each pixel, 1 or 0; empty: all are
  std::atomic<int>          numberOfReads{ 0 };

private:
  const LabeledImage & m_Image;
  const unsigned       m_Channels;
};

/** A class for each pixel. */
class MemoryLabels : public LabelSource
{
public:
  explicit MemoryLabels(const LabeledImage & image)
    : m_Image(image)
  {}

  Size
  GetSize() const override
  {
    return m_Image.size;
  }

  void
  Read(const Region & region, std::uint8_t * labels) override
  {
    ForEachRow(m_Image.size, region, [&](std::int64_t place) {
      labels = std::copy_n(m_Image.labels.begin() + place, region.width, labels);
    });
  }

private:
  const LabeledImage & m_Image;
};

} // namespace test
} // namespace gigapixel

#endif

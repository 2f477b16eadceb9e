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

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    ++numberOfReads;
    for (std::int64_t y = region.y; y < region.y + region.height; ++y, samples += region.width * m_Channels)
    {
      const auto row = m_Image.pixels.begin() + (y * m_Image.size.width + region.x) * m_Channels;
      std::copy(row, row + region.width * m_Channels, samples);
    }
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
    for (std::int64_t y = region.y; y < region.y + region.height; ++y, labels += region.width)
    {
      std::copy_n(m_Image.labels.begin() + y * m_Image.size.width + region.x, region.width, labels);
    }
  }

private:
  const LabeledImage & m_Image;
};

} // namespace test
} // namespace gigapixel

#endif

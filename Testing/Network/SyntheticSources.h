/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SyntheticSources_h
#define SyntheticSources_h

#include "gigapixelSource.h"
#include "gigapixelTrainer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace gigapixel
{
namespace test
{

/** A number of 0..255 that depends on the place and the seed only. */
inline unsigned
Noise(std::int64_t x, std::int64_t y, std::uint64_t seed)
{
  std::uint64_t h = static_cast<std::uint64_t>(x) * 0x9e3779b97f4a7c15u ^
                    static_cast<std::uint64_t>(y) * 0xc2b2ae3d27d4eb4fu ^ (seed + 1) * 0x165667b19e3779f9u;
  h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u;
  return static_cast<unsigned>(h >> 56);
}

/** Whether a pixel of the procedural slide is tissue: round pieces with wavy edges on a grid. */
inline bool
IsTissue(std::int64_t x, std::int64_t y, std::uint64_t seed)
{
  constexpr std::int64_t Cell = 512;
  const double           dx = static_cast<double>(x % Cell) - 200 - Noise(x / Cell, y / Cell, seed) % 100;
  const double           dy = static_cast<double>(y % Cell) - 200 - Noise(y / Cell, x / Cell, seed) % 100;
  const double           radius = 60 + Noise(x / Cell, y / Cell, seed + 7) % 120;
  return dx * dx + dy * dy < radius * radius;
}

/** A slide without a file: bright glass with noise, darker textured tissue. */
class ProceduralPixels : public PixelSource
{
public:
  ProceduralPixels(Size size, std::uint64_t seed, unsigned channels = 1)
    : m_Size(size)
    , m_Seed(seed)
    , m_Channels(channels)
  {}
  Size
  GetSize() const override
  {
    return m_Size;
  }
  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }
  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    for (std::int64_t y = region.y; y < region.y + region.height; ++y)
    {
      for (std::int64_t x = region.x; x < region.x + region.width; ++x)
      {
        const unsigned noise = Noise(x, y, m_Seed);
        for (unsigned c = 0; c < m_Channels; ++c)
        {
          *samples++ = static_cast<std::uint8_t>(IsTissue(x, y, m_Seed) ? 100 + 20 * c + noise % 80 : 225 + noise % 25);
        }
      }
    }
  }

private:
  Size          m_Size;
  std::uint64_t m_Seed;
  unsigned      m_Channels;
};

class ProceduralLabels : public LabelSource
{
public:
  ProceduralLabels(Size size, std::uint64_t seed, int classes = 2, bool ignoreSome = false)
    : m_Size(size)
    , m_Seed(seed)
    , m_Classes(classes)
    , m_IgnoreSome(ignoreSome)
  {}
  Size
  GetSize() const override
  {
    return m_Size;
  }
  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    for (std::int64_t y = region.y; y < region.y + region.height; ++y)
    {
      for (std::int64_t x = region.x; x < region.x + region.width; ++x)
      {
        const bool tissue = IsTissue(x, y, m_Seed);
        const bool ignored = m_IgnoreSome && (x / 16 + y / 16) % 5 == 3;
        *classes++ = static_cast<std::uint8_t>(ignored ? Ignored : tissue ? 1 + (x / 512) % (m_Classes - 1) : 0);
      }
    }
  }

private:
  Size          m_Size;
  std::uint64_t m_Seed;
  int           m_Classes;
  bool          m_IgnoreSome;
};

/** A source of which some rows were read before, as a filter gets them from its pipeline. */
class RowsInMemoryOf : public PixelSource
{
public:
  explicit RowsInMemoryOf(PixelSource & source)
    : m_Source(source)
  {}

  /** \param rows as wide as the image; only of these Read() and FindRows() give something from now on */
  void
  Fill(const Region & rows)
  {
    m_First = rows.y;
    m_Samples = std::vector<std::uint8_t>(); // else a vector that grows has both, the old memory and the new one
    m_Samples.resize(rows.width * rows.height * GetNumberOfChannels());
    m_Source.Read(rows, m_Samples.data());
  }

  Size
  GetSize() const override
  {
    return m_Source.GetSize();
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Source.GetNumberOfChannels();
  }

  RowsInMemory
  FindRows(const Region & region) const override
  {
    const std::ptrdiff_t channels = GetNumberOfChannels(), pitch = GetSize().width * channels;
    return { m_Samples.data() + (region.y - m_First) * pitch + region.x * channels, pitch };
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const RowsInMemory   rows = FindRows(region);
    const std::ptrdiff_t width = region.width * static_cast<std::ptrdiff_t>(GetNumberOfChannels());
    for (std::int64_t y = 0; y < region.height; ++y, samples += width)
    {
      std::copy_n(rows.first + y * rows.pitch, width, samples);
    }
  }

private:
  PixelSource &             m_Source;
  std::vector<std::uint8_t> m_Samples;
  std::int64_t              m_First{ 0 };
};

/** A slide of any size without memory and nearly without computation: 1024 x 1024 pixels repeated. */
template <typename TSource>
class Repeated : public TSource
{
public:
  static constexpr std::int64_t Period = 1024;

  explicit Repeated(Size size)
    : TSource({ Period, Period }, 1)
    , m_Size(size)
    , m_Samples(Period * Period)
  {
    TSource::Read({ 0, 0, Period, Period }, m_Samples.data());
  }
  Size
  GetSize() const override
  {
    return m_Size;
  }
  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    for (std::int64_t y = region.y; y < region.y + region.height; ++y)
    {
      for (std::int64_t x = region.x, end = region.x + region.width; x < end;)
      {
        const std::int64_t length = std::min(end - x, Period - x % Period);
        samples = std::copy_n(m_Samples.begin() + y % Period * Period + x % Period, length, samples);
        x += length;
      }
    }
  }

private:
  Size                      m_Size;
  std::vector<std::uint8_t> m_Samples;
};

/** The same slide, computed once. */
template <typename TSource>
class InMemory : public TSource
{
public:
  using TSource::TSource;
  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const Size size = this->GetSize();
    const auto channels = GetChannels();
    if (m_Samples.empty())
    {
      m_Samples.resize(size.width * size.height * channels);
      TSource::Read({ 0, 0, size.width, size.height }, m_Samples.data());
    }
    for (std::int64_t y = region.y; y < region.y + region.height; ++y)
    {
      const auto row = m_Samples.begin() + (y * size.width + region.x) * channels;
      samples = std::copy(row, row + region.width * channels, samples);
    }
  }
  /** Before several threads read. */
  void
  Prepare()
  {
    std::vector<std::uint8_t> first(GetChannels());
    Read({ 0, 0, 1, 1 }, first.data());
  }

private:
  std::int64_t
  GetChannels() const
  {
    if constexpr (std::is_base_of_v<PixelSource, TSource>)
    {
      return this->GetNumberOfChannels();
    }
    return 1;
  }
  std::vector<std::uint8_t> m_Samples;
};

inline Sample
MakeSample(const std::string & name, Size size, std::uint64_t seed)
{
  auto pixels = std::make_shared<InMemory<ProceduralPixels>>(size, seed);
  auto labels = std::make_shared<InMemory<ProceduralLabels>>(size, seed);
  pixels->Prepare();
  labels->Prepare();
  return { name, pixels, labels };
}

} // namespace test
} // namespace gigapixel

#endif

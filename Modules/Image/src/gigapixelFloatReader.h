/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFloatReader_h
#define gigapixelFloatReader_h

#include "gigapixelSource.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace gigapixel
{

/** \class FloatReader
 * \brief Samples of a region as floats, whatever the source has. */
class FloatReader
{
public:
  explicit FloatReader(PixelSource & pixels)
    : m_Pixels(pixels)
    , m_IsFloat(pixels.GetSampleType() == SampleType::Float)
  {}

  void
  Read(const Region & region, float * samples)
  {
    if (m_IsFloat)
    {
      return m_Pixels.Read(region, reinterpret_cast<std::uint8_t *>(samples));
    }
    m_Bytes.resize(static_cast<std::size_t>(region.width * region.height * region.depth) *
                   m_Pixels.GetNumberOfChannels());
    m_Pixels.Read(region, m_Bytes.data());
    std::copy(m_Bytes.begin(), m_Bytes.end(), samples);
  }

private:
  PixelSource &             m_Pixels;
  const bool                m_IsFloat;
  std::vector<std::uint8_t> m_Bytes;
};

/** Goes over a volume, piece by piece: see(piece, its samples with channels interleaved).
 * \param goesOn called with 0..1 behind each piece \param side of square pieces; 0: rows of the whole width
 * \return false: it was stopped */
template <typename TSee>
bool
GoOver(PixelSource & pixels, const TSee & see, const std::function<bool(double)> & goesOn, std::int64_t side = 0)
{
  const Size         size = pixels.GetSize();
  const std::int64_t rows = side > 0 ? side : 64, columns = side > 0 ? side : size.width;
  const unsigned     channels = pixels.GetNumberOfChannels();
  const double       pieces = std::ceil(static_cast<double>(size.height) / static_cast<double>(rows)) *
                        std::ceil(static_cast<double>(size.width) / static_cast<double>(columns)) *
                        static_cast<double>(size.depth);
  double             seen = 0;
  FloatReader        reader(pixels);
  std::vector<float> samples;
  for (std::int64_t z = 0; z < size.depth; ++z)
  {
    for (std::int64_t y = 0; y < size.height; y += rows)
    {
      for (std::int64_t x = 0; x < size.width; x += columns)
      {
        const Region piece{ x, y, std::min(columns, size.width - x), std::min(rows, size.height - y), z, 1 };
        samples.resize(static_cast<std::size_t>(piece.width * piece.height) * channels);
        reader.Read(piece, samples.data());
        see(piece, samples);
        if (goesOn && !goesOn(++seen / pieces))
        {
          return false;
        }
      }
    }
  }
  return true;
}

} // namespace gigapixel

#endif

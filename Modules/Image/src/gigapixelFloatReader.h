/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFloatReader_h
#define gigapixelFloatReader_h

#include "gigapixelSource.h"

#include <algorithm>
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
 * \param goesOn called with 0..1 behind each slice \return false: it was stopped */
template <typename TSee>
bool
GoOver(PixelSource & pixels, const TSee & see, const std::function<bool(double)> & goesOn)
{
  constexpr std::int64_t Rows = 64; // of a slice at a time: a volume may be 1 voxel deep, and as large as a slide
  const Size             size = pixels.GetSize();
  const unsigned         channels = pixels.GetNumberOfChannels();
  FloatReader            reader(pixels);
  std::vector<float>     samples;
  for (std::int64_t z = 0; z < size.depth; ++z)
  {
    for (std::int64_t y = 0; y < size.height; y += Rows)
    {
      const Region piece{ 0, y, size.width, std::min(Rows, size.height - y), z, 1 };
      samples.resize(static_cast<std::size_t>(piece.width * piece.height) * channels);
      reader.Read(piece, samples.data());
      see(piece, samples);
    }
    if (goesOn && !goesOn(static_cast<double>(z + 1) / static_cast<double>(size.depth)))
    {
      return false;
    }
  }
  return true;
}

} // namespace gigapixel

#endif

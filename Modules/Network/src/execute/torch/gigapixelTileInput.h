/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTileInput_h
#define gigapixelTileInput_h

#include "gigapixelOperationCall.h"
#include "maps/gigapixelTileData.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

#include <cstring>

namespace gigapixel::torchmodule
{

/** \class TileInput
 * \brief What a network sees of a tile's pixels: a map of values of type T, standardized as its description says.
 *
 * The CPU makes it with Make(). Another device is given what Read() takes, and makes it with Standardize() of that: of
 * bytes it gets the bytes, a quarter of what floats are. */
template <typename T>
class TileInput
{
public:
  explicit TileInput(const NetworkDescription & network)
    : m_Network(network)
  {
    for (int c = 0; c < network.channels; ++c)
    {
      for (int sample = 0; sample < 256; ++sample)
      {
        m_Values.push_back(Standardize((network.invert ? 255 - sample : sample) / 255.0, c));
      }
    }
  }

  /** \param options of the CPU's memory that it is put into */
  at::Tensor
  Make(const TileData & data, const at::TensorOptions & options) const
  {
    at::Tensor input = MakeMap(m_Network.channels, data.tile.program->window, options);
    if (data.sampleType == SampleType::UInt8)
    {
      Fill<std::uint8_t>(data, input, [this](std::uint8_t sample, int c) { return m_Values[256 * c + sample]; });
      return input;
    }
    Fill<float>(data, input, [this](float sample, int c) {
      return Standardize(m_Network.invert ? 1.0 - sample : static_cast<double>(sample), c);
    });
    return input;
  }

  /** \param options of the CPU's memory that it is put into, but for the type */
  at::Tensor
  Read(const TileData & data, const at::TensorOptions & options) const
  {
    if (data.sampleType != SampleType::UInt8)
    {
      return Make(data, options.dtype(c10::CppTypeToScalarType<T>::value));
    }
    const Region   window = ToRegion(data.tile.program->window);
    at::Tensor     bytes = MakeMap(m_Network.channels, data.tile.program->window, options.dtype(at::kByte));
    std::uint8_t * to = bytes.data_ptr<std::uint8_t>();
    const auto     row = static_cast<std::size_t>(window.width * m_Network.channels);
    for (std::int64_t z = 0; z < window.depth; ++z)
    {
      for (std::int64_t y = 0; y < window.height; ++y, to += row)
      {
        std::memcpy(to, data.rows.first + z * data.rows.slice + y * data.rows.pitch, row);
      }
    }
    return bytes;
  }

  /** \param samples what Read() gave, on the device that it is for */
  at::Tensor
  Standardize(const at::Tensor & samples) const
  {
    constexpr auto type = c10::CppTypeToScalarType<T>::value;
    if (samples.scalar_type() != at::kByte)
    {
      return samples;
    }
    const at::Tensor table =
      at::from_blob(const_cast<T *>(m_Values.data()), { m_Network.channels, 256 }, type).to(samples.device());
    const at::Tensor values = at::empty_like(samples, samples.options().dtype(type));
    for (int c = 0; c < m_Network.channels; ++c)
    {
      const at::Tensor ofChannel = samples.select(1, c);
      values.select(1, c).copy_(
        table[c].index_select(0, ofChannel.reshape({ -1 }).to(at::kInt)).view(ofChannel.sizes()));
    }
    return values;
  }

private:
  /** \param toValue (sample, channel) */
  template <typename TSample, typename F>
  static void
  Fill(const TileData & data, at::Tensor & input, const F & toValue)
  {
    const Region window = ToRegion(data.tile.program->window);
    const auto   channels = static_cast<int>(input.size(1));
    T *          value = input.data_ptr<T>();
    for (std::int64_t z = 0; z < window.depth; ++z)
    {
      for (std::int64_t y = 0; y < window.height; ++y)
      {
        const std::uint8_t * const bytes = data.rows.first + z * data.rows.slice + y * data.rows.pitch;
        const auto * const         row = reinterpret_cast<const TSample *>(bytes);
        for (std::int64_t i = 0; i < window.width * channels; i += channels)
        {
          for (int c = 0; c < channels; ++c)
          {
            *value++ = toValue(row[i + c], c);
          }
        }
      }
    }
  }

  /** \param value 1 is white */
  T
  Standardize(double value, int channel) const
  {
    const double mean = m_Network.mean.empty() ? 0.0 : m_Network.mean[channel];
    const double deviation = m_Network.deviation.empty() ? 1.0 : m_Network.deviation[channel];
    return static_cast<T>((value - mean) / deviation);
  }

  const NetworkDescription m_Network;
  std::vector<T>           m_Values; ///< of bytes: 256 for each channel
};

} // namespace gigapixel::torchmodule

#endif

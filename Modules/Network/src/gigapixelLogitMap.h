/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLogitMap_h
#define gigapixelLogitMap_h

#include "gigapixelPixelwise.h"
#include "gigapixelTileNetwork.h"

namespace gigapixel
{

/** \class LogitMap
 * \brief Logits of a tile's window at full resolution, where the last layer is none that the kernels fuse with the
 * loss. Planar, compact. */
template <typename T>
class LogitMap
{
public:
  LogitMap(T * values, int channels, const TileData & data)
    : m_Values(values)
    , m_Channels(channels)
    , m_Data(data)
  {}

  /** Logits become gradients, zero outside the core. */
  void
  TakeLoss(double & loss, std::int64_t & pixels) const
  {
    const Region & window = m_Data.tile.window;
    const Region & core = m_Data.tile.core;
    for (int c = 0; c < m_Channels; ++c)
    {
      T * row = m_Values + c * window.width * window.height;
      for (std::int64_t y = window.y; y < window.y + window.height; ++y, row += window.width)
      {
        const bool         outside = y < core.y || y >= core.y + core.height;
        const std::int64_t begin = outside ? window.width : core.x - window.x;
        const std::int64_t end = outside ? window.width : begin + core.width;
        std::fill(row, row + begin, T(0));
        std::fill(row + end, row + window.width, T(0));
      }
    }
    for (std::int64_t y = 0; y < core.height; ++y)
    {
      const std::uint8_t * truth = GetTruth(y);
      loss += TakeLossGradient(GetRow(y), truth);
      pixels += std::count_if(truth, truth + core.width, [&](std::uint8_t t) { return TakesPart(t, m_Channels); });
    }
  }

  /** The logits are lost. */
  void
  TakeScore(Score & sum) const
  {
    for (std::int64_t y = 0; y < m_Data.tile.core.height; ++y)
    {
      const std::uint8_t * truth = GetTruth(y);
      const LogitRow<T>    row = GetRow(y);
      for (std::int64_t x = 0; x < row.pixels; ++x)
      {
        if (TakesPart(truth[x], m_Channels))
        {
          sum.Count(truth[x], GetLabel(row.values + x, row.channelStride, m_Channels));
        }
      }
      sum.loss += TakeLossGradient(row, truth);
    }
  }

  void
  Predict(float * probabilities, std::ptrdiff_t pitch) const
  {
    for (std::int64_t y = 0; y < m_Data.tile.core.height; ++y)
    {
      const LogitRow<T> row = GetRow(y);
      TakeProbabilities<T>({ row.values, row.channelStride, row.channels, row.pixels }, probabilities + y * pitch);
    }
  }

  void
  PredictLabels(double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const
  {
    const T least = static_cast<T>(std::log(threshold / (1 - threshold)));
    for (std::int64_t y = 0; y < m_Data.tile.core.height; ++y)
    {
      const LogitRow<T> row = GetRow(y);
      for (std::int64_t x = 0; x < row.pixels; ++x)
      {
        const T * z = row.values + x;
        labels[y * pitch + x] =
          static_cast<std::uint8_t>(m_Channels == 1 ? *z >= least : GetLabel(z, row.channelStride, m_Channels));
      }
    }
  }

private:
  const std::uint8_t *
  GetTruth(std::int64_t y) const
  {
    return m_Data.classes.data() + y * m_Data.tile.core.width;
  }

  /** Row y of the core. */
  LogitRow<T>
  GetRow(std::int64_t y) const
  {
    const Region & window = m_Data.tile.window;
    const Region & core = m_Data.tile.core;
    return { m_Values + (core.y - window.y + y) * window.width + core.x - window.x,
             window.width * window.height,
             m_Channels,
             core.width };
  }

  T *              m_Values;
  int              m_Channels;
  const TileData & m_Data;
};

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLogitMap_h
#define gigapixelLogitMap_h

#include "gigapixelPixelwise.h"
#include "gigapixelOutputTargets.h"
#include "gigapixelScore.h"
#include "maps/gigapixelTileData.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace gigapixel
{

/** \class LogitMap
 * \brief Logits of a tile's window, or a part of it that holds the core, at full resolution, where the last layer is
 * none that the kernels fuse with the loss. Planar, compact; TakeLoss(), TakeScore() and
 * Predict() overwrite them. */
template <typename T>
class LogitMap
{
public:
  LogitMap(T * values, int channels, const TileData & data)
    : LogitMap(values, channels, data, data.tile.window)
  {}

  /** \param covered what of the image the logits are there for */
  LogitMap(T * values, int channels, const TileData & data, const Region & covered)
    : m_Values(values)
    , m_Channels(channels)
    , m_Data(data)
    , m_Core(LayOut(data.tile.core))
    , m_Covered(LayOut(covered))
  {}

  /** Logits become gradients, zero outside the core and where a pixel takes no part. */
  void
  TakeLoss(const LossTerms & terms, LossSum & sum) const
  {
    ClearOutside();
    ForEachPixel([&](const LogitsOfPixel<T> & z, std::int64_t x, std::int64_t y) {
      if (terms.image)
      {
        return TakeImageLoss(z, *terms.image, sum);
      }
      const std::uint8_t truth = m_Data.classes[y * m_Core.width + x];
      if (!TakesPart(truth, m_Channels))
      {
        return z.Clear();
      }
      ++sum.pixels;
      sum.weight += terms.HasSums() ? 1 : terms.weights[truth];
      sum.loss += z.TakeLossGradient(terms, truth);
    });
  }

  void
  TakeScore(const LossTerms & terms, Score & sum) const
  {
    sum.SetNumberOfChannels(m_Channels);
    ForEachPixel([&](const LogitsOfPixel<T> & z, std::int64_t x, std::int64_t y) {
      if (terms.image)
      {
        return TakeImageLoss(z, *terms.image, sum);
      }
      const std::uint8_t truth = m_Data.classes[y * m_Core.width + x];
      if (!TakesPart(truth, m_Channels))
      {
        return;
      }
      sum.Count(truth, z.GetLabel());
      const double weight = terms.HasCrossEntropy() ? terms.weights[truth] : 0;
      sum.weight += terms.HasSums() ? 1 : weight;
      const T crossEntropy = z.ReplaceByProbabilities(truth);
      double  slope = 0;
      sum.loss += weight * (terms.pixel ? terms.pixel(-crossEntropy, slope) : crossEntropy);
      for (int c = 0; terms.HasSums() && c < m_Channels; ++c)
      {
        const bool hit = truth == (m_Channels == 1 ? 1 : c);
        sum.probabilities[c] += z[c];
        sum.hits[c] += hit ? z[c] : T(0);
        sum.truths[c] += hit;
      }
    });
  }

  /** \param pitch floats from row to row, and from the last row of a slice to the first one of the next */
  void
  Predict(PixelValue value, float * values, std::ptrdiff_t pitch) const
  {
    if (value == PixelValue::Probability && m_Channels > 1)
    {
      ReplaceBySoftmax();
    }
    const bool areReady = value == PixelValue::Logit || (value == PixelValue::Probability && m_Channels > 1);
    ForEachPixel([&](const LogitsOfPixel<T> & z, std::int64_t x, std::int64_t y) {
      if (!areReady)
      {
        z.ReplaceByProbabilities(value);
      }
      for (int c = 0; c < m_Channels; ++c)
      {
        values[y * pitch + x * m_Channels + c] = static_cast<float>(z[c]);
      }
    });
  }

  void
  PredictLabels(double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const
  {
    const T least = static_cast<T>(std::log(threshold / (1 - threshold)));
    ForEachPixel([&](const LogitsOfPixel<T> & z, std::int64_t x, std::int64_t y) {
      labels[y * pitch + x] = static_cast<std::uint8_t>(m_Channels == 1 ? z[0] >= least : z.GetLabel());
    });
  }

private:
  /** Of an image's only pixel, in double: outputs become gradients. */
  void
  TakeImageLoss(const LogitsOfPixel<T> & z, const OutputTargets & image, LossSum & sum) const
  {
    std::vector<double> outputs(m_Channels);
    for (int c = 0; c < m_Channels; ++c)
    {
      outputs[c] = z[c];
    }
    ++sum.pixels;
    sum.weight += 1;
    sum.loss += image.TakeLoss(outputs);
    for (int c = 0; c < m_Channels; ++c)
    {
      z[c] = static_cast<T>(outputs[c]);
    }
  }

  /** The rows of all slices, one behind the other: of a volume's tile no more than the core is covered. */
  static Region
  LayOut(const Region & box)
  {
    return { box.x, box.y, box.width, box.height * box.depth };
  }

  /** Calls f(logits, x, y) for the pixels of the core, row by row. */
  template <typename F>
  void
  ForEachPixel(const F & f) const
  {
    const Region & window = m_Covered;
    const Region & core = m_Core;
    for (std::int64_t y = 0; y < core.height; ++y)
    {
      T * row = m_Values + (core.y - window.y + y) * window.width + core.x - window.x;
      for (std::int64_t x = 0; x < core.width; ++x)
      {
        f(LogitsOfPixel<T>(row + x, window.width * window.height, m_Channels), x, y);
      }
    }
  }

  /** Of the core, as LogitsOfPixel does it, but channel by channel of a row: the machine divides many pixels at once.
   */
  void
  ReplaceBySoftmax() const
  {
    const Region &     window = m_Covered;
    const Region &     core = m_Core;
    const std::int64_t plane = window.width * window.height;
    std::vector<T>     greatest(core.width), sums(core.width);
    for (std::int64_t y = 0; y < core.height; ++y)
    {
      T * const row = m_Values + (core.y - window.y + y) * window.width + core.x - window.x;
      std::copy(row, row + core.width, greatest.begin());
      std::fill(sums.begin(), sums.end(), T(0));
      for (int c = 1; c < m_Channels; ++c)
      {
        const T * const z = row + c * plane;
        for (std::int64_t x = 0; x < core.width; ++x)
        {
          greatest[x] = std::max(greatest[x], z[x]);
        }
      }
      for (int c = 0; c < m_Channels; ++c)
      {
        T * const z = row + c * plane;
        for (std::int64_t x = 0; x < core.width; ++x)
        {
          z[x] = std::exp(z[x] - greatest[x]);
          sums[x] += z[x];
        }
      }
      for (int c = 0; c < m_Channels; ++c)
      {
        T * const z = row + c * plane;
        std::transform(z, z + core.width, sums.begin(), z, std::divides<T>());
      }
    }
  }

  void
  ClearOutside() const
  {
    const Region & window = m_Covered;
    const Region & core = m_Core;
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
  }

  T *              m_Values;
  int              m_Channels;
  const TileData & m_Data;
  const Region     m_Core;
  const Region     m_Covered;
};

} // namespace gigapixel

#endif

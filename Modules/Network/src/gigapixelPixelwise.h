/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPixelwise_h
#define gigapixelPixelwise_h

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gigapixel
{

/** Logits of one row of pixels: planes of channels, `channelStride` apart. */
template <typename T>
struct LogitRow
{
  T *            values;
  std::ptrdiff_t channelStride;
  int            channels;
  std::int64_t   pixels;
};

/** Whether a class is one that the row's channels stand for: one channel tells 0 and 1 apart. */
inline bool
TakesPart(std::uint8_t truth, int channels)
{
  return truth < (channels == 1 ? 2 : channels);
}

/** Sum of the row's losses; the logits are replaced by their gradients, zero where a pixel takes no part.
 *
 * One channel: binary cross-entropy max(z, 0) - z t + log(1 + exp(-|z|)), gradient sigmoid(z) - t.
 * More: softmax cross-entropy log(sum exp z_c) - z_t, gradient softmax(z) - onehot(t). */
template <typename T>
double
TakeLossGradient(const LogitRow<T> & row, const std::uint8_t * truth)
{
  double loss = 0;
  for (std::int64_t x = 0; x < row.pixels; ++x)
  {
    T *        z = row.values + x;
    const bool part = TakesPart(truth[x], row.channels);
    if (row.channels == 1)
    {
      const T e = std::exp(-std::abs(*z));
      const T sigmoid = (*z >= 0 ? T(1) : e) / (1 + e);
      loss += part ? std::max<T>(*z, 0) - *z * truth[x] + std::log1p(e) : T(0);
      *z = part ? sigmoid - truth[x] : T(0);
      continue;
    }
    T greatest = z[0];
    for (int c = 1; c < row.channels; ++c)
    {
      greatest = std::max(greatest, z[c * row.channelStride]);
    }
    T sum = 0;
    for (int c = 0; c < row.channels; ++c)
    {
      sum += std::exp(z[c * row.channelStride] - greatest);
    }
    loss += part ? std::log(sum) + greatest - z[truth[x] * row.channelStride] : T(0);
    for (int c = 0; c < row.channels; ++c)
    {
      T & value = z[c * row.channelStride];
      value = part ? std::exp(value - greatest) / sum - (c == truth[x]) : T(0);
    }
  }
  return loss;
}

/** The class that a pixel is labeled with: probability at least 0.5, or the first of the greatest. */
template <typename T>
int
GetLabel(const T * z, std::ptrdiff_t channelStride, int channels)
{
  if (channels == 1)
  {
    return *z >= 0 ? 1 : 0;
  }
  int label = 0;
  for (int c = 1; c < channels; ++c)
  {
    label = z[c * channelStride] > z[label * channelStride] ? c : label;
  }
  return label;
}

/** Sigmoid or softmax, channels interleaved. */
template <typename T>
void
TakeProbabilities(const LogitRow<const T> & row, float * probabilities)
{
  for (std::int64_t x = 0; x < row.pixels; ++x)
  {
    const T * z = row.values + x;
    if (row.channels == 1)
    {
      const T e = std::exp(-std::abs(*z));
      *probabilities++ = static_cast<float>((*z >= 0 ? T(1) : e) / (1 + e));
      continue;
    }
    T greatest = z[0];
    for (int c = 1; c < row.channels; ++c)
    {
      greatest = std::max(greatest, z[c * row.channelStride]);
    }
    T sum = 0;
    for (int c = 0; c < row.channels; ++c)
    {
      sum += std::exp(z[c * row.channelStride] - greatest);
    }
    for (int c = 0; c < row.channels; ++c)
    {
      *probabilities++ = static_cast<float>(std::exp(z[c * row.channelStride] - greatest) / sum);
    }
  }
}

} // namespace gigapixel

#endif

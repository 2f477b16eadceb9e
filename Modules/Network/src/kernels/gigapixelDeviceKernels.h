/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What one thread of a GPU does, as plain C++: the same source runs on a CPU, one thread after the other.
//
// Every thread writes places of its own, and sums go through partial sums in a fixed order: no atomics, so the same
// bits come out each time. A kernel is a functor: Threads() says how many threads it takes.
#ifndef gigapixelDeviceKernels_h
#define gigapixelDeviceKernels_h

#include "gigapixelStoredNumbers.h"

#include <cmath>

#ifdef __CUDACC__
#  define GIGAPIXEL_UNROLL _Pragma("unroll")
#else
#  define GIGAPIXEL_UNROLL
#endif

namespace gigapixel
{
namespace device
{

/** Channels that one thread computes at a time, in registers: what they share is read once for all of them. */
constexpr int Block = 8;

/** Partial sums of a map: enough that thousands of threads share it, few enough to be added quickly. */
constexpr std::int64_t MaximumSlices = 256;

GIGAPIXEL_DEVICE constexpr std::int64_t
GetRowsPerSlice(std::int64_t rows)
{
  return (rows + MaximumSlices - 1) / MaximumSlices;
}

GIGAPIXEL_DEVICE constexpr std::int64_t
GetNumberOfSlices(std::int64_t rows)
{
  return (rows + GetRowsPerSlice(rows) - 1) / GetRowsPerSlice(rows);
}

/** Planar map; T is what the precision stores, all arithmetic is float's. */
template <typename T>
struct Map
{
  T *          values{ nullptr };
  int          channels{ 0 };
  std::int64_t height{ 0 };
  std::int64_t width{ 0 };

  GIGAPIXEL_DEVICE std::int64_t
                   GetSize() const
  {
    return channels * height * width;
  }
  GIGAPIXEL_DEVICE float
  At(int channel, std::int64_t y, std::int64_t x) const
  {
    return static_cast<float>(values[(channel * height + y) * width + x]);
  }
  GIGAPIXEL_DEVICE void
  Set(int channel, std::int64_t y, std::int64_t x, float value) const
  {
    values[(channel * height + y) * width + x] = T(value);
  }
};

/** Bytes, a row and a column apart; steps may be negative. */
struct Bytes
{
  const std::uint8_t * first{ nullptr };
  std::int64_t         column{ 1 };
  std::int64_t         row{ 0 };

  GIGAPIXEL_DEVICE const std::uint8_t *
                         At(std::int64_t y, std::int64_t x) const
  {
    return first + y * row + x * column;
  }
};

/** Interleaved bytes that stand for 0..1; white beyond those that there are. */
struct Pixels
{
  Bytes        bytes;
  int          channels{ 1 };
  std::int64_t height{ 0 };
  std::int64_t width{ 0 };
  std::int64_t realHeight{ 0 };
  std::int64_t realWidth{ 0 };
  bool         invert{ false };

  GIGAPIXEL_DEVICE float
  At(int channel, std::int64_t y, std::int64_t x) const
  {
    const int value = y < realHeight && x < realWidth ? bytes.At(y, x)[channel] : 255;
    return static_cast<float>(invert ? 255 - value : value) * (1.0f / 255.0f);
  }
};

struct Filter
{
  const float * weight{ nullptr };
  const float * bias{ nullptr }; ///< null: none
  int           kernel{ 1 };
  int           stride{ 1 };
  int           padding{ 0 };
  bool          relu{ false };
};

/** What both kinds of convolution have in common: a thread has a block of channels of one output pixel. The input is
 * Pixels or a Map. */
template <typename TInput, typename T>
struct BlockOfChannels
{
  TInput input;
  Filter filter;
  Map<T> output;
  bool   accumulate; ///< add to what the output holds

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return (output.channels + Block - 1) / Block * output.height * output.width;
  }
  GIGAPIXEL_DEVICE std::int64_t
                   GetX(std::int64_t thread) const
  {
    return thread % output.width;
  }
  GIGAPIXEL_DEVICE std::int64_t
                   GetY(std::int64_t thread) const
  {
    return thread / output.width % output.height;
  }
  GIGAPIXEL_DEVICE int
  GetFirstChannel(std::int64_t thread) const
  {
    return static_cast<int>(thread / output.width / output.height) * Block;
  }

  /** One tap of one input channel. \param step from one output channel's weight to the next one's */
  GIGAPIXEL_DEVICE void
  AddProducts(int first, float value, const float * weight, std::int64_t step, float * sum) const
  {
    GIGAPIXEL_UNROLL
    for (int b = 0; b < Block; ++b)
    {
      sum[b] += first + b < output.channels ? value * weight[b * step] : 0.0f;
    }
  }

  GIGAPIXEL_DEVICE void
  Write(std::int64_t thread, const float * sum) const
  {
    const std::int64_t x = GetX(thread), y = GetY(thread);
    const int          first = GetFirstChannel(thread);
    GIGAPIXEL_UNROLL
    for (int b = 0; b < Block; ++b)
    {
      if (first + b < output.channels)
      {
        const float value =
          sum[b] + (filter.bias ? filter.bias[first + b] : 0.0f) + (accumulate ? output.At(first + b, y, x) : 0.0f);
        output.Set(first + b, y, x, filter.relu && value < 0 ? 0.0f : value);
      }
    }
  }
};

/** A strided convolution; weight [out][in][kernel][kernel]. */
template <typename TInput, typename T>
struct Convolve : BlockOfChannels<TInput, T>
{
  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const TInput &     input = this->input;
    const Filter &     filter = this->filter;
    const int          first = this->GetFirstChannel(thread);
    const std::int64_t taps = static_cast<std::int64_t>(filter.kernel) * filter.kernel;
    const std::int64_t step = input.channels * taps;
    float              sum[Block] = {};
    for (int ky = 0; ky < filter.kernel; ++ky)
    {
      const std::int64_t iy = this->GetY(thread) * filter.stride - filter.padding + ky;
      for (int kx = 0; kx < filter.kernel && iy >= 0 && iy < input.height; ++kx)
      {
        const std::int64_t ix = this->GetX(thread) * filter.stride - filter.padding + kx;
        for (int c = 0; c < input.channels && ix >= 0 && ix < input.width; ++c)
        {
          const float * weight = filter.weight + first * step + c * taps + ky * filter.kernel + kx;
          this->AddProducts(first, input.At(c, iy, ix), weight, step, sum);
        }
      }
    }
    this->Write(thread, sum);
  }
};

/** A transposed convolution, as each output pixel sees it; weight [in][out][kernel][kernel]. */
template <typename TInput, typename T>
struct ConvolveTransposed : BlockOfChannels<TInput, T>
{
  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const TInput &     input = this->input;
    const Filter &     filter = this->filter;
    const int          first = this->GetFirstChannel(thread);
    const std::int64_t taps = static_cast<std::int64_t>(filter.kernel) * filter.kernel;
    const std::int64_t y = this->GetY(thread) + filter.padding, x = this->GetX(thread) + filter.padding;
    float              sum[Block] = {};
    for (int ky = static_cast<int>(y % filter.stride); ky < filter.kernel; ky += filter.stride)
    {
      const std::int64_t iy = (y - ky) / filter.stride;
      for (int kx = static_cast<int>(x % filter.stride); kx < filter.kernel && y >= ky && iy < input.height;
           kx += filter.stride)
      {
        const std::int64_t ix = (x - kx) / filter.stride;
        for (int c = 0; c < input.channels && x >= kx && ix < input.width; ++c)
        {
          const std::int64_t channel = static_cast<std::int64_t>(c) * this->output.channels + first;
          const float *      weight = filter.weight + channel * taps + ky * filter.kernel + kx;
          this->AddProducts(first, input.At(c, iy, ix), weight, taps, sum);
        }
      }
    }
    this->Write(thread, sum);
  }
};

/** Partial sums of the weights' gradient: partial[slice][small channel][large channel][kernel][kernel]. A convolution
 * leads from the large map to the small one; a transposed one from the small to the large. */
template <typename TLarge, typename TSmall>
struct WeightGradient
{
  TLarge  large;
  TSmall  small;
  int     kernel;
  int     stride;
  int     padding;
  float * partial;

  GIGAPIXEL_DEVICE std::int64_t
                   GetWeights() const
  {
    return static_cast<std::int64_t>(small.channels) * large.channels * kernel * kernel;
  }
  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return GetNumberOfSlices(small.height) * GetWeights();
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const std::int64_t place = thread % GetWeights();
    const std::int64_t slice = thread / GetWeights();
    const int          kx = static_cast<int>(place % kernel);
    const int          ky = static_cast<int>(place / kernel % kernel);
    const int          l = static_cast<int>(place / kernel / kernel % large.channels);
    const int          s = static_cast<int>(place / kernel / kernel / large.channels);
    const std::int64_t rows = GetRowsPerSlice(small.height);
    float              sum = 0;
    for (std::int64_t y = slice * rows; y < (slice + 1) * rows && y < small.height; ++y)
    {
      const std::int64_t ly = y * stride - padding + ky;
      float              row = 0;
      for (std::int64_t x = 0; x < small.width && ly >= 0 && ly < large.height; ++x)
      {
        const std::int64_t lx = x * stride - padding + kx;
        if (lx >= 0 && lx < large.width)
        {
          row += small.At(s, y, x) * large.At(l, ly, lx);
        }
      }
      sum += row;
    }
    partial[thread] = sum;
  }
};

/** The gradient in front of a ReLU, in place, and partial sums of the bias' gradient: partial[row][channel]. */
template <typename T>
struct CloseReLU
{
  Map<T>  activated; ///< no values: there is no ReLU
  Map<T>  gradient;
  float * partial;

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return gradient.height * gradient.channels;
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const int          channel = static_cast<int>(thread % gradient.channels);
    const std::int64_t y = thread / gradient.channels;
    float              sum = 0;
    for (std::int64_t x = 0; x < gradient.width; ++x)
    {
      if (activated.values && activated.At(channel, y, x) <= 0)
      {
        gradient.Set(channel, y, x, 0);
      }
      sum += gradient.At(channel, y, x);
    }
    partial[thread] = sum;
  }
};

/** sums[group][value] = partial[group][0][value] + partial[group][1][value] + ..., in this order. */
template <typename T>
struct AddSlices
{
  const T *    partial;
  std::int64_t slices; ///< of each group
  std::int64_t values;
  std::int64_t groups;
  double *     sums;

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return groups * values;
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const T * first = partial + thread / values * slices * values + thread % values;
    double    total = 0;
    for (std::int64_t slice = 0; slice < slices; ++slice)
    {
      total += first[slice * values];
    }
    sums[thread] = total;
  }
};

/** result = a + b; b without values: a copy. */
template <typename T>
struct Add
{
  Map<T> a;
  Map<T> b;
  Map<T> result;

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return result.GetSize();
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t i) const
  {
    result.values[i] = T(static_cast<float>(a.values[i]) + (b.values ? static_cast<float>(b.values[i]) : 0.0f));
  }
};

} // namespace device
} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What one thread of a GPU does, as plain C++: the same source runs on a CPU, one thread after the other.
//
// Every thread writes places of its own, and sums go through partial sums in a fixed order: no atomics, so the same
// bits come out each time. A kernel is a functor: Threads() says how many threads it takes.
#ifndef gigapixelDeviceKernels_h
#define gigapixelDeviceKernels_h

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#  define GIGAPIXEL_DEVICE __host__ __device__
#  define GIGAPIXEL_UNROLL _Pragma("unroll")
#else
#  define GIGAPIXEL_DEVICE
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

/** Planar map of floats. */
struct Map
{
  float *      values{ nullptr };
  int          channels{ 0 };
  std::int64_t height{ 0 };
  std::int64_t width{ 0 };

  GIGAPIXEL_DEVICE std::int64_t
                   GetSize() const
  {
    return channels * height * width;
  }
  GIGAPIXEL_DEVICE float &
  At(int channel, std::int64_t y, std::int64_t x) const
  {
    return values[(channel * height + y) * width + x];
  }
};

/** Interleaved bytes that stand for 0..1. */
struct Pixels
{
  const std::uint8_t * values{ nullptr };
  int                  channels{ 1 };
  std::int64_t         height{ 0 };
  std::int64_t         width{ 0 };
  bool                 invert{ false };

  GIGAPIXEL_DEVICE float
  At(int channel, std::int64_t y, std::int64_t x) const
  {
    const int value = values[(y * width + x) * channels + channel];
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

/** A strided convolution of pixels or of a map; weight [out][in][kernel][kernel]. */
template <typename TInput>
struct Convolve
{
  TInput input;
  Filter filter;
  Map    output;
  bool   accumulate; ///< add to what the output holds

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return (output.channels + Block - 1) / Block * output.height * output.width;
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const std::int64_t x = thread % output.width;
    const std::int64_t y = thread / output.width % output.height;
    const int          first = static_cast<int>(thread / output.width / output.height) * Block;
    const std::int64_t taps = static_cast<std::int64_t>(filter.kernel) * filter.kernel;
    const std::int64_t outputStep = input.channels * taps;
    float              sum[Block] = {};
    for (int ky = 0; ky < filter.kernel; ++ky)
    {
      const std::int64_t iy = y * filter.stride - filter.padding + ky;
      for (int kx = 0; kx < filter.kernel && iy >= 0 && iy < input.height; ++kx)
      {
        const std::int64_t ix = x * filter.stride - filter.padding + kx;
        for (int c = 0; c < input.channels && ix >= 0 && ix < input.width; ++c)
        {
          const float   value = input.At(c, iy, ix);
          const float * weight = filter.weight + first * outputStep + c * taps + ky * filter.kernel + kx;
          GIGAPIXEL_UNROLL
          for (int b = 0; b < Block; ++b)
          {
            sum[b] += first + b < output.channels ? value * weight[b * outputStep] : 0.0f;
          }
        }
      }
    }
    Write(output, filter, first, y, x, sum, accumulate);
  }

  static GIGAPIXEL_DEVICE void
  Write(const Map &    output,
        const Filter & filter,
        int            first,
        std::int64_t   y,
        std::int64_t   x,
        const float *  sum,
        bool           accumulate)
  {
    GIGAPIXEL_UNROLL
    for (int b = 0; b < Block; ++b)
    {
      if (first + b < output.channels)
      {
        float &     target = output.At(first + b, y, x);
        const float value = sum[b] + (filter.bias ? filter.bias[first + b] : 0.0f) + (accumulate ? target : 0.0f);
        target = filter.relu && value < 0 ? 0.0f : value;
      }
    }
  }
};

/** A transposed convolution of a map, as each output pixel sees it; weight [in][out][kernel][kernel]. */
struct ConvolveTransposed
{
  Map    input;
  Filter filter;
  Map    output;
  bool   accumulate;

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return (output.channels + Block - 1) / Block * output.height * output.width;
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const std::int64_t x = thread % output.width;
    const std::int64_t y = thread / output.width % output.height;
    const int          first = static_cast<int>(thread / output.width / output.height) * Block;
    const std::int64_t taps = static_cast<std::int64_t>(filter.kernel) * filter.kernel;
    float              sum[Block] = {};
    const int          ky0 = static_cast<int>((y + filter.padding) % filter.stride);
    const int          kx0 = static_cast<int>((x + filter.padding) % filter.stride);
    for (int ky = ky0; ky < filter.kernel; ky += filter.stride)
    {
      const std::int64_t iy = (y + filter.padding - ky) / filter.stride;
      for (int kx = kx0; kx < filter.kernel && y + filter.padding >= ky && iy < input.height; kx += filter.stride)
      {
        const std::int64_t ix = (x + filter.padding - kx) / filter.stride;
        for (int c = 0; c < input.channels && x + filter.padding >= kx && ix < input.width; ++c)
        {
          const float   value = input.At(c, iy, ix);
          const float * weight =
            filter.weight + (static_cast<std::int64_t>(c) * output.channels + first) * taps + ky * filter.kernel + kx;
          GIGAPIXEL_UNROLL
          for (int b = 0; b < Block; ++b)
          {
            sum[b] += first + b < output.channels ? value * weight[b * taps] : 0.0f;
          }
        }
      }
    }
    Convolve<Map>::Write(output, filter, first, y, x, sum, accumulate);
  }
};

/** Partial sums of the weights' gradient: partial[slice][small channel][large channel][kernel][kernel]. A convolution
 * leads from the large map to the small one; a transposed one from the small to the large. */
template <typename TLarge>
struct WeightGradient
{
  TLarge  large;
  Map     small;
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
struct CloseReLU
{
  Map     activated; ///< no values: there is no ReLU
  Map     gradient;
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
      float & value = gradient.At(channel, y, x);
      value = activated.values && activated.At(channel, y, x) <= 0 ? 0.0f : value;
      sum += value;
    }
    partial[thread] = sum;
  }
};

/** sum[i] += partial[0][i] + partial[1][i] + ..., in this order. */
template <typename T>
struct AddSlices
{
  const T *    partial;
  std::int64_t slices;
  std::int64_t values;
  double *     sum;

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return values;
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t i) const
  {
    double total = 0;
    for (std::int64_t slice = 0; slice < slices; ++slice)
    {
      total += partial[slice * values + i];
    }
    sum[i] += total;
  }
};

/** result = a + b; b without values: a copy. */
struct Add
{
  Map a;
  Map b;
  Map result;

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return result.GetSize();
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t i) const
  {
    result.values[i] = a.values[i] + (b.values ? b.values[i] : 0.0f);
  }
};

} // namespace device
} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Last layer, loss and backward pass without a full-resolution map of floats, as kernels for a GPU. See
// gigapixelDeviceKernels.h.
#ifndef gigapixelDeviceLoss_h
#define gigapixelDeviceLoss_h

#include "gigapixelDeviceKernels.h"

namespace gigapixel
{
namespace device
{

/** The last layer, a transposed convolution whose kernel is its stride, over the core of a tile. */
struct Logits
{
  Map                  map;               ///< its input
  const float *        weight{ nullptr }; ///< [in][out][stride][stride]
  const float *        bias{ nullptr };
  int                  outputs{ 1 };
  int                  stride{ 1 };
  std::int64_t         coreX{ 0 }; ///< of the core in the window
  std::int64_t         coreY{ 0 };
  std::int64_t         width{ 0 }; ///< of the core
  std::int64_t         height{ 0 };
  const std::uint8_t * classes{ nullptr }; ///< truth of the core
  const float *        weights{ nullptr }; ///< of the classes

  GIGAPIXEL_DEVICE float
  Get(int output, std::int64_t y, std::int64_t x, int dy, int dx) const
  {
    const std::int64_t taps = static_cast<std::int64_t>(stride) * stride;
    float              z = bias[output];
    for (int c = 0; c < map.channels; ++c)
    {
      z += map.At(c, y, x) * weight[(static_cast<std::int64_t>(c) * outputs + output) * taps + dy * stride + dx];
    }
    return z;
  }

  /** Truth of pixel (dy, dx) at position (y, x) of the map; -1: it takes no part. */
  GIGAPIXEL_DEVICE int
  GetTruth(std::int64_t y, std::int64_t x, int dy, int dx) const
  {
    const std::int64_t py = y * stride + dy - coreY;
    const std::int64_t px = x * stride + dx - coreX;
    if (py < 0 || py >= height || px < 0 || px >= width)
    {
      return -1;
    }
    const int truth = classes[py * width + px];
    return truth < (outputs == 1 ? 2 : outputs) ? truth : -1;
  }

  /** Sigmoid of the only logit, or softmax. */
  GIGAPIXEL_DEVICE float
  GetProbability(int output, std::int64_t y, std::int64_t x, int dy, int dx) const
  {
    const float z = Get(output, y, x, dy, dx);
    if (outputs == 1)
    {
      const float e = expf(-fabsf(z));
      return (z >= 0 ? 1.0f : e) / (1.0f + e);
    }
    float sum = 0; // of exp(z_o - z), which is 1 / softmax
    for (int o = 0; o < outputs; ++o)
    {
      sum += expf(Get(o, y, x, dy, dx) - z);
    }
    return 1.0f / sum;
  }

  /** Weighted binary or softmax cross-entropy. */
  GIGAPIXEL_DEVICE float
  GetLoss(int truth, std::int64_t y, std::int64_t x, int dy, int dx) const
  {
    const float z = Get(outputs == 1 ? 0 : truth, y, x, dy, dx);
    if (outputs == 1)
    {
      return weights[truth] * ((z > 0 ? z : 0.0f) - z * static_cast<float>(truth) + log1pf(expf(-fabsf(z))));
    }
    float greatest = z;
    for (int o = 0; o < outputs; ++o)
    {
      greatest = fmaxf(greatest, Get(o, y, x, dy, dx));
    }
    float sum = 0;
    for (int o = 0; o < outputs; ++o)
    {
      sum += expf(Get(o, y, x, dy, dx) - greatest);
    }
    return weights[truth] * (logf(sum) + greatest - z);
  }

  /** Of the loss for a logit. */
  GIGAPIXEL_DEVICE float
  GetGradient(int truth, int output, std::int64_t y, std::int64_t x, int dy, int dx) const
  {
    const float one = (outputs == 1 ? truth == 1 : truth == output) ? 1.0f : 0.0f;
    return weights[truth] * (GetProbability(output, y, x, dy, dx) - one);
  }
};

/** Gradient of the loss for the last layer's input; a thread has a position of the map. */
struct LossMapGradient
{
  Logits logits;
  Map    gradient;

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return gradient.height * gradient.width;
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const std::int64_t x = thread % gradient.width;
    const std::int64_t y = thread / gradient.width;
    const std::int64_t taps = static_cast<std::int64_t>(logits.stride) * logits.stride;
    for (int first = 0; first < gradient.channels; first += Block)
    {
      float sum[Block] = {};
      for (int tap = 0; tap < taps; ++tap)
      {
        const int dy = tap / logits.stride;
        const int dx = tap % logits.stride;
        const int truth = logits.GetTruth(y, x, dy, dx);
        for (int o = 0; o < logits.outputs && truth >= 0; ++o)
        {
          const float   g = logits.GetGradient(truth, o, y, x, dy, dx);
          const float * weight = logits.weight + (static_cast<std::int64_t>(first) * logits.outputs + o) * taps + tap;
          GIGAPIXEL_UNROLL
          for (int b = 0; b < Block; ++b)
          {
            sum[b] += first + b < gradient.channels ? g * weight[b * logits.outputs * taps] : 0.0f;
          }
        }
      }
      for (int b = 0; b < Block && first + b < gradient.channels; ++b)
      {
        gradient.At(first + b, y, x) = sum[b];
      }
    }
  }
};

/** Partial sums of the last layer's gradients and of the loss; a thread has an output channel and one pixel (dy, dx) of
 * each position of some rows of the map. */
struct LossWeightGradient
{
  Logits   logits;
  float *  weightPartial; ///< [slice][in][out][stride][stride]; null: only the loss is wanted
  float *  biasPartial;   ///< [slice][stride][stride][out]
  double * lossPartial;   ///< [slice][stride][stride]

  GIGAPIXEL_DEVICE std::int64_t
                   GetTaps() const
  {
    return static_cast<std::int64_t>(logits.stride) * logits.stride;
  }
  GIGAPIXEL_DEVICE std::int64_t
                   GetSlices() const
  {
    return GetNumberOfSlices(logits.map.height);
  }
  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return GetSlices() * logits.outputs * GetTaps();
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const std::int64_t tap = thread % GetTaps();
    const int          output = static_cast<int>(thread / GetTaps() % logits.outputs);
    const std::int64_t slice = thread / GetTaps() / logits.outputs;
    const int          channels = logits.map.channels;
    double             loss = 0;
    float              bias = 0;
    for (int first = 0; first < channels; first += Block)
    {
      float sum[Block] = {};
      bias = 0;
      loss = 0;
      AddRows(slice, output, static_cast<int>(tap), first, sum, bias, loss);
      for (int b = 0; b < Block && first + b < channels && weightPartial; ++b)
      {
        weightPartial[((slice * channels + first + b) * logits.outputs + output) * GetTaps() + tap] = sum[b];
      }
    }
    if (weightPartial)
    {
      biasPartial[(slice * GetTaps() + tap) * logits.outputs + output] = bias;
    }
    if (output == 0)
    {
      lossPartial[slice * GetTaps() + tap] = loss;
    }
  }

private:
  GIGAPIXEL_DEVICE void
  AddRows(std::int64_t slice, int output, int tap, int first, float * sum, float & bias, double & loss) const
  {
    const Map &        map = logits.map;
    const int          dy = tap / logits.stride;
    const int          dx = tap % logits.stride;
    const std::int64_t rows = GetRowsPerSlice(map.height);
    for (std::int64_t y = slice * rows; y < (slice + 1) * rows && y < map.height; ++y)
    {
      for (std::int64_t x = 0; x < map.width; ++x)
      {
        const int truth = logits.GetTruth(y, x, dy, dx);
        if (truth < 0)
        {
          continue;
        }
        loss += output == 0 ? logits.GetLoss(truth, y, x, dy, dx) : 0.0f;
        if (weightPartial)
        {
          const float g = logits.GetGradient(truth, output, y, x, dy, dx);
          bias += g;
          GIGAPIXEL_UNROLL
          for (int b = 0; b < Block; ++b)
          {
            sum[b] += first + b < map.channels ? g * map.At(first + b, y, x) : 0.0f;
          }
        }
      }
    }
  }
};

/** Labels of the core's pixels: logits of at least `least`, or the greatest one. */
struct LabelPixels
{
  Logits         logits;
  float          least;
  std::uint8_t * labels;

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return logits.height * logits.width;
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const std::int64_t py = thread / logits.width + logits.coreY;
    const std::int64_t px = thread % logits.width + logits.coreX;
    const int          s = logits.stride;
    const int          dy = static_cast<int>(py % s);
    const int          dx = static_cast<int>(px % s);
    float              greatest = logits.Get(0, py / s, px / s, dy, dx);
    int                label = logits.outputs == 1 && greatest >= least ? 1 : 0;
    for (int o = 1; o < logits.outputs; ++o)
    {
      const float z = logits.Get(o, py / s, px / s, dy, dx);
      label = z > greatest ? o : label;
      greatest = z > greatest ? z : greatest;
    }
    labels[thread] = static_cast<std::uint8_t>(label);
  }
};

/** Probabilities of the core's pixels, channels interleaved. */
struct PredictPixels
{
  Logits  logits;
  float * probabilities;

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return logits.height * logits.width * logits.outputs;
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const std::int64_t pixel = thread / logits.outputs;
    const std::int64_t py = pixel / logits.width + logits.coreY;
    const std::int64_t px = pixel % logits.width + logits.coreX;
    const int          s = logits.stride;
    probabilities[thread] = logits.GetProbability(
      static_cast<int>(thread % logits.outputs), py / s, px / s, static_cast<int>(py % s), static_cast<int>(px % s));
  }
};

} // namespace device
} // namespace gigapixel

#endif

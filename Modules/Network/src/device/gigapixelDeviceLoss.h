/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Logits, loss and its backward pass without a full-resolution map, as kernels for a GPU. See gigapixelDeviceKernels.h.
#ifndef gigapixelDeviceLoss_h
#define gigapixelDeviceLoss_h

#include "kernels/gigapixelDeviceKernels.h"

namespace gigapixel
{
namespace device
{

/** LossTerms in the device's memory, per class. */
struct Terms
{
  const float * weights{ nullptr }; ///< of cross-entropy; null: only Dice
  const float * slopes{ nullptr };  ///< of Dice; null: only cross-entropy
  const float * offsets{ nullptr };

  GIGAPIXEL_DEVICE float
  GetSlope(int c, int truth) const
  {
    return offsets[c] + (c == truth ? slopes[c] : 0.0f);
  }
};

/** A full-resolution pixel: (dy, dx) of the stride x stride ones at position (y, x) of the map. */
struct Place
{
  std::int64_t y;
  std::int64_t x;
  int          dy;
  int          dx;
};

/** What a pixel's probabilities have in common. */
struct Softmax
{
  float greatest{ 0 }; ///< logit
  float sum{ 0 };      ///< of exp(logit - greatest)
  float mean{ 0 };     ///< of Dice's slopes, weighted by the probabilities
};

/** Logits of a tile's core: of the last layer, a transposed convolution whose kernel is its stride, or, without a
 * weight, as the map holds them (stride 1, as many channels as outputs). */
template <typename T>
struct Logits
{
  Map<T>        map;
  const float * weight{ nullptr }; ///< [in][out][stride][stride]
  const float * bias{ nullptr };
  int           outputs{ 1 };
  int           stride{ 1 };
  std::int64_t  coreX{ 0 }; ///< of the core in the window
  std::int64_t  coreY{ 0 };
  std::int64_t  width{ 0 }; ///< of the core
  std::int64_t  height{ 0 };
  Bytes         classes; ///< truth of the core
  Terms         terms;

  GIGAPIXEL_DEVICE int
  GetTaps() const
  {
    return stride * stride;
  }
  GIGAPIXEL_DEVICE int
  GetNumberOfClasses() const
  {
    return outputs == 1 ? 2 : outputs;
  }
  GIGAPIXEL_DEVICE Place
  GetPlace(std::int64_t y, std::int64_t x, int tap) const
  {
    return { y, x, tap / stride, tap % stride };
  }
  GIGAPIXEL_DEVICE Place
  GetPlaceOfPixel(std::int64_t pixel) const
  {
    const std::int64_t y = pixel / width + coreY, x = pixel % width + coreX;
    return { y / stride, x / stride, static_cast<int>(y % stride), static_cast<int>(x % stride) };
  }

  GIGAPIXEL_DEVICE float
  GetWeight(int channel, int output, int tap) const
  {
    return weight ? weight[(static_cast<std::int64_t>(channel) * outputs + output) * GetTaps() + tap]
                  : (channel == output ? 1.0f : 0.0f);
  }

  GIGAPIXEL_DEVICE float
  Get(int output, const Place & at) const
  {
    if (!weight)
    {
      return map.At(output, at.y, at.x);
    }
    float z = bias[output];
    for (int c = 0; c < map.channels; ++c)
    {
      z += map.At(c, at.y, at.x) * GetWeight(c, output, at.dy * stride + at.dx);
    }
    return z;
  }

  /** -1: the pixel takes no part. */
  GIGAPIXEL_DEVICE int
  GetTruth(const Place & at) const
  {
    const std::int64_t py = at.y * stride + at.dy - coreY;
    const std::int64_t px = at.x * stride + at.dx - coreX;
    if (py < 0 || py >= height || px < 0 || px >= width)
    {
      return -1;
    }
    const int truth = *classes.At(py, px);
    return truth < GetNumberOfClasses() ? truth : -1;
  }

  /** 1 for a logit of at least `least`; of two outputs the second unless the first is greater; of more the first of the
   * greatest. */
  GIGAPIXEL_DEVICE int
  GetLabel(const Place & at, float least) const
  {
    float greatest = Get(0, at);
    int   label = outputs == 1 && greatest >= least ? 1 : 0;
    for (int o = 1; o < outputs; ++o)
    {
      const float z = Get(o, at);
      label = z > greatest || (outputs == 2 && z == greatest) ? o : label;
      greatest = z > greatest ? z : greatest;
    }
    return label;
  }

  /** \param truth for Dice's mean; -1: it is not wanted */
  GIGAPIXEL_DEVICE Softmax
  GetSoftmax(const Place & at, int truth) const
  {
    Softmax softmax;
    if (outputs == 1)
    {
      return softmax;
    }
    softmax.greatest = Get(0, at);
    for (int o = 1; o < outputs; ++o)
    {
      softmax.greatest = fmaxf(softmax.greatest, Get(o, at));
    }
    for (int o = 0; o < outputs; ++o)
    {
      const float e = expf(Get(o, at) - softmax.greatest);
      softmax.sum += e;
      softmax.mean += truth >= 0 && terms.slopes ? e * terms.GetSlope(o, truth) : 0.0f;
    }
    softmax.mean /= softmax.sum;
    return softmax;
  }

  /** Sigmoid of the only logit, or softmax. */
  GIGAPIXEL_DEVICE float
  GetProbability(int output, const Place & at, const Softmax & softmax) const
  {
    const float z = Get(output, at);
    if (outputs == 1)
    {
      const float e = expf(-fabsf(z));
      return (z >= 0 ? 1.0f : e) / (1.0f + e);
    }
    return expf(z - softmax.greatest) / softmax.sum;
  }

  /** Weighted binary or softmax cross-entropy; 0 for Dice alone, which has none of one pixel. */
  GIGAPIXEL_DEVICE float
  GetLoss(int truth, const Place & at, const Softmax & softmax) const
  {
    if (!terms.weights)
    {
      return 0;
    }
    const float z = Get(outputs == 1 ? 0 : truth, at);
    if (outputs == 1)
    {
      return terms.weights[truth] * ((z > 0 ? z : 0.0f) - z * static_cast<float>(truth) + log1pf(expf(-fabsf(z))));
    }
    return terms.weights[truth] * (logf(softmax.sum) + softmax.greatest - z);
  }

  /** Of the loss for a logit; for Dice p (1 - p) (g[1] - g[0]), or p (g - sum of g p). */
  GIGAPIXEL_DEVICE float
  GetGradient(int truth, int output, const Place & at, const Softmax & softmax) const
  {
    const float p = GetProbability(output, at, softmax);
    float       gradient = 0;
    if (terms.weights)
    {
      gradient = terms.weights[truth] * (p - ((outputs == 1 ? truth == 1 : truth == output) ? 1.0f : 0.0f));
    }
    if (terms.slopes)
    {
      gradient += outputs == 1 ? p * (1.0f - p) * (terms.GetSlope(1, truth) - terms.GetSlope(0, truth))
                               : p * (terms.GetSlope(output, truth) - softmax.mean);
    }
    return gradient;
  }
};

/** Gradient of the loss for the logits' map; a thread has a position of the map. */
template <typename T>
struct LossMapGradient
{
  Logits<T> logits;
  Map<T>    gradient;

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
    for (int first = 0; first < gradient.channels; first += Block)
    {
      float sum[Block] = {};
      for (int tap = 0; tap < logits.GetTaps(); ++tap)
      {
        AddPixel(logits.GetPlace(y, x, tap), tap, first, sum);
      }
      for (int b = 0; b < Block && first + b < gradient.channels; ++b)
      {
        gradient.Set(first + b, y, x, sum[b]);
      }
    }
  }

private:
  GIGAPIXEL_DEVICE void
  AddPixel(const Place & at, int tap, int first, float * sum) const
  {
    const int truth = logits.GetTruth(at);
    if (truth < 0)
    {
      return;
    }
    const Softmax softmax = logits.GetSoftmax(at, truth);
    for (int o = 0; o < logits.outputs; ++o)
    {
      const float g = logits.GetGradient(truth, o, at, softmax);
      GIGAPIXEL_UNROLL
      for (int b = 0; b < Block; ++b)
      {
        sum[b] += first + b < gradient.channels ? g * logits.GetWeight(first + b, o, tap) : 0.0f;
      }
    }
  }
};

/** Partial sums of the last layer's gradients; a thread has an output channel and one pixel (dy, dx) of each position
 * of some rows of the map. */
template <typename T>
struct LossWeightGradient
{
  Logits<T> logits;
  float *   weightPartial; ///< [slice][in][out][stride][stride]
  float *   biasPartial;   ///< [slice][stride][stride][out]

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return GetNumberOfSlices(logits.map.height) * logits.outputs * logits.GetTaps();
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const int          taps = logits.GetTaps();
    const int          tap = static_cast<int>(thread % taps);
    const int          output = static_cast<int>(thread / taps % logits.outputs);
    const std::int64_t slice = thread / taps / logits.outputs;
    const int          channels = logits.map.channels;
    for (int first = 0; first < channels; first += Block)
    {
      float sum[Block] = {};
      biasPartial[(slice * taps + tap) * logits.outputs + output] = AddRows(slice, output, tap, first, sum);
      for (int b = 0; b < Block && first + b < channels; ++b)
      {
        weightPartial[((slice * channels + first + b) * logits.outputs + output) * taps + tap] = sum[b];
      }
    }
  }

private:
  /** \return the bias' sum */
  GIGAPIXEL_DEVICE float
  AddRows(std::int64_t slice, int output, int tap, int first, float * sum) const
  {
    const Map<T> &     map = logits.map;
    const std::int64_t rows = GetRowsPerSlice(map.height);
    float              bias = 0;
    for (std::int64_t y = slice * rows; y < (slice + 1) * rows && y < map.height; ++y)
    {
      for (std::int64_t x = 0; x < map.width; ++x)
      {
        const Place at = logits.GetPlace(y, x, tap);
        const int   truth = logits.GetTruth(at);
        if (truth < 0)
        {
          continue;
        }
        const float g = logits.GetGradient(truth, output, at, logits.GetSoftmax(at, truth));
        bias += g;
        GIGAPIXEL_UNROLL
        for (int b = 0; b < Block; ++b)
        {
          sum[b] += first + b < map.channels ? g * map.At(first + b, y, x) : 0.0f;
        }
      }
    }
    return bias;
  }
};

/** Partial sums of a Score: the loss, then for each class its pixels, those labeled so and those labeled so that are,
 * then for each output the sums of its probabilities and of those of its class (Dice). A thread has one pixel (dy, dx)
 * of each position of some rows of the map. */
template <typename T>
struct ScoreSums
{
  Logits<T> logits;
  double *  partial; ///< [slice][stride][stride][values]

  GIGAPIXEL_DEVICE std::int64_t
                   GetValues() const
  {
    return 1 + 3 * logits.GetNumberOfClasses() + 2 * logits.outputs;
  }
  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return GetNumberOfSlices(logits.map.height) * logits.GetTaps();
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const int          tap = static_cast<int>(thread % logits.GetTaps());
    const std::int64_t rows = GetRowsPerSlice(logits.map.height);
    const std::int64_t begin = thread / logits.GetTaps() * rows;
    double * const     sums = partial + thread * GetValues();
    for (std::int64_t i = 0; i < GetValues(); ++i)
    {
      sums[i] = 0;
    }
    for (std::int64_t y = begin; y < begin + rows && y < logits.map.height; ++y)
    {
      for (std::int64_t x = 0; x < logits.map.width; ++x)
      {
        AddPixel(logits.GetPlace(y, x, tap), sums);
      }
    }
  }

private:
  GIGAPIXEL_DEVICE void
  AddPixel(const Place & at, double * sums) const
  {
    const int truth = logits.GetTruth(at);
    if (truth < 0)
    {
      return;
    }
    const Softmax  softmax = logits.GetSoftmax(at, -1);
    const int      label = logits.GetLabel(at, 0);
    double * const counts = sums + 1;
    sums[0] += logits.GetLoss(truth, at, softmax);
    counts[3 * truth] += 1;
    counts[3 * label + 1] += 1;
    counts[3 * truth + 2] += label == truth ? 1 : 0;
    double * const ofOutputs = counts + 3 * logits.GetNumberOfClasses();
    for (int o = 0; o < logits.outputs && logits.terms.slopes; ++o)
    {
      const float p = logits.GetProbability(o, at, softmax);
      ofOutputs[2 * o] += p;
      ofOutputs[2 * o + 1] += (logits.outputs == 1 ? truth == 1 : truth == o) ? p : 0.0f;
    }
  }
};

/** Labels of the core's pixels: logits of at least `least`, or the greatest one. */
template <typename T>
struct LabelPixels
{
  Logits<T>      logits;
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
    labels[thread] = static_cast<std::uint8_t>(logits.GetLabel(logits.GetPlaceOfPixel(thread), least));
  }
};

/** Logits or probabilities of the core's pixels, channels interleaved. */
template <typename T>
struct ValuePixels
{
  Logits<T> logits;
  bool      areProbabilities;
  float *   values;

  GIGAPIXEL_DEVICE std::int64_t
                   Threads() const
  {
    return logits.height * logits.width;
  }

  GIGAPIXEL_DEVICE void
  operator()(std::int64_t thread) const
  {
    const Place   at = logits.GetPlaceOfPixel(thread);
    const Softmax softmax = areProbabilities ? logits.GetSoftmax(at, -1) : Softmax();
    for (int o = 0; o < logits.outputs; ++o)
    {
      values[thread * logits.outputs + o] =
        areProbabilities ? logits.GetProbability(o, at, softmax) : logits.Get(o, at);
    }
  }
};

} // namespace device
} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelKernelTargets.h"
#include "gigapixelPixelLoss.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gigapixelPixelLoss.cxx"
#include <hwy/foreach_target.h>
#include "gigapixelLogitStrip-inl.h"
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** Sum of log(1 + x) over many x in [0, most], without a logarithm for each: the product of all (1 + x) is kept less
 * its 1, which keeps small x exact (adding them to 1 would lose them), and the logarithm is taken before the product
 * can overflow. */
class LogOnePlusSum
{
public:
  explicit LogOnePlusSum(float most)
    : m_Most(static_cast<int>(120.0f / std::log2(1.0f + most)))
  {}

  /** To be called before up to `factors` times Add(). */
  void
  Reserve(int factors)
  {
    if (m_Factors + factors > m_Most)
    {
      m_Sum.Add(hn::Log1p(Floats(), m_Product));
      m_Product = hn::Zero(Floats());
      m_Factors = 0;
    }
    m_Factors += factors;
  }

  HWY_INLINE void
  Add(FloatVector x)
  {
    m_Product = hn::MulAdd(x, hn::Add(m_Product, hn::Set(Floats(), 1.0f)), m_Product);
  }

  double
  GetSum()
  {
    Reserve(m_Most);
    return m_Sum.GetSum();
  }

private:
  FloatVector m_Product = hn::Zero(Floats());
  LaneSums    m_Sum;
  int         m_Factors{ 0 };
  int         m_Most;
};

/** Pixels that are summed in float before their sums go on in double: 16 numbers per lane. */
constexpr int Segment = 16 * Lanes;

/** The classes of as many pixels as there are lanes. */
HWY_INLINE IntVector
LoadClasses(const std::uint8_t * classes)
{
  return hn::PromoteTo(Ints(), hn::LoadU(Bytes(), classes));
}

/** Logits to gradients, in place: binary cross-entropy. With u = -z for class 1 and u = z for class 0 both classes are
 * one case: the loss is max(u, 0) + log(1 + exp(-|u|)), the gradient is sigmoid(u) with the sign that u gave to z.
 * Nothing cancels: small losses and gradients are as accurate, relatively, as great ones. */
void
BinaryLossGradient(LogitStrip & strip, double * biasGradient, LossSum & total)
{
  const Floats  d;
  const auto    one = hn::Set(d, 1.0f);
  const auto    zero = hn::Zero(d);
  const auto    minus = hn::Set(d, -0.0f);
  LaneSums      linearSum;
  LaneSums      gradientSum;
  LogOnePlusSum logarithms(1.0f);
  const int     pixels = strip.GetPixels();
  std::int64_t  counted = 0;
  for (int row = 0; row < strip.stride; ++row)
  {
    float *              values = strip.GetLogits(0, row);
    const std::uint8_t * classes = strip.GetClasses(row);
    for (int begin = 0; begin < pixels; begin += Segment)
    {
      const int end = std::min(pixels, begin + Segment);
      auto      linear = zero;
      auto      bias = zero;
      logarithms.Reserve(Segment / Lanes);
      for (int x = begin; x < end; x += Lanes)
      {
        const auto truth = LoadClasses(classes + x);
        const auto counts = hn::RebindMask(d, hn::Lt(truth, hn::Set(Ints(), 2)));
        const auto flip = hn::BitCast(d, hn::ShiftLeft<31>(truth));
        const auto u = hn::Xor(hn::Load(d, values + x), flip);
        const auto e = PowerOfTwo(hn::Or(u, minus));
        const auto negative = hn::Lt(u, zero); // not of a NaN: it goes into the loss, where it is seen
        const auto sigmoid = hn::Div(hn::IfThenElse(negative, e, one), hn::Add(one, e));
        const auto gradient = hn::IfThenElseZero(counts, hn::Xor(sigmoid, flip));
        hn::Store(gradient, d, values + x);
        bias = hn::Add(bias, gradient);
        linear = hn::Add(linear, hn::IfThenElseZero(counts, hn::IfThenZeroElse(negative, u)));
        logarithms.Add(hn::IfThenElseZero(counts, e));
        counted += static_cast<std::int64_t>(hn::CountTrue(d, counts));
      }
      linearSum.Add(linear);
      gradientSum.Add(bias);
    }
  }
  biasGradient[0] += gradientSum.GetSum();
  total.loss += LogitStrip::Ln2 * linearSum.GetSum() + logarithms.GetSum();
  total.pixels += counted;
}

/** What softmax of one pixel (per lane) needs besides the exponentials, which replace the logits. */
struct Softmax
{
  FloatVector greatest;
  FloatVector sum;        ///< of exp(logit - greatest)
  FloatVector sumLessOne; ///< the same without the greatest's own 1, which would swallow small ones
};

HWY_INLINE Softmax
ReplaceByExponentials(LogitStrip & strip, int row, int x)
{
  const Floats d;
  const auto   one = hn::Set(d, 1.0f);
  auto         greatest = hn::Load(d, strip.GetLogits(0, row) + x);
  for (int c = 1; c < strip.outputChannels; ++c)
  {
    greatest = hn::Max(greatest, hn::Load(d, strip.GetLogits(c, row) + x));
  }
  auto others = hn::Zero(d);
  auto ones = hn::Zero(d);
  for (int c = 0; c < strip.outputChannels; ++c)
  {
    float *    values = strip.GetLogits(c, row) + x;
    const auto difference = hn::Sub(hn::Load(d, values), greatest);
    const auto e = PowerOfTwo(difference);
    const auto isGreatest = hn::Eq(difference, hn::Zero(d));
    others = hn::Add(others, hn::IfThenZeroElse(isGreatest, e));
    ones = hn::Add(ones, hn::IfThenElseZero(isGreatest, one));
    hn::Store(e, d, values);
  }
  return { greatest, hn::Add(ones, others), hn::Add(others, hn::Sub(ones, one)) };
}

/** Logits to gradients, in place: softmax cross-entropy. The loss is greatest - logit of the true class + log(sum);
 * the gradient is exp / sum for the other classes, and for the true one the sum of theirs with a minus, not its own
 * probability less 1, in which the digits of a confident pixel would cancel. */
void
SoftmaxLossGradient(LogitStrip & strip, double * biasGradient, LossSum & total)
{
  const Floats  d;
  const auto    zero = hn::Zero(d);
  LaneSums      linearSum;
  LogOnePlusSum logarithms(static_cast<float>(strip.outputChannels - 1));
  for (int row = 0; row < strip.stride; ++row)
  {
    for (int x = 0; x < strip.GetPixels(); x += Lanes)
    {
      logarithms.Reserve(1);
      const auto truth = LoadClasses(strip.GetClasses(row) + x);
      const auto counts = hn::RebindMask(d, hn::Lt(truth, hn::Set(Ints(), strip.outputChannels)));
      auto       trueLogit = zero;
      for (int c = 0; c < strip.outputChannels; ++c)
      {
        const auto isTrue = hn::RebindMask(d, hn::Eq(truth, hn::Set(Ints(), c)));
        trueLogit = hn::IfThenElse(isTrue, hn::Load(d, strip.GetLogits(c, row) + x), trueLogit);
      }
      const Softmax softmax = ReplaceByExponentials(strip, row, x);
      const auto    scale = hn::IfThenElseZero(counts, hn::Div(hn::Set(d, 1.0f), softmax.sum));
      auto          othersOfTrue = zero;
      for (int c = 0; c < strip.outputChannels; ++c)
      {
        const auto isTrue = hn::RebindMask(d, hn::Eq(truth, hn::Set(Ints(), c)));
        const auto e = hn::Load(d, strip.GetLogits(c, row) + x);
        othersOfTrue = hn::Add(othersOfTrue, hn::IfThenZeroElse(isTrue, e));
      }
      for (int c = 0; c < strip.outputChannels; ++c)
      {
        const auto isTrue = hn::RebindMask(d, hn::Eq(truth, hn::Set(Ints(), c)));
        const auto e = hn::Load(d, strip.GetLogits(c, row) + x);
        hn::Store(hn::Mul(scale, hn::IfThenElse(isTrue, hn::Neg(othersOfTrue), e)), d, strip.GetLogits(c, row) + x);
      }
      linearSum.Add(hn::IfThenElseZero(counts, hn::Sub(softmax.greatest, trueLogit)));
      logarithms.Add(hn::IfThenElseZero(counts, softmax.sumLessOne));
      total.pixels += static_cast<std::int64_t>(hn::CountTrue(d, counts));
    }
  }
  total.loss += LogitStrip::Ln2 * linearSum.GetSum() + logarithms.GetSum();
  for (int c = 0; c < strip.outputChannels; ++c)
  {
    LaneSums sum;
    for (int row = 0; row < strip.stride; ++row)
    {
      auto rowSum = zero;
      for (int x = 0; x < strip.GetPixels(); x += Lanes)
      {
        rowSum = hn::Add(rowSum, hn::Load(d, strip.GetLogits(c, row) + x));
      }
      sum.Add(rowSum);
    }
    biasGradient[c] += sum.GetSum();
  }
}

/** Calls f() after loading each strip of the map on which a pixel of the core hangs, in row-major order. */
template <typename F>
HWY_INLINE void
ForEachStrip(const MapView<const float> & map, const CoreRegion & core, LogitStrip & strip, const F & f)
{
  if (core.width <= 0 || core.height <= 0)
  {
    return;
  }
  const std::int64_t endRow = (core.y + core.height + strip.stride - 1) / strip.stride;
  const std::int64_t endColumn = (core.x + core.width + strip.stride - 1) / strip.stride;
  for (std::int64_t row = core.y / strip.stride; row < endRow; ++row)
  {
    for (std::int64_t column = core.x / strip.stride; column < endColumn; column += strip.GetMaximumColumns())
    {
      const int columns = static_cast<int>(std::min<std::int64_t>(strip.GetMaximumColumns(), endColumn - column));
      strip.Load(map, row, column, columns);
      f();
    }
  }
}

/** Zeros the columns [begin, end) of a row. */
void
ClearColumns(const MapView<float> & map, int channels, std::int64_t row, std::int64_t begin, std::int64_t end)
{
  for (int c = 0; c < channels; ++c)
  {
    float * values = map.values + c * map.channelStride + row * map.rowStride;
    for (std::int64_t x = begin; x < end; ++x)
    {
      values[x * map.columnStride] = 0.0f;
    }
  }
}

/** Zeros what no pixel of the core hangs on. */
void
ClearOutside(const MapView<float> & map, const PixelLogits & logits, const CoreRegion & core)
{
  const bool         empty = core.width <= 0 || core.height <= 0;
  const std::int64_t beginRow = empty ? map.height : core.y / logits.stride;
  const std::int64_t endRow = (core.y + core.height + logits.stride - 1) / logits.stride;
  for (std::int64_t row = 0; row < map.height; ++row)
  {
    const bool         outside = row < beginRow || row >= endRow;
    const std::int64_t begin = outside ? map.width : core.x / logits.stride;
    const std::int64_t end = outside ? map.width : (core.x + core.width + logits.stride - 1) / logits.stride;
    ClearColumns(map, logits.inputChannels, row, 0, begin);
    ClearColumns(map, logits.inputChannels, row, end, map.width);
  }
}

void
AddLoss(const MapView<const float> & map,
        const PixelLogits &          logits,
        const CoreRegion &           core,
        const std::uint8_t *         classes,
        std::ptrdiff_t               pitch,
        const MapView<float> &       mapGradient,
        double *                     weightGradient,
        double *                     biasGradient,
        LossSum &                    sum)
{
  ClearOutside(mapGradient, logits, core);
  LogitStrip strip(logits);
  ForEachStrip(map, core, strip, [&]() HWY_ATTR {
    strip.LoadTruth(classes, pitch, core);
    strip.ComputeLogits();
    if (logits.outputChannels == 1)
    {
      BinaryLossGradient(strip, biasGradient, sum);
    }
    else
    {
      SoftmaxLossGradient(strip, biasGradient, sum);
    }
    strip.StoreMapGradient(mapGradient);
    strip.AddWeightGradient();
  });
  strip.AddWeightGradientTo(weightGradient);
}

/** Logits to probabilities, in place. */
void
ReplaceByProbabilities(LogitStrip & strip, int row)
{
  const Floats d;
  const auto   one = hn::Set(d, 1.0f);
  for (int x = 0; x < strip.GetPixels(); x += Lanes)
  {
    if (strip.outputChannels == 1)
    {
      float *    values = strip.GetLogits(0, row) + x;
      const auto z = hn::Load(d, values);
      const auto e = PowerOfTwo(hn::Or(z, hn::Set(d, -0.0f)));
      hn::Store(hn::Div(hn::IfThenElse(hn::Lt(z, hn::Zero(d)), e, one), hn::Add(one, e)), d, values);
      continue;
    }
    const auto scale = hn::Div(one, ReplaceByExponentials(strip, row, x).sum);
    for (int c = 0; c < strip.outputChannels; ++c)
    {
      float * values = strip.GetLogits(c, row) + x;
      hn::Store(hn::Mul(scale, hn::Load(d, values)), d, values);
    }
  }
}

void
Probabilities(const MapView<const float> & map,
              const PixelLogits &          logits,
              const CoreRegion &           core,
              const MapView<float> &       output)
{
  LogitStrip strip(logits);
  ForEachStrip(map, core, strip, [&]() HWY_ATTR {
    strip.ComputeLogits();
    for (int row = 0; row < strip.stride; ++row)
    {
      ReplaceByProbabilities(strip, row);
      strip.ForEachRun(row, core, [&](std::int64_t from, std::int64_t y, std::int64_t x, std::int64_t count) HWY_ATTR {
        for (int c = 0; c < strip.outputChannels; ++c)
        {
          const float * source = strip.GetLogits(c, row) + from;
          float * target = output.values + c * output.channelStride + y * output.rowStride + x * output.columnStride;
          if (output.columnStride == 1)
          {
            std::memcpy(target, source, count * sizeof(float));
            continue;
          }
          for (std::int64_t i = 0; i < count; ++i)
          {
            target[i * output.columnStride] = source[i];
          }
        }
      });
    }
  });
}

/** Logits to labels, in the place of the classes. */
void
FindLabels(LogitStrip & strip, int row, float threshold, std::uint8_t object)
{
  const Floats d;
  for (int x = 0; x < strip.GetPixels(); x += Lanes)
  {
    auto greatest = hn::Load(d, strip.GetLogits(0, row) + x);
    auto label = hn::IfThenElseZero(hn::RebindMask(Ints(), hn::Ge(greatest, hn::Set(d, threshold))),
                                    hn::Set(Ints(), strip.outputChannels == 1 ? object : 0));
    for (int c = 1; c < strip.outputChannels; ++c)
    {
      const auto value = hn::Load(d, strip.GetLogits(c, row) + x);
      label = hn::IfThenElse(hn::RebindMask(Ints(), hn::Gt(value, greatest)), hn::Set(Ints(), c), label);
      greatest = hn::Max(greatest, value);
    }
    hn::StoreU(hn::DemoteTo(Bytes(), label), Bytes(), strip.GetClasses(row) + x);
  }
}

void
Labels(const MapView<const float> & map,
       const PixelLogits &          logits,
       const CoreRegion &           core,
       float                        threshold,
       std::uint8_t                 object,
       std::uint8_t *               labels,
       std::ptrdiff_t               pitch)
{
  LogitStrip strip(logits);
  ForEachStrip(map, core, strip, [&]() HWY_ATTR {
    strip.ComputeLogits();
    for (int row = 0; row < strip.stride; ++row)
    {
      FindLabels(strip, row, threshold, object);
      strip.ForEachRun(row, core, [&](std::int64_t from, std::int64_t y, std::int64_t x, std::int64_t count) HWY_ATTR {
        std::memcpy(labels + y * pitch + x, strip.GetClasses(row) + from, count);
      });
    }
  });
}

void
Score(const MapView<const float> & map,
      const PixelLogits &          logits,
      const CoreRegion &           core,
      const std::uint8_t *         classes,
      std::ptrdiff_t               pitch,
      std::uint8_t *               labels,
      LossSum &                    sum)
{
  LogitStrip          strip(logits);
  std::vector<double> ignoredBias(logits.outputChannels);
  ForEachStrip(map, core, strip, [&]() HWY_ATTR {
    strip.ComputeLogits();
    for (int row = 0; row < strip.stride; ++row)
    {
      FindLabels(strip, row, 0.0f, 1);
      strip.ForEachRun(row, core, [&](std::int64_t from, std::int64_t y, std::int64_t x, std::int64_t count) HWY_ATTR {
        std::memcpy(labels + y * pitch + x, strip.GetClasses(row) + from, count);
      });
    }
    strip.LoadTruth(classes, pitch, core);
    if (logits.outputChannels == 1)
    {
      BinaryLossGradient(strip, ignoredBias.data(), sum);
    }
    else
    {
      SoftmaxLossGradient(strip, ignoredBias.data(), sum);
    }
  });
}

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gigapixel
{
namespace kernels
{
HWY_EXPORT(AddLoss);
HWY_EXPORT(Probabilities);
HWY_EXPORT(Labels);
HWY_EXPORT(Score);

void
AddPixelLoss(const MapView<const float> & map,
             const PixelLogits &          logits,
             const CoreRegion &           core,
             const std::uint8_t *         classes,
             std::ptrdiff_t               pitch,
             const MapView<float> &       mapGradient,
             double *                     weightGradient,
             double *                     biasGradient,
             LossSum &                    sum)
{
  HWY_DYNAMIC_DISPATCH(AddLoss)
  (map, logits, core, classes, pitch, mapGradient, weightGradient, biasGradient, sum);
}

void
ScorePixels(const MapView<const float> & map,
            const PixelLogits &          logits,
            const CoreRegion &           core,
            const std::uint8_t *         classes,
            std::ptrdiff_t               pitch,
            std::uint8_t *               labels,
            LossSum &                    sum)
{
  HWY_DYNAMIC_DISPATCH(Score)(map, logits, core, classes, pitch, labels, sum);
}

void
PredictProbabilities(const MapView<const float> & map,
                     const PixelLogits &          logits,
                     const CoreRegion &           core,
                     const MapView<float> &       probabilities)
{
  HWY_DYNAMIC_DISPATCH(Probabilities)(map, logits, core, probabilities);
}

void
PredictLabels(const MapView<const float> & map,
              const PixelLogits &          logits,
              const CoreRegion &           core,
              double                       threshold,
              std::uint8_t                 object,
              std::uint8_t *               labels,
              std::ptrdiff_t               pitch)
{
  const float logit = static_cast<float>(std::log2(threshold / (1.0 - threshold))); // the strip's unit is ln 2
  HWY_DYNAMIC_DISPATCH(Labels)(map, logits, core, logit, object, labels, pitch);
}

} // namespace kernels
} // namespace gigapixel
#endif

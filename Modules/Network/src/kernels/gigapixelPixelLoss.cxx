/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelKernelTargets.h"
#include "gigapixelPixelLoss.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gigapixelPixelLoss.cxx"
#include <hwy/foreach_target.h>
#include "gigapixelStripLoss-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

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
        const TruthView &            truth,
        const LossTerms &            terms,
        const LogitGradient &        gradient,
        LossSum &                    sum)
{
  ClearOutside(gradient.map, logits, core);
  LogitStrip strip(logits);
  ForEachStrip(map, core, strip, [&]() HWY_ATTR {
    strip.LoadTruth(truth.classes, truth.pitch, core);
    strip.ComputeLogits();
    TakeLossGradient(strip, terms, sum);
    AddBiasGradient(strip, gradient.bias);
    strip.StoreMapGradient(gradient.map);
    strip.AddWeightGradient();
  });
  strip.AddWeightGradientTo(gradient.weight);
}

/** Writes the values that stand in the place of the logits. */
void
StoreValues(LogitStrip & strip, const CoreRegion & core, const MapView<float> & output)
{
  for (int row = 0; row < strip.stride; ++row)
  {
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
}

void
Values(const MapView<const float> & map,
       const PixelLogits &          logits,
       const CoreRegion &           core,
       PixelValue                   value,
       const MapView<float> &       output)
{
  LogitStrip strip(logits);
  ForEachStrip(map, core, strip, [&]() HWY_ATTR {
    strip.ComputeLogits();
    value == PixelValue::Probability ? ReplaceByProbabilities(strip) : ScaleToNaturalUnit(strip);
    StoreValues(strip, core, output);
  });
}

/** Writes the labels that stand in the place of the classes. */
void
StoreLabels(LogitStrip & strip, const CoreRegion & core, std::uint8_t * labels, std::ptrdiff_t pitch)
{
  for (int row = 0; row < strip.stride; ++row)
  {
    strip.ForEachRun(row, core, [&](std::int64_t from, std::int64_t y, std::int64_t x, std::int64_t count) HWY_ATTR {
      std::memcpy(labels + y * pitch + x, strip.GetClasses(row) + from, count);
    });
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
    if (strip.outputChannels == 1)
    {
      strip.ComputeLabels(threshold, object);
    }
    else
    {
      strip.ComputeLogits();
      FindLabels(strip, threshold, object);
    }
    StoreLabels(strip, core, labels, pitch);
  });
}

void
Score(const MapView<const float> & map,
      const PixelLogits &          logits,
      const CoreRegion &           core,
      const TruthView &            truth,
      const LossTerms &            terms,
      std::uint8_t *               labels,
      LossSum &                    sum)
{
  sum.SetNumberOfChannels(logits.outputChannels);
  LogitStrip strip(logits);
  ForEachStrip(map, core, strip, [&]() HWY_ATTR {
    strip.ComputeLogits();
    FindLabels(strip, 0.0f, 1);
    StoreLabels(strip, core, labels, truth.pitch);
    strip.LoadTruth(truth.classes, truth.pitch, core);
    if (!terms.HasSums())
    {
      TakeCrossEntropyGradient(strip, terms, sum);
      return;
    }
    if (terms.HasCrossEntropy())
    {
      LossSum crossEntropy;
      TakeCrossEntropyGradient(strip, terms, crossEntropy);
      sum.loss += crossEntropy.loss;
      strip.ComputeLogits();
    }
    ReplaceByProbabilities(strip);
    AddDiceSums(strip, sum);
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
HWY_EXPORT(Values);
HWY_EXPORT(Labels);
HWY_EXPORT(Score);

void
AddPixelLoss(const MapView<const float> & map,
             const PixelLogits &          logits,
             const CoreRegion &           core,
             const TruthView &            truth,
             const LossTerms &            terms,
             const LogitGradient &        gradient,
             LossSum &                    sum)
{
  HWY_DYNAMIC_DISPATCH(AddLoss)(map, logits, core, truth, terms, gradient, sum);
}

void
ScorePixels(const MapView<const float> & map,
            const PixelLogits &          logits,
            const CoreRegion &           core,
            const TruthView &            truth,
            const LossTerms &            terms,
            std::uint8_t *               labels,
            LossSum &                    sum)
{
  HWY_DYNAMIC_DISPATCH(Score)(map, logits, core, truth, terms, labels, sum);
}

void
Predict(const MapView<const float> & map,
        const PixelLogits &          logits,
        const CoreRegion &           core,
        PixelValue                   value,
        const MapView<float> &       values)
{
  HWY_DYNAMIC_DISPATCH(Values)(map, logits, core, value, values);
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

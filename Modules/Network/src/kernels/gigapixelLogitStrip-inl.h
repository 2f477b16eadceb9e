/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A strip of logits: the last layer's transposed convolution and its adjoints over a few columns of one map row.
#if defined(gigapixelLogitStrip_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef gigapixelLogitStrip_inl_h
#    undef gigapixelLogitStrip_inl_h
#  else
#    define gigapixelLogitStrip_inl_h
#  endif

#  include "gigapixelLanes-inl.h"
#  include "gigapixelPixelLoss.h"

#  include <algorithm>
#  include <cstring>

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** Some columns of one row of the map, with the stride x (columns * stride) pixels that hang on them.
 *
 * Logits are kept in units of ln 2 (weights and bias are scaled by log2 e), because the exponentials to come are powers
 * of two.
 *
 * Lanes run along the pixels of a row, as the classes and the labels lie in memory. For that each map value is written
 * stride times side by side ("spread"), and the weights of a row of the kernel repeat with the same period. The stride
 * is padded to a power of two (period of the columns) and weights to at least one vector (period of the weights);
 * pixels of the padding have weight 0 and no class.
 *
 * With that, logits, map gradient and weight gradient are three small matrix products over
 *   rows    (outputChannel, row of the kernel),
 *   channels of the input,
 *   pixels  along the strip,
 * each blocked so that its accumulators or its weights stay in registers while the strip stays in the nearest caches
 * (longer strips measured faster up to 512 pixels, where what is done once per strip no longer counts). */
class LogitStrip
{
public:
  explicit LogitStrip(const PixelLogits & layer)
    : inputChannels(layer.inputChannels)
    , outputChannels(layer.outputChannels)
    , stride(layer.stride)
    , m_Rows(layer.outputChannels * layer.stride)
  {
    while (m_Column < stride)
    {
      m_Column *= 2;
    }
    m_Period = std::max(m_Column, Lanes);
    const int fitting = MaximumBytes / static_cast<int>(sizeof(float)) / (m_Rows + 2 * inputChannels);
    m_Width = std::max(1, std::min(MaximumPixels, fitting) / m_Period) * m_Period;
    m_Pitch = m_Width + Lanes;

    const std::size_t weights = static_cast<std::size_t>(m_Rows) * inputChannels * m_Period;
    m_Weights = MakeZeros<float>(weights);
    m_WeightLanes = MakeZeros<float>(weights);
    m_WeightSums = MakeZeros<double>(weights);
    m_Bias = MakeZeros<float>(m_Rows);
    m_Spread = MakeZeros<float>((inputChannels + 1) * m_Pitch);
    m_MapSums = MakeZeros<float>((inputChannels + 1) * m_Pitch + 8 * Lanes); // read in eights of vectors
    m_Logits = MakeZeros<float>(m_Rows * m_Pitch);
    m_Classes = MakeZeros<std::uint8_t>(stride * m_Pitch);
    PackWeights(layer);
  }

  static constexpr float Log2E = 1.44269504f;
  static constexpr float Ln2 = 0.693147181f;

  const int inputChannels;
  const int outputChannels;
  const int stride;

  /** Map columns that a strip can hold. */
  int
  GetMaximumColumns() const
  {
    return m_Width / m_Column;
  }

  /** Pixels along the strip, a multiple of Lanes; some may be padding. */
  int
  GetPixels() const
  {
    return m_Pixels;
  }

  float *
  GetLogits(int outputChannel, int row)
  {
    return m_Logits.get() + (outputChannel * stride + row) * m_Pitch;
  }

  std::uint8_t *
  GetClasses(int row)
  {
    return m_Classes.get() + row * m_Pitch;
  }

  /** Takes the columns [column, column + columns) of a row of the map. */
  void
  Load(const MapView<const float> & map, std::int64_t row, std::int64_t column, int columns)
  {
    m_Row = row;
    m_FirstColumn = column;
    m_Columns = columns;
    m_Pixels = (columns * m_Column + m_Period - 1) / m_Period * m_Period;
    for (int c = 0; c < inputChannels; ++c)
    {
      const float * source = map.values + c * map.channelStride + row * map.rowStride + column * map.columnStride;
      float *       target = m_Spread.get() + c * m_Pitch;
      if (m_Column == static_cast<int>(hn::MaxLanes(Half())))
      {
        RepeatValues<Half>(source, map.columnStride, target);
      }
      else
      {
        RepeatValues<Floats>(source, map.columnStride, target);
      }
    }
  }

  /** Calls f(x in the strip, x in the core, number of pixels) for the runs of pixels of a strip's row that lie in the
   * core; the core's y is returned, or -1 if that row lies outside. */
  template <typename F>
  HWY_INLINE void
  ForEachRun(int row, const CoreRegion & core, const F & f) const
  {
    const std::int64_t y = m_Row * stride + row - core.y;
    if (y < 0 || y >= core.height)
    {
      return;
    }
    const bool seamless = m_Column == stride;
    const int  length = seamless ? m_Columns * stride : stride;
    for (int run = 0; run < (seamless ? 1 : m_Columns); ++run)
    {
      const std::int64_t x = (m_FirstColumn + run) * stride - core.x;
      const std::int64_t begin = std::max<std::int64_t>(x, 0);
      const std::int64_t end = std::min<std::int64_t>(x + length, core.width);
      if (begin < end)
      {
        f(run * m_Column + (begin - x), y, begin, end - begin);
      }
    }
  }

  /** Fetches the classes; pixels outside the core get none. */
  void
  LoadTruth(const std::uint8_t * classes, std::ptrdiff_t pitch, const CoreRegion & core)
  {
    std::memset(m_Classes.get(), 255, stride * m_Pitch);
    for (int row = 0; row < stride; ++row)
    {
      ForEachRun(row, core, [&](std::int64_t inStrip, std::int64_t y, std::int64_t x, std::int64_t count) HWY_ATTR {
        std::memcpy(GetClasses(row) + inStrip, classes + y * pitch + x, count);
      });
    }
  }

  void
  ComputeLogits()
  {
    float * const logits = m_Logits.get();
    const int     pitch = m_Pitch;
    ForEachLogit([=](int row, int x, FloatVector v) HWY_ATTR { hn::Store(v, Floats(), logits + row * pitch + x); });
  }

  /** For one output channel, in the place of the classes: the object where the logit is at least the threshold, else 0.
   * The logits themselves are not stored. */
  void
  ComputeLabels(float threshold, std::uint8_t object)
  {
    std::uint8_t * const labels = m_Classes.get();
    const int            pitch = m_Pitch;
    ForEachLogit([=](int row, int x, FloatVector v) HWY_ATTR {
      const auto isObject = hn::RebindMask(Ints(), hn::Ge(v, hn::Set(Floats(), threshold)));
      const auto label = hn::IfThenElseZero(isObject, hn::Set(Ints(), object));
      hn::StoreU(hn::DemoteTo(Bytes(), label), Bytes(), labels + row * pitch + x);
    });
  }

  /** Logits hold gradients from here on. */
  void
  AddWeightGradient()
  {
    ForEachChannelBlock(inputChannels, [&](int channel, auto channels) HWY_ATTR {
      ForEachRowBlock(
        m_Rows, [&](int row, auto rows) HWY_ATTR { this->WeightGradientOfBlock<rows(), channels()>(row, channel); });
    });
    if (++m_StripsInLanes == StripsPerFlush)
    {
      FlushWeightGradient();
    }
  }

  /** Writes the gradient of the columns that were loaded. */
  void
  StoreMapGradient(const MapView<float> & gradient)
  {
    ForEachChannelBlock(inputChannels,
                        [&](int channel, auto channels) HWY_ATTR { this->MapGradientOfBlock<channels()>(channel); });
    const int            columns = m_Columns;
    const std::ptrdiff_t step = gradient.columnStride;
    for (int c = 0; c < inputChannels; ++c)
    {
      float * sums = m_MapSums.get() + c * m_Pitch;
      FoldColumns(sums);
      float * target = gradient.values + c * gradient.channelStride + m_Row * gradient.rowStride + m_FirstColumn * step;
      for (int j = 0; j < columns; ++j)
      {
        target[j * step] = sums[j];
      }
    }
  }

  /** Adds the sum over all strips so far to [inputChannels][outputChannels][stride][stride]. */
  void
  AddWeightGradientTo(double * gradient)
  {
    FlushWeightGradient();
    for (int row = 0; row < m_Rows; ++row)
    {
      for (int c = 0; c < inputChannels; ++c)
      {
        const double * sums = m_WeightSums.get() + (row * inputChannels + c) * m_Period;
        double *       target = gradient + (static_cast<std::ptrdiff_t>(c) * m_Rows + row) * stride;
        for (int x = 0; x < m_Period; ++x)
        {
          if (x % m_Column < stride)
          {
            target[x % m_Column] += sums[x];
          }
        }
      }
    }
  }

private:
  /** Half a vector: the columns of stride 8 with AVX-512, a store that never straddles a cache line. */
  using Half = hn::CappedTag<float, (Lanes > 1 ? Lanes / 2 : 1)>;

  /** Writes each of the row's values m_Column times. Whole vectors are stored: what spills over is overwritten by the
   * next column or the next channel. */
  template <typename D>
  HWY_INLINE void
  RepeatValues(const float * source, std::ptrdiff_t step, float * target) const
  {
    const int width = m_Column;
    const int columns = m_Columns;
    const int padded = m_Pixels / m_Column;
    for (int j = 0; j < padded; ++j)
    {
      const auto value = hn::Set(D(), j < columns ? source[j * step] : 0.0f);
      for (int x = 0; x < width; x += static_cast<int>(hn::MaxLanes(D())))
      {
        hn::StoreU(value, D(), target + j * width + x);
      }
    }
  }

  template <typename T>
  static hwy::AlignedFreeUniquePtr<T[]>
  MakeZeros(std::size_t count)
  {
    auto array = Allocate<T>(count);
    std::fill_n(array.get(), count, T(0));
    return array;
  }

  void
  PackWeights(const PixelLogits & layer)
  {
    for (int row = 0; row < m_Rows; ++row)
    {
      m_Bias[row] = Log2E * layer.bias[row / stride];
      for (int c = 0; c < inputChannels; ++c)
      {
        const float * source = layer.weight + (static_cast<std::ptrdiff_t>(c) * m_Rows + row) * stride;
        float *       target = m_Weights.get() + (row * inputChannels + c) * m_Period;
        for (int x = 0; x < m_Period; ++x)
        {
          target[x] = x % m_Column < stride ? Log2E * source[x % m_Column] : 0.0f;
        }
      }
    }
  }

  // Vector stores may alias anything, so the loops below keep sizes and pointers in locals: as members they would be
  // loaded again after every store.

  /** \param take (row, x, logits) gets each vector of logits once */
  template <typename F>
  HWY_INLINE void
  ForEachLogit(const F & take)
  {
    float * const logits = m_Logits.get();
    const int     pitch = m_Pitch;
    const auto keep = [=](int row, int x, FloatVector v) HWY_ATTR { hn::Store(v, Floats(), logits + row * pitch + x); };
    ForEachChannelBlock(inputChannels, [&](int channel, auto channels) HWY_ATTR {
      const bool last = channel + channels() == inputChannels;
      ForEachRowBlock(m_Rows, [&](int row, auto rows) HWY_ATTR {
        last ? this->LogitsOfBlock<rows(), channels()>(row, channel, take)
             : this->LogitsOfBlock<rows(), channels()>(row, channel, keep);
      });
    });
  }

  /** logits[row][x] = bias + sum over channels of weight[row][channel][x] * spread[channel][x]. The weights of the
   * block stay in registers: a pixel costs one load per channel and what is done with the sums.
   * \param take (row, x, sums) */
  template <int Rows, int Channels, typename F>
  void
  LogitsOfBlock(int row, int channel, const F & take)
  {
    const Floats  d;
    const int     period = m_Period;
    const int     pixels = m_Pixels;
    const int     pitch = m_Pitch;
    const float * spread = m_Spread.get() + channel * pitch;
    const float * logits = m_Logits.get() + row * pitch;
    const float * packed = GetWeights(m_Weights, row, channel);
    const int     rowOfWeights = inputChannels * period;
    const float * bias = m_Bias.get() + row;
    for (int phase = 0; phase < period; phase += Lanes)
    {
      FloatVector weights[Rows][Channels];
      for (int r = 0; r < Rows; ++r)
      {
        for (int c = 0; c < Channels; ++c)
        {
          weights[r][c] = hn::Load(d, packed + r * rowOfWeights + c * period + phase);
        }
      }
      for (int x = phase; x < pixels; x += period)
      {
        FloatVector sums[Rows];
        for (int r = 0; r < Rows; ++r)
        {
          sums[r] = channel == 0 ? hn::Set(d, bias[r]) : hn::Load(d, logits + r * pitch + x);
        }
        for (int c = 0; c < Channels; ++c)
        {
          const auto value = hn::Load(d, spread + c * pitch + x);
          for (int r = 0; r < Rows; ++r)
          {
            sums[r] = hn::MulAdd(weights[r][c], value, sums[r]);
          }
        }
        for (int r = 0; r < Rows; ++r)
        {
          take(row + r, x, sums[r]);
        }
      }
    }
  }

  /** weightLanes[row][channel][x modulo period] += gradient[row][x] * spread[channel][x], accumulators in registers
   * along the strip. */
  template <int Rows, int Channels>
  void
  WeightGradientOfBlock(int row, int channel)
  {
    const Floats  d;
    const int     period = m_Period;
    const int     pixels = m_Pixels;
    const int     pitch = m_Pitch;
    const float * spread = m_Spread.get() + channel * pitch;
    const float * gradients = m_Logits.get() + row * pitch;
    float *       packed = GetWeights(m_WeightLanes, row, channel);
    const int     rowOfWeights = inputChannels * period;
    for (int phase = 0; phase < period; phase += Lanes)
    {
      FloatVector sums[Rows][Channels];
      for (int r = 0; r < Rows; ++r)
      {
        for (int c = 0; c < Channels; ++c)
        {
          sums[r][c] = hn::Load(d, packed + r * rowOfWeights + c * period + phase);
        }
      }
      for (int x = phase; x < pixels; x += period)
      {
        FloatVector gradient[Rows];
        for (int r = 0; r < Rows; ++r)
        {
          gradient[r] = hn::Load(d, gradients + r * pitch + x);
        }
        for (int c = 0; c < Channels; ++c)
        {
          const auto value = hn::Load(d, spread + c * pitch + x);
          for (int r = 0; r < Rows; ++r)
          {
            sums[r][c] = hn::MulAdd(gradient[r], value, sums[r][c]);
          }
        }
      }
      for (int r = 0; r < Rows; ++r)
      {
        for (int c = 0; c < Channels; ++c)
        {
          hn::Store(sums[r][c], d, packed + r * rowOfWeights + c * period + phase);
        }
      }
    }
  }

  /** mapSums[channel][x] = sum over rows of weight[row][channel][x] * gradient[row][x]: several vectors along the
   * strip at once, so that a weight that was loaded is used several times. */
  template <int Channels>
  void
  MapGradientOfBlock(int channel)
  {
    const int period = m_Period;
    const int pixels = m_Pixels;
    for (int phase = 0; phase < period; phase += Lanes)
    {
      int x = phase;
      for (; x + (BlockRows - 1) * period < pixels; x += BlockRows * period)
      {
        MapGradientOfVectors<Channels, BlockRows>(channel, phase, x);
      }
      for (; x < pixels; x += period)
      {
        MapGradientOfVectors<Channels, 1>(channel, phase, x);
      }
    }
  }

  template <int Channels, int Vectors>
  HWY_INLINE void
  MapGradientOfVectors(int channel, int phase, int x)
  {
    const Floats  d;
    const int     period = m_Period;
    const int     pitch = m_Pitch;
    const int     rowOfWeights = inputChannels * period;
    const float * gradients = m_Logits.get() + x;
    const float * packed = GetWeights(m_Weights, 0, channel) + phase;
    FloatVector   sums[Channels][Vectors];
    for (int c = 0; c < Channels; ++c)
    {
      for (int v = 0; v < Vectors; ++v)
      {
        sums[c][v] = hn::Zero(d);
      }
    }
    for (int row = 0; row < m_Rows; ++row)
    {
      FloatVector gradient[Vectors];
      for (int v = 0; v < Vectors; ++v)
      {
        gradient[v] = hn::Load(d, gradients + row * pitch + v * period);
      }
      for (int c = 0; c < Channels; ++c)
      {
        const auto weight = hn::Load(d, packed + row * rowOfWeights + c * period);
        for (int v = 0; v < Vectors; ++v)
        {
          sums[c][v] = hn::MulAdd(weight, gradient[v], sums[c][v]);
        }
      }
    }
    float * target = m_MapSums.get() + channel * pitch + x;
    for (int c = 0; c < Channels; ++c)
    {
      for (int v = 0; v < Vectors; ++v)
      {
        hn::Store(sums[c][v], d, target + c * pitch + v * period);
      }
    }
  }

  /** Sums over the pixels of each column, to the front, in units of the map. Whole vectors are read and written; those
   * beyond the pixels hold nothing that is used. */
  void
  FoldColumns(float * sums) const
  {
    int width = m_Column;
    int pixels = m_Pixels;
    for (; width > 8; width /= 2, pixels /= 2)
    {
      FoldOnce<1>(sums, pixels, 1.0f);
    }
    switch (width)
    {
      case 8:
        return FoldOnce<3>(sums, pixels, Ln2);
      case 4:
        return FoldOnce<2>(sums, pixels, Ln2);
      case 2:
        return FoldOnce<1>(sums, pixels, Ln2);
      default:
        return FoldOnce<0>(sums, pixels, Ln2);
    }
  }

  template <int Levels>
  static HWY_INLINE void
  FoldOnce(float * sums, int pixels, float scale)
  {
    const Floats d;
    for (int x = 0; x < pixels; x += Lanes << Levels)
    {
      hn::StoreU(hn::Mul(hn::Set(d, scale), SumOfGroups<Levels>(sums + x)), d, sums + (x >> Levels));
    }
  }

  void
  FlushWeightGradient()
  {
    const std::ptrdiff_t count = static_cast<std::ptrdiff_t>(m_Rows) * inputChannels * m_Period;
    for (std::ptrdiff_t i = 0; i < count; ++i)
    {
      m_WeightSums[i] += m_WeightLanes[i];
      m_WeightLanes[i] = 0.0f;
    }
    m_StripsInLanes = 0;
  }

  HWY_INLINE float *
  GetWeights(const hwy::AlignedFreeUniquePtr<float[]> & weights, int row, int channel) const
  {
    return weights.get() + (row * inputChannels + channel) * m_Period;
  }

  static constexpr int MaximumPixels = 512;
  static constexpr int MaximumBytes = 48 * 1024; // of spread values, logits and sums: L1 and a little of L2
  static constexpr int StripsPerFlush = 2;       // each lane adds up to 2 * 512 / period products in float

  int          m_Rows;
  int          m_Column{ 1 }; // pixels from column to column
  int          m_Period{ 1 };
  int          m_Width{ 0 };
  int          m_Pitch{ 0 };
  int          m_Columns{ 0 };
  int          m_Pixels{ 0 };
  int          m_StripsInLanes{ 0 };
  std::int64_t m_Row{ 0 };
  std::int64_t m_FirstColumn{ 0 };

  hwy::AlignedFreeUniquePtr<float[]>        m_Weights;     // [row][channel][period]
  hwy::AlignedFreeUniquePtr<float[]>        m_WeightLanes; // gradient of the latest strips
  hwy::AlignedFreeUniquePtr<double[]>       m_WeightSums;  // gradient of the strips before
  hwy::AlignedFreeUniquePtr<float[]>        m_Bias;        // [row]
  hwy::AlignedFreeUniquePtr<float[]>        m_Spread;      // [channel][pixel]
  hwy::AlignedFreeUniquePtr<float[]>        m_MapSums;     // [channel][pixel]
  hwy::AlignedFreeUniquePtr<float[]>        m_Logits;      // [row][pixel]
  hwy::AlignedFreeUniquePtr<std::uint8_t[]> m_Classes;     // [row of the kernel][pixel]
};

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#endif

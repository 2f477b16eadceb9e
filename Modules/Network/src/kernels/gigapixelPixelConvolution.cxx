/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelKernelTargets.h"
#include "gigapixelPixelConvolution.h"

#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gigapixelPixelConvolution.cxx"
#include <hwy/foreach_target.h>
#include "gigapixelPixelPlanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** Calls f(channel, column, place) for the values of a row of a map, in the order in which they lie in memory. */
template <typename T, typename F>
HWY_INLINE void
ForEachValue(const MapView<T> & map, int channels, int columns, const F & f)
{
  const std::ptrdiff_t channelStride = map.channelStride;
  const std::ptrdiff_t columnStride = map.columnStride;
  if (channelStride < columnStride)
  {
    for (int j = 0; j < columns; ++j)
    {
      for (int c = 0; c < channels; ++c)
      {
        f(c, j, c * channelStride + j * columnStride);
      }
    }
    return;
  }
  for (int c = 0; c < channels; ++c)
  {
    for (int j = 0; j < columns; ++j)
    {
      f(c, j, c * channelStride + j * columnStride);
    }
  }
}

/** The forward pass over strips of output columns. Output channels x output columns are accumulated in registers (6 x 4
 * vectors of 32 registers, 6 x 2 of 16) over all taps of the kernel: 24 products cost 10 loads. */
class ForwardStrip
{
public:
  ForwardStrip(const PixelView & pixels, const PixelConvolution & convolution)
    : m_Convolution(convolution)
    , m_Planes(pixels, convolution, 1)
    , m_TapsPerRow(convolution.kernel * pixels.channels)
    , m_Output(Allocate<float>(convolution.outputChannels * PixelPlanes::MaximumColumns))
  {
    for (int kx = 0; kx < convolution.kernel; ++kx)
    {
      for (int c = 0; c < pixels.channels; ++c)
      {
        m_Offsets.push_back(m_Planes.GetOffset(kx, c));
      }
    }
    PackWeights(pixels.channels);
  }

  void
  Run(const MapView<float> & output, std::int64_t column, int columns)
  {
    m_Planes.SetColumns(column, columns);
    for (std::int64_t row = 0; row < output.height; ++row)
    {
      m_Planes.LoadFor(row, row + 1);
      ForEachChannelBlock(m_Convolution.outputChannels, [&](int channel, auto channels) HWY_ATTR {
        this->Convolve<channels()>(row, channel, columns);
      });
      Store(output, row, column, columns);
    }
  }

private:
  /** [block of output channels][tap][channel of the block], with the scale of the samples. */
  void
  PackWeights(int inputChannels)
  {
    const int kernel = m_Convolution.kernel;
    const int taps = kernel * m_TapsPerRow;
    m_Weights.resize(static_cast<std::size_t>(taps) * m_Convolution.outputChannels);
    ForEachChannelBlock(m_Convolution.outputChannels, [&](int first, auto channels) {
      float * target = m_Weights.data() + static_cast<std::size_t>(first) * taps;
      for (int tap = 0; tap < taps; ++tap)
      {
        const int ky = tap / m_TapsPerRow;
        const int kx = tap % m_TapsPerRow / inputChannels;
        const int c = tap % inputChannels;
        for (int o = first; o < first + channels; ++o)
        {
          const std::size_t source = ((static_cast<std::size_t>(o) * inputChannels + c) * kernel + ky) * kernel + kx;
          *target++ = m_Convolution.weight[source] * (1.0f / 255.0f);
        }
      }
    });
  }

  template <int Channels>
  void
  Convolve(std::int64_t row, int channel, int columns)
  {
    int column = 0;
    for (; column + (BlockRows - 1) * Lanes < columns; column += BlockRows * Lanes)
    {
      ConvolveBlock<Channels, BlockRows>(row, channel, column);
    }
    for (; column < columns; column += Lanes)
    {
      ConvolveBlock<Channels, 1>(row, channel, column);
    }
  }

  template <int Channels, int Vectors>
  HWY_INLINE void
  ConvolveBlock(std::int64_t row, int channel, int column)
  {
    const Floats d;
    FloatVector  sums[Channels][Vectors];
    for (int c = 0; c < Channels; ++c)
    {
      for (int v = 0; v < Vectors; ++v)
      {
        sums[c][v] = hn::Set(d, m_Convolution.bias[channel + c]);
      }
    }
    const int     tapsPerRow = m_TapsPerRow;
    const int *   offsets = m_Offsets.data();
    const float * weight = m_Weights.data() + static_cast<std::size_t>(channel) * m_Convolution.kernel * tapsPerRow;
    for (int ky = 0; ky < m_Convolution.kernel; ++ky)
    {
      const float * values = m_Planes.GetRow(row * m_Convolution.stride + ky) + column;
      for (int tap = 0; tap < tapsPerRow; ++tap, weight += Channels)
      {
        FloatVector value[Vectors];
        for (int v = 0; v < Vectors; ++v)
        {
          value[v] = hn::LoadU(d, values + offsets[tap] + v * Lanes);
        }
        for (int c = 0; c < Channels; ++c)
        {
          for (int v = 0; v < Vectors; ++v)
          {
            sums[c][v] = hn::MulAdd(hn::Set(d, weight[c]), value[v], sums[c][v]);
          }
        }
      }
    }
    const auto least = hn::Set(d, m_Convolution.relu ? 0.0f : -hwy::HighestValue<float>());
    for (int c = 0; c < Channels; ++c)
    {
      for (int v = 0; v < Vectors; ++v)
      {
        hn::Store(hn::Max(least, sums[c][v]),
                  d,
                  m_Output.get() + (channel + c) * PixelPlanes::MaximumColumns + column + v * Lanes);
      }
    }
  }

  void
  Store(const MapView<float> & output, std::int64_t row, std::int64_t column, int columns) const
  {
    float * target = output.values + row * output.rowStride + column * output.columnStride;
    ForEachValue(output, m_Convolution.outputChannels, columns, [&](int o, int j, std::ptrdiff_t place) {
      target[place] = m_Output[o * PixelPlanes::MaximumColumns + j];
    });
  }

  const PixelConvolution             m_Convolution;
  PixelPlanes                        m_Planes;
  int                                m_TapsPerRow;
  std::vector<int>                   m_Offsets; // of each tap of a kernel row
  std::vector<float>                 m_Weights;
  hwy::AlignedFreeUniquePtr<float[]> m_Output; // [output channel][column] of one row
};

/** The weight gradient over strips of output columns and groups of output rows: for each pair of an output channel and
 * a tap a sum over the group's positions, lanes along the columns. Taps x channels are accumulated in registers (4 x 6,
 * or 2 x 6) over the whole group: 24 products cost 10 loads, and the sums go to memory once per group. */
class GradientStrip
{
public:
  GradientStrip(const PixelView & pixels, const PixelConvolution & convolution)
    : m_Convolution(convolution)
    , m_InputChannels(pixels.channels)
    , m_GroupRows(GetGroupRows(pixels, convolution))
    , m_Planes(pixels, convolution, m_GroupRows)
    , m_Rows((m_GroupRows - 1) * convolution.stride + convolution.kernel)
    , m_Gradient(Allocate<float>(m_GroupRows * convolution.outputChannels * PixelPlanes::MaximumColumns))
    , m_Activated(Allocate<float>(convolution.outputChannels * PixelPlanes::MaximumColumns))
    , m_BiasSums(convolution.outputChannels)
  {
    ListTaps();
    const std::size_t sums = m_Taps.size() * convolution.outputChannels;
    m_LaneSums = Allocate<float>(sums * Lanes);
    std::fill_n(m_LaneSums.get(), sums * Lanes, 0.0f);
    m_Sums.resize(sums);
  }

  void
  Run(const MapView<const float> & output, const MapView<const float> & gradient, std::int64_t column, int columns)
  {
    m_Planes.SetColumns(column, columns);
    for (std::int64_t row = 0; row < gradient.height; row += m_GroupRows)
    {
      const int rows = static_cast<int>(std::min<std::int64_t>(m_GroupRows, gradient.height - row));
      m_Planes.LoadFor(row, row + rows);
      for (std::size_t i = 0; i < m_Rows.size(); ++i)
      {
        m_Rows[i] = m_Planes.GetRow(row * m_Convolution.stride + i);
      }
      LoadGradient(output, gradient, row, rows, column, columns);
      const int vectors = (columns + Lanes - 1) / Lanes;
      ForEachChannelBlock(m_Convolution.outputChannels, [&](int channel, auto channels) HWY_ATTR {
        ForEachRowBlock(static_cast<int>(m_Taps.size()), [&](int tap, auto taps) HWY_ATTR {
          this->AddBlock<taps(), channels()>(tap, channel, rows, vectors);
        });
      });
      if (++m_GroupsInLanes == GroupsPerFlush)
      {
        Flush();
      }
    }
  }

  void
  AddTo(double * weightGradient, double * biasGradient)
  {
    Flush();
    const int kernel = m_Convolution.kernel;
    for (std::size_t tap = 0; tap < m_Taps.size(); ++tap)
    {
      const Tap & t = m_Taps[tap];
      for (int o = 0; o < m_Convolution.outputChannels; ++o)
      {
        const std::size_t target =
          ((static_cast<std::size_t>(o) * m_InputChannels + t.channel) * kernel + t.ky) * kernel;
        weightGradient[target + t.kx] += m_Sums[tap * m_Convolution.outputChannels + o] / 255.0;
      }
    }
    for (int o = 0; o < m_Convolution.outputChannels; ++o)
    {
      biasGradient[o] += m_BiasSums[o].GetSum();
    }
  }

private:
  struct Tap
  {
    int ky;
    int kx;
    int channel;
    int offset; ///< in the row's planes
  };

  /** Eight rows, so that sums rarely go to memory; fewer where their planes would not fit half of a usual L2 cache. */
  static int
  GetGroupRows(const PixelView & pixels, const PixelConvolution & convolution)
  {
    const int fitting = static_cast<int>(512 * 1024 / PixelPlanes::GetBytesOfRow(pixels, convolution));
    return std::clamp((fitting - convolution.kernel) / convolution.stride + 1, 1, 8);
  }

  /** Taps that look at the same plane are neighbours, first those of the same row: a block of taps then loads the same
   * cache lines. */
  void
  ListTaps()
  {
    const int stride = m_Convolution.stride;
    for (int p = 0; p < std::min(stride, m_Convolution.kernel); ++p)
    {
      for (int c = 0; c < m_InputChannels; ++c)
      {
        for (int q = 0; q < std::min(stride, m_Convolution.kernel); ++q)
        {
          for (int ky = q; ky < m_Convolution.kernel; ky += stride)
          {
            for (int kx = p; kx < m_Convolution.kernel; kx += stride)
            {
              m_Taps.push_back({ ky, kx, c, m_Planes.GetOffset(kx, c) });
            }
          }
        }
      }
    }
  }

  /** Gathers the group's gradient, zero where ReLU was closed and beyond the columns. */
  void
  LoadGradient(const MapView<const float> & output,
               const MapView<const float> & gradient,
               std::int64_t                 row,
               int                          rows,
               std::int64_t                 column,
               int                          columns)
  {
    const int size = m_Convolution.outputChannels * PixelPlanes::MaximumColumns;
    for (int r = 0; r < rows; ++r)
    {
      float * target = m_Gradient.get() + r * size;
      Gather(gradient, row + r, column, columns, target);
      if (m_Convolution.relu)
      {
        Gather(output, row + r, column, columns, m_Activated.get());
        CloseReLU(m_Activated.get(), size, target);
      }
      for (int o = 0; o < m_Convolution.outputChannels; ++o)
      {
        AddBias(target + o * PixelPlanes::MaximumColumns, o);
      }
    }
  }

  /** [channel][column] of one row, and zeros up to the strip's end. */
  void
  Gather(const MapView<const float> & map, std::int64_t row, std::int64_t column, int columns, float * target) const
  {
    const float * source = map.values + row * map.rowStride + column * map.columnStride;
    ForEachValue(map, m_Convolution.outputChannels, columns, [&](int o, int j, std::ptrdiff_t place) {
      target[o * PixelPlanes::MaximumColumns + j] = source[place];
    });
    for (int o = 0; columns < PixelPlanes::MaximumColumns && o < m_Convolution.outputChannels; ++o)
    {
      float * channel = target + o * PixelPlanes::MaximumColumns;
      std::fill(channel + columns, channel + PixelPlanes::MaximumColumns, 0.0f);
    }
  }

  /** In vectors, because a branch would be mispredicted for every other value. */
  static void
  CloseReLU(const float * activated, int size, float * gradient)
  {
    const Floats d;
    for (int j = 0; j < size; j += Lanes)
    {
      const auto open = hn::Gt(hn::Load(d, activated + j), hn::Zero(d));
      hn::Store(hn::IfThenElseZero(open, hn::Load(d, gradient + j)), d, gradient + j);
    }
  }

  void
  AddBias(const float * gradient, int channel)
  {
    auto sum = hn::Zero(Floats());
    for (int j = 0; j < PixelPlanes::MaximumColumns; j += Lanes)
    {
      sum = hn::Add(sum, hn::Load(Floats(), gradient + j));
    }
    m_BiasSums[channel].Add(sum);
  }

  template <int Taps, int Channels>
  void
  AddBlock(int tap, int channel, int rows, int vectors)
  {
    const Floats  d;
    const int     outputs = m_Convolution.outputChannels;
    const int     stride = m_Convolution.stride;
    const float * gradients = m_Gradient.get() + channel * PixelPlanes::MaximumColumns;
    FloatVector   sums[Taps][Channels];
    for (int t = 0; t < Taps; ++t)
    {
      for (int c = 0; c < Channels; ++c)
      {
        sums[t][c] = hn::Zero(d);
      }
    }
    for (int r = 0; r < rows; ++r)
    {
      const float * values[Taps];
      for (int t = 0; t < Taps; ++t)
      {
        values[t] = m_Rows[r * stride + m_Taps[tap + t].ky] + m_Taps[tap + t].offset;
      }
      for (int j = 0; j < vectors * Lanes; j += Lanes)
      {
        FloatVector value[Taps];
        for (int t = 0; t < Taps; ++t)
        {
          value[t] = hn::LoadU(d, values[t] + j);
        }
        for (int c = 0; c < Channels; ++c)
        {
          const auto gradient = hn::Load(d, gradients + (r * outputs + c) * PixelPlanes::MaximumColumns + j);
          for (int t = 0; t < Taps; ++t)
          {
            sums[t][c] = hn::MulAdd(gradient, value[t], sums[t][c]);
          }
        }
      }
    }
    float * target = m_LaneSums.get() + (static_cast<std::size_t>(tap) * outputs + channel) * Lanes;
    for (int t = 0; t < Taps; ++t)
    {
      for (int c = 0; c < Channels; ++c)
      {
        float * lanes = target + (t * outputs + c) * Lanes;
        hn::Store(hn::Add(hn::Load(d, lanes), sums[t][c]), d, lanes);
      }
    }
  }

  void
  Flush()
  {
    for (std::size_t i = 0; i < m_Sums.size(); ++i)
    {
      float * lanes = m_LaneSums.get() + i * Lanes;
      double  sum = 0;
      for (int lane = 0; lane < Lanes; ++lane)
      {
        sum += lanes[lane];
        lanes[lane] = 0.0f;
      }
      m_Sums[i] += sum;
    }
    m_GroupsInLanes = 0;
  }

  static constexpr int GroupsPerFlush = 8; // each lane adds 8 groups, of up to 8 * 64 / Lanes products each

  const PixelConvolution             m_Convolution;
  const int                          m_InputChannels;
  const int                          m_GroupRows;
  PixelPlanes                        m_Planes;
  int                                m_GroupsInLanes{ 0 };
  std::vector<const float *>         m_Rows; // planes of each pixel row that the group sees
  std::vector<Tap>                   m_Taps;
  hwy::AlignedFreeUniquePtr<float[]> m_Gradient;  // [row of the group][output channel][column]
  hwy::AlignedFreeUniquePtr<float[]> m_Activated; // [output channel][column]
  hwy::AlignedFreeUniquePtr<float[]> m_LaneSums;  // [tap][output channel][lane], of the latest groups
  std::vector<double>                m_Sums;      // [tap][output channel], of the groups before
  std::vector<LaneSums>              m_BiasSums;  // [output channel]
};

template <typename F>
HWY_INLINE void
ForEachColumns(std::int64_t width, const F & f)
{
  for (std::int64_t column = 0; column < width; column += PixelPlanes::MaximumColumns)
  {
    f(column, static_cast<int>(std::min<std::int64_t>(PixelPlanes::MaximumColumns, width - column)));
  }
}

void
Forward(const PixelView & pixels, const PixelConvolution & convolution, const MapView<float> & output)
{
  ForwardStrip strip(pixels, convolution);
  ForEachColumns(output.width, [&](std::int64_t column, int columns) HWY_ATTR { strip.Run(output, column, columns); });
}

void
AddGradient(const PixelView &            pixels,
            const PixelConvolution &     convolution,
            const MapView<const float> & output,
            const MapView<const float> & outputGradient,
            double *                     weightGradient,
            double *                     biasGradient)
{
  GradientStrip strip(pixels, convolution);
  ForEachColumns(outputGradient.width, [&](std::int64_t column, int columns) HWY_ATTR {
    strip.Run(output, outputGradient, column, columns);
  });
  strip.AddTo(weightGradient, biasGradient);
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
HWY_EXPORT(Forward);
HWY_EXPORT(AddGradient);

void
ConvolvePixels(const PixelView & pixels, const PixelConvolution & convolution, const MapView<float> & output)
{
  HWY_DYNAMIC_DISPATCH(Forward)(pixels, convolution, output);
}

void
AddPixelConvolutionGradient(const PixelView &            pixels,
                            const PixelConvolution &     convolution,
                            const MapView<const float> & output,
                            const MapView<const float> & outputGradient,
                            double *                     weightGradient,
                            double *                     biasGradient)
{
  HWY_DYNAMIC_DISPATCH(AddGradient)(pixels, convolution, output, outputGradient, weightGradient, biasGradient);
}

} // namespace kernels
} // namespace gigapixel
#endif

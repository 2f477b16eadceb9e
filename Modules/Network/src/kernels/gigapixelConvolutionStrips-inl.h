/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Convolution and its weight gradient over strips of columns, for whatever lays its input out in planes.
#if defined(gigapixelConvolutionStrips_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef gigapixelConvolutionStrips_inl_h
#    undef gigapixelConvolutionStrips_inl_h
#  else
#    define gigapixelConvolutionStrips_inl_h
#  endif

#  include "gigapixelConvolution.h"
#  include "gigapixelKernelViews.h"
#  include "gigapixelLanes-inl.h"

#  include <algorithm>
#  include <vector>

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
  if (columnStride == 1)
  {
    for (int c = 0; c < channels; ++c)
    {
      for (int j = 0; j < columns; ++j)
      {
        f(c, j, c * channelStride + j);
      }
    }
    return;
  }
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

/** Taps of a kernel that is applied to planes: which values each output sees, and with what weights. */
struct Taps
{
  int                firstRow{ 0 };
  int                rows{ 0 };
  std::vector<int>   offsets; ///< of the taps of one row, in the planes
  std::vector<float> weights; ///< [block of output channels][tap][channel of the block]

  /** \param get weight of (output channel, row, tap of the row) */
  template <typename F>
  void
  Pack(int outputChannels, const F & get)
  {
    const int tapsPerRow = static_cast<int>(offsets.size());
    weights.clear();
    ForEachChannelBlock(outputChannels, [&](int first, auto channels) {
      for (int tap = 0; tap < rows * tapsPerRow; ++tap)
      {
        for (int o = first; o < first + channels; ++o)
        {
          weights.push_back(get(o, tap / tapsPerRow, tap % tapsPerRow));
        }
      }
    });
  }
};

/** One row of outputs of all channels from planes. Output channels x output columns are accumulated in registers (6 x 4
 * vectors of 32 registers, 6 x 2 of 16) over all taps: 24 products cost 10 loads. */
template <typename TPlanes>
class RowOfOutputs
{
public:
  /** \param bias null: zeros */
  RowOfOutputs(int channels, const float * bias, bool relu)
    : m_Channels(channels)
    , m_Least(relu ? 0.0f : -hwy::HighestValue<float>())
    , m_Bias(channels)
    , m_Values(Allocate<float>(channels * TPlanes::MaximumColumns))
  {
    if (bias != nullptr)
    {
      m_Bias.assign(bias, bias + channels);
    }
  }

  /** \param row the first that the planes of the taps' row 0 hold */
  void
  Compute(const TPlanes & planes, const Taps & taps, std::int64_t row, int columns)
  {
    ForEachChannelBlock(m_Channels, [&](int channel, auto channels) HWY_ATTR {
      this->template ComputeChannels<channels()>(planes, taps, row, channel, columns);
    });
  }

  const float *
  GetChannel(int channel) const
  {
    return m_Values.get() + channel * TPlanes::MaximumColumns;
  }

private:
  template <int Channels>
  void
  ComputeChannels(const TPlanes & planes, const Taps & taps, std::int64_t row, int channel, int columns)
  {
    int column = 0;
    for (; column + (BlockRows - 1) * Lanes < columns; column += BlockRows * Lanes)
    {
      ComputeBlock<Channels, BlockRows>(planes, taps, row, channel, column);
    }
    for (; column < columns; column += Lanes)
    {
      ComputeBlock<Channels, 1>(planes, taps, row, channel, column);
    }
  }

  template <int Channels, int Vectors>
  HWY_INLINE void
  ComputeBlock(const TPlanes & planes, const Taps & taps, std::int64_t row, int channel, int column)
  {
    const Floats d;
    FloatVector  sums[Channels][Vectors];
    for (int c = 0; c < Channels; ++c)
    {
      for (int v = 0; v < Vectors; ++v)
      {
        sums[c][v] = hn::Set(d, m_Bias[channel + c]);
      }
    }
    const int     tapsPerRow = static_cast<int>(taps.offsets.size());
    const int *   offsets = taps.offsets.data();
    const float * weight = taps.weights.data() + static_cast<std::size_t>(channel) * taps.rows * tapsPerRow;
    for (int ky = 0; ky < taps.rows; ++ky)
    {
      const float * values = planes.GetRow(row + taps.firstRow + ky) + column;
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
    const auto least = hn::Set(d, m_Least);
    for (int c = 0; c < Channels; ++c)
    {
      for (int v = 0; v < Vectors; ++v)
      {
        hn::Store(
          hn::Max(least, sums[c][v]), d, m_Values.get() + (channel + c) * TPlanes::MaximumColumns + column + v * Lanes);
      }
    }
  }

  const int                          m_Channels;
  const float                        m_Least;
  std::vector<float>                 m_Bias;
  hwy::AlignedFreeUniquePtr<float[]> m_Values; // [output channel][column]
};

/** The forward pass over strips of output columns. */
template <typename TPlanes>
class ForwardStrip
{
public:
  ForwardStrip(const typename TPlanes::Source & source, const Convolution & convolution)
    : m_Convolution(convolution)
    , m_Planes(source, convolution, 1)
    , m_Output(convolution.outputChannels, convolution.bias, convolution.relu)
  {
    const int kernel = convolution.kernel;
    const int inputs = source.channels;
    m_Taps.rows = kernel;
    for (int kx = 0; kx < kernel; ++kx)
    {
      for (int c = 0; c < inputs; ++c)
      {
        m_Taps.offsets.push_back(m_Planes.GetOffset(kx, c));
      }
    }
    m_Taps.Pack(convolution.outputChannels, [&](int o, int ky, int tap) {
      const std::size_t channel = static_cast<std::size_t>(o) * inputs + tap % inputs;
      return convolution.weight[(channel * kernel + ky) * kernel + tap / inputs] * (1.0f / TPlanes::Unit);
    });
  }

  void
  Run(const MapView<float> & output, std::int64_t column, int columns)
  {
    m_Planes.SetColumns(column, columns);
    for (std::int64_t row = 0; row < output.height; ++row)
    {
      m_Planes.LoadFor(row, row + 1);
      m_Output.Compute(m_Planes, m_Taps, row * m_Convolution.stride, columns);
      float * target = output.values + row * output.rowStride + column * output.columnStride;
      ForEachValue(output, m_Convolution.outputChannels, columns, [&](int o, int j, std::ptrdiff_t place) {
        const float value = m_Output.GetChannel(o)[j];
        target[place] = m_Convolution.adds ? target[place] + value : value;
      });
    }
  }

private:
  const Convolution     m_Convolution;
  TPlanes               m_Planes;
  Taps                  m_Taps;
  RowOfOutputs<TPlanes> m_Output;
};

/** The weight gradient over strips of output columns and groups of output rows: for each pair of an output channel and
 * a tap a sum over the group's positions, lanes along the columns. Taps x channels are accumulated in registers (4 x 6,
 * or 2 x 6) over the whole group: 24 products cost 10 loads, and the sums go to memory once per group. */
template <typename TPlanes>
class GradientStrip
{
public:
  GradientStrip(const typename TPlanes::Source & source, const Convolution & convolution)
    : m_Convolution(convolution)
    , m_InputChannels(source.channels)
    , m_GroupRows(GetGroupRows(source, convolution))
    , m_Planes(source, convolution, m_GroupRows)
    , m_Rows((m_GroupRows - 1) * convolution.stride + convolution.kernel)
    , m_Gradient(Allocate<float>(m_GroupRows * convolution.outputChannels * TPlanes::MaximumColumns))
    , m_Activated(Allocate<float>(convolution.outputChannels * TPlanes::MaximumColumns))
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
      ForEachChannelBlock(static_cast<int>(m_OpenChannels.size()), [&](int first, auto channels) HWY_ATTR {
        const int * open = m_OpenChannels.data() + first;
        ForEachRowBlock(static_cast<int>(m_Taps.size()), [&](int tap, auto taps) HWY_ATTR {
          this->template AddBlock<taps(), channels()>(tap, open, rows, vectors);
        });
      });
      if (++m_GroupsInLanes == GroupsPerFlush)
      {
        Flush();
      }
    }
  }

  /** \param biasGradient null: not wanted */
  void
  AddTo(double * weightGradient, double * biasGradient)
  {
    Flush();
    const int kernel = m_Convolution.kernel;
    for (std::size_t tap = 0; tap < m_Taps.size(); ++tap)
    {
      const Place & t = m_Taps[tap];
      for (int o = 0; o < m_Convolution.outputChannels; ++o)
      {
        const std::size_t target =
          ((static_cast<std::size_t>(o) * m_InputChannels + t.channel) * kernel + t.ky) * kernel;
        weightGradient[target + t.kx] += m_Sums[tap * m_Convolution.outputChannels + o] / TPlanes::Unit;
      }
    }
    for (int o = 0; biasGradient != nullptr && o < m_Convolution.outputChannels; ++o)
    {
      biasGradient[o] += m_BiasSums[o].GetSum();
    }
  }

private:
  struct Place
  {
    int ky;
    int kx;
    int channel;
    int offset; ///< in the row's planes
  };

  /** Eight rows, so that sums rarely go to memory; fewer where their planes would not fit half of a usual L2 cache. */
  static int
  GetGroupRows(const typename TPlanes::Source & source, const Convolution & convolution)
  {
    const int fitting = static_cast<int>(512 * 1024 / TPlanes::GetBytesOfRow(source, convolution));
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
    const int size = m_Convolution.outputChannels * TPlanes::MaximumColumns;
    m_OpenChannels.clear();
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
        AddBias(target + o * TPlanes::MaximumColumns, o);
      }
    }
    for (int o = 0; o < m_Convolution.outputChannels; ++o)
    {
      if (IsOpen(o, rows))
      {
        m_OpenChannels.push_back(o);
      }
    }
  }

  /** Whether a channel has a gradient anywhere in the group: ReLU is closed over whole stretches of glass. */
  bool
  IsOpen(int channel, int rows) const
  {
    const Floats d;
    auto         any = hn::Zero(d);
    for (int r = 0; r < rows; ++r)
    {
      const float * row = m_Gradient.get() + (r * m_Convolution.outputChannels + channel) * TPlanes::MaximumColumns;
      for (int j = 0; j < TPlanes::MaximumColumns; j += Lanes)
      {
        any = hn::Or(any, hn::Load(d, row + j));
      }
    }
    return !hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
  }

  /** [channel][column] of one row, and zeros up to the strip's end. */
  void
  Gather(const MapView<const float> & map, std::int64_t row, std::int64_t column, int columns, float * target) const
  {
    const float * source = map.values + row * map.rowStride + column * map.columnStride;
    ForEachValue(map, m_Convolution.outputChannels, columns, [&](int o, int j, std::ptrdiff_t place) {
      target[o * TPlanes::MaximumColumns + j] = source[place];
    });
    for (int o = 0; columns < TPlanes::MaximumColumns && o < m_Convolution.outputChannels; ++o)
    {
      float * channel = target + o * TPlanes::MaximumColumns;
      std::fill(channel + columns, channel + TPlanes::MaximumColumns, 0.0f);
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
    for (int j = 0; j < TPlanes::MaximumColumns; j += Lanes)
    {
      sum = hn::Add(sum, hn::Load(Floats(), gradient + j));
    }
    m_BiasSums[channel].Add(sum);
  }

  template <int Taps, int Channels>
  void
  AddBlock(int tap, const int * open, int rows, int vectors)
  {
    const Floats  d;
    const int     outputs = m_Convolution.outputChannels;
    const int     stride = m_Convolution.stride;
    const float * gradients[Channels];
    FloatVector   sums[Taps][Channels];
    for (int c = 0; c < Channels; ++c)
    {
      gradients[c] = m_Gradient.get() + open[c] * TPlanes::MaximumColumns;
    }
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
          const auto gradient = hn::Load(d, gradients[c] + r * outputs * TPlanes::MaximumColumns + j);
          for (int t = 0; t < Taps; ++t)
          {
            sums[t][c] = hn::MulAdd(gradient, value[t], sums[t][c]);
          }
        }
      }
    }
    float * target = m_LaneSums.get() + static_cast<std::size_t>(tap) * outputs * Lanes;
    for (int t = 0; t < Taps; ++t)
    {
      for (int c = 0; c < Channels; ++c)
      {
        float * lanes = target + (t * outputs + open[c]) * Lanes;
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

  // Each lane adds as many groups, of up to 8 * MaximumColumns / Lanes products each.
  static constexpr int GroupsPerFlush = 512 / TPlanes::MaximumColumns;

  const Convolution                  m_Convolution;
  const int                          m_InputChannels;
  const int                          m_GroupRows;
  TPlanes                            m_Planes;
  int                                m_GroupsInLanes{ 0 };
  std::vector<const float *>         m_Rows; // planes of each pixel row that the group sees
  std::vector<Place>                 m_Taps;
  std::vector<int>                   m_OpenChannels; // of the group
  hwy::AlignedFreeUniquePtr<float[]> m_Gradient;     // [row of the group][output channel][column]
  hwy::AlignedFreeUniquePtr<float[]> m_Activated;    // [output channel][column]
  hwy::AlignedFreeUniquePtr<float[]> m_LaneSums;     // [tap][output channel][lane], of the latest groups
  std::vector<double>                m_Sums;         // [tap][output channel], of the groups before
  std::vector<LaneSums>              m_BiasSums;     // [output channel]
};

/** Calls f(first column, number of columns) for strips that cover [0, width). */
template <typename TPlanes, typename F>
HWY_INLINE void
ForEachColumns(std::int64_t width, const F & f)
{
  for (std::int64_t column = 0; column < width; column += TPlanes::MaximumColumns)
  {
    f(column, static_cast<int>(std::min<std::int64_t>(TPlanes::MaximumColumns, width - column)));
  }
}

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#endif

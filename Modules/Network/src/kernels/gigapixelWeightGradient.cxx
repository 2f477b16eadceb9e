/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelKernelTargets.h"
#include "gigapixelWeightGradient.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gigapixelWeightGradient.cxx"
#include <hwy/foreach_target.h>
#include "gigapixelLanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** A matrix product, positions summed over, whose accumulators stay in registers: a block of input channels times two
 * vectors of output channels, for each place of the kernel. Both maps are copied first, some 256 positions at a time,
 * so that what a block reads lies together: in the maps themselves positions lie a power of two apart as a rule, and
 * would push each other out of the caches. */
class WeightGradient
{
public:
  WeightGradient(const ChannelsLastMap & input,
                 const ChannelsLastMap & gradient,
                 const KernelAxis &      rows,
                 const KernelAxis &      columns)
    : m_Input(input)
    , m_Gradient(gradient)
    , m_Rows(rows)
    , m_Columns(columns)
    , m_Outputs((gradient.channels + Lanes - 1) / Lanes * Lanes)
    , m_Blocks((input.channels + BlockChannels - 1) / BlockChannels)
    , m_GroupColumns(static_cast<int>(std::min<std::int64_t>(gradient.view.width, MaximumColumns)))
    , m_GroupRows(
        static_cast<int>(std::min<std::int64_t>(gradient.view.height, std::max(1, Positions / m_GroupColumns))))
    , m_InputRows((m_GroupRows - 1) * rows.stride + (rows.kernel - 1) * rows.dilation + 1)
    , m_InputColumns((m_GroupColumns - 1) * columns.stride + (columns.kernel - 1) * columns.dilation + 1)
    , m_Sums(MakeZeros(static_cast<std::size_t>(rows.kernel) * columns.kernel * input.channels * m_Outputs))
    , m_Inputs(MakeZeros(static_cast<std::size_t>(m_InputRows) * m_InputColumns * input.channels + m_Blocks * Surplus))
    , m_Gradients(MakeZeros(static_cast<std::size_t>(m_GroupRows) * m_GroupColumns * m_Outputs))
  {}

  void
  Run()
  {
    for (std::int64_t y = 0; y < m_Gradient.view.height; y += m_GroupRows)
    {
      const int rows = static_cast<int>(std::min<std::int64_t>(m_GroupRows, m_Gradient.view.height - y));
      for (std::int64_t x = 0; x < m_Gradient.view.width; x += m_GroupColumns)
      {
        const int columns = static_cast<int>(std::min<std::int64_t>(m_GroupColumns, m_Gradient.view.width - x));
        CopyGradients(y, x, rows, columns);
        CopyInputs(y * m_Rows.stride - m_Rows.padding, x * m_Columns.stride - m_Columns.padding);
        AddGroup(rows, columns);
      }
    }
  }

  void
  Store(float * weightGradient) const
  {
    const int     places = m_Rows.kernel * m_Columns.kernel;
    const float * sum = m_Sums.get();
    for (int place = 0; place < places; ++place)
    {
      for (int c = 0; c < m_Input.channels; ++c, sum += m_Outputs)
      {
        for (int o = 0; o < m_Gradient.channels; ++o)
        {
          weightGradient[(static_cast<std::size_t>(o) * m_Input.channels + c) * places + place] = sum[o];
        }
      }
    }
  }

private:
  static constexpr int MaximumColumns = 64;
  static constexpr int Positions = 256; ///< of a group: what one block reads of it fits a usual L1 cache
  static constexpr int Surplus = 8;     ///< floats that are copied at once, of BlockChannels at most

  static hwy::AlignedFreeUniquePtr<float[]>
  MakeZeros(std::size_t count)
  {
    auto zeros = Allocate<float>(count);
    std::fill_n(zeros.get(), count, 0.0f);
    return zeros;
  }

  /** [block of two vectors][row][column][output channel of the block]. What lies beyond the channels stays zero. */
  void
  CopyGradients(std::int64_t y, std::int64_t x, int rows, int columns)
  {
    const Floats d;
    const auto & view = m_Gradient.view;
    const int    whole = m_Gradient.channels / Lanes * Lanes;
    ForEachOutputBlock([&](int first, auto vectors) HWY_ATTR {
      float * target = GetGradients(first, rows * columns);
      for (int r = 0; r < rows; ++r)
      {
        const float * source = view.values + (y + r) * view.rowStride + x * view.columnStride + first;
        for (int j = 0; j < columns; ++j, source += view.columnStride)
        {
          for (int v = 0; v < vectors; ++v, target += Lanes)
          {
            const int left = m_Gradient.channels - first - v * Lanes;
            if (first + v * Lanes < whole)
            {
              hn::Store(hn::LoadU(d, source + v * Lanes), d, target);
            }
            else
            {
              std::copy_n(source + v * Lanes, left, target);
              std::fill_n(target + left, Lanes - left, 0.0f);
            }
          }
        }
      }
    });
  }

  /** [block][row][column][input channel of the block], zeros outside the map. */
  void
  CopyInputs(std::int64_t top, std::int64_t left)
  {
    const auto &  view = m_Input.view;
    const float * last = view.values + (view.height - 1) * view.rowStride + (view.width - 1) * view.columnStride;
    const float * safe = last + m_Input.channels - Surplus; // up to here Surplus floats can be read
    const int     positions = m_InputRows * m_InputColumns;
    ForEachChannelBlock(m_Input.channels, [&](int first, auto size) HWY_ATTR {
      float * target = GetInputs(first, positions);
      for (int r = 0; r < m_InputRows; ++r)
      {
        const std::int64_t y = top + r;
        for (int j = 0; j < m_InputColumns; ++j, target += size)
        {
          const std::int64_t x = left + j;
          if (y < 0 || y >= view.height || x < 0 || x >= view.width)
          {
            std::fill_n(target, static_cast<int>(size), 0.0f);
            continue;
          }
          const float * source = view.values + y * view.rowStride + x * view.columnStride + first;
          std::memcpy(target, source, (source <= safe ? Surplus : static_cast<int>(size)) * sizeof(float));
        }
      }
    });
  }

  void
  AddGroup(int rows, int columns)
  {
    const int positions = m_InputRows * m_InputColumns;
    ForEachOutputBlock([&](int output, auto vectors) HWY_ATTR {
      const float * gradients = GetGradients(output, rows * columns);
      ForEachChannelBlock(m_Input.channels, [&](int input, auto size) HWY_ATTR {
        const float * inputs = GetInputs(input, positions);
        float *       sums = m_Sums.get() + static_cast<std::size_t>(input) * m_Outputs + output;
        for (int ky = 0; ky < m_Rows.kernel; ++ky)
        {
          for (int kx = 0; kx < m_Columns.kernel; ++kx)
          {
            const int place = ky * m_Rows.dilation * m_InputColumns + kx * m_Columns.dilation;
            this->template AddBlock<size, vectors>(inputs + place * size, gradients, rows, columns, sums);
            sums += static_cast<std::size_t>(m_Input.channels) * m_Outputs;
          }
        }
      });
    });
  }

  template <int Channels, int Vectors>
  HWY_INLINE void
  AddBlock(const float * inputs, const float * gradients, int rows, int columns, float * sums) const
  {
    const Floats d;
    FloatVector  sum[Channels][Vectors];
    for (int c = 0; c < Channels; ++c)
    {
      for (int v = 0; v < Vectors; ++v)
      {
        sum[c][v] = hn::Zero(d);
      }
    }
    const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(m_Columns.stride) * Channels;
    for (int r = 0; r < rows; ++r)
    {
      const float * input = inputs + static_cast<std::ptrdiff_t>(r) * m_Rows.stride * m_InputColumns * Channels;
      for (int j = 0; j < columns; ++j, input += step, gradients += Vectors * Lanes)
      {
        FloatVector gradient[Vectors];
        for (int v = 0; v < Vectors; ++v)
        {
          gradient[v] = hn::Load(d, gradients + v * Lanes);
        }
        for (int c = 0; c < Channels; ++c)
        {
          const auto value = hn::Set(d, input[c]);
          for (int v = 0; v < Vectors; ++v)
          {
            sum[c][v] = hn::MulAdd(value, gradient[v], sum[c][v]);
          }
        }
      }
    }
    for (int c = 0; c < Channels; ++c)
    {
      for (int v = 0; v < Vectors; ++v)
      {
        float * target = sums + static_cast<std::size_t>(c) * m_Outputs + v * Lanes;
        hn::Store(hn::Add(hn::Load(d, target), sum[c][v]), d, target);
      }
    }
  }

  /** Calls f(first, std::integral_constant<int, vectors>) for blocks that cover the output channels. */
  template <typename F>
  HWY_INLINE void
  ForEachOutputBlock(const F & f)
  {
    int first = 0;
    for (; first + 2 * Lanes <= m_Outputs; first += 2 * Lanes)
    {
      f(first, std::integral_constant<int, 2>());
    }
    if (first < m_Outputs)
    {
      f(first, std::integral_constant<int, 1>());
    }
  }

  float *
  GetGradients(int first, int positions)
  {
    return m_Gradients.get() + static_cast<std::size_t>(first) * positions;
  }

  /** Blocks lie Surplus floats apart, so that what is copied too much does not reach the next one. */
  float *
  GetInputs(int first, int positions)
  {
    const int block = (first * m_Blocks + m_Input.channels - 1) / m_Input.channels;
    return m_Inputs.get() + static_cast<std::size_t>(first) * positions + block * Surplus;
  }

  const ChannelsLastMap              m_Input;
  const ChannelsLastMap              m_Gradient;
  const KernelAxis                   m_Rows;
  const KernelAxis                   m_Columns;
  const int                          m_Outputs; // channels, up to whole vectors
  const int                          m_Blocks;  // of input channels
  const int                          m_GroupColumns;
  const int                          m_GroupRows;
  const int                          m_InputRows; // that a group sees
  const int                          m_InputColumns;
  hwy::AlignedFreeUniquePtr<float[]> m_Sums;      // [kernel row][kernel column][input channel][output channel]
  hwy::AlignedFreeUniquePtr<float[]> m_Inputs;    // of the group
  hwy::AlignedFreeUniquePtr<float[]> m_Gradients; // of the group
};

void
ComputeGradient(const ChannelsLastMap & input,
                const ChannelsLastMap & gradient,
                const KernelAxis &      rows,
                const KernelAxis &      columns,
                float *                 weightGradient)
{
  WeightGradient sums(input, gradient, rows, columns);
  sums.Run();
  sums.Store(weightGradient);
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
HWY_EXPORT(ComputeGradient);

void
ComputeWeightGradient(const ChannelsLastMap & input,
                      const ChannelsLastMap & gradient,
                      const KernelAxis &      rows,
                      const KernelAxis &      columns,
                      float *                 weightGradient)
{
  HWY_DYNAMIC_DISPATCH(ComputeGradient)(input, gradient, rows, columns, weightGradient);
}

} // namespace kernels
} // namespace gigapixel
#endif

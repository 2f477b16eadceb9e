/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelKernelTargets.h"
#include "gigapixelMapConvolution.h"

#include <algorithm>
#include <functional>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gigapixelMapConvolution.cxx"
#include <hwy/foreach_target.h>
#include "gigapixelConvolutionStrips-inl.h"
#include "gigapixelMapPlanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** A transposed convolution over strips. Output r = s u + v - padding, with v < s = stride, hangs on the inputs u, u -
 * 1,
 * ... through the kernel rows v, v + s, ...; likewise for columns. So each of the s x s phases (v, q) of the output is
 * a plain convolution with stride 1. */
class TransposedStrip
{
public:
  TransposedStrip(const InputMap & input, const Convolution & layer)
    : m_Layer(layer)
    , m_Reach((layer.kernel - 1) / layer.stride + 1)
    , m_Planes(input, { layer.outputChannels, m_Reach, 1, m_Reach - 1 }, 1)
    , m_Taps(layer.stride * layer.stride)
    , m_Line(Allocate<float>(static_cast<std::size_t>(layer.stride) * MapPlanes::MaximumColumns))
  {
    for (int q = 0; q < layer.stride; ++q)
    {
      m_Outputs.emplace_back(layer.outputChannels, layer.bias, layer.relu);
    }
    for (int phase = 0; phase < layer.stride * layer.stride; ++phase)
    {
      PackTaps(input.channels, phase / layer.stride, phase % layer.stride, m_Taps[phase]);
    }
  }

  void
  Run(const MapView<float> & output, std::int64_t column, int columns)
  {
    const int          stride = m_Layer.stride;
    const std::int64_t end = (output.height - 1 + m_Layer.padding) / stride + 1;
    m_Planes.SetColumns(column, columns);
    for (std::int64_t u = m_Layer.padding / stride; u < end; ++u)
    {
      m_Planes.LoadFor(u, u + 1);
      for (int v = 0; v < stride; ++v)
      {
        const std::int64_t row = u * stride + v - m_Layer.padding;
        if (row < 0 || row >= output.height)
        {
          continue;
        }
        for (int q = 0; q < stride; ++q)
        {
          m_Outputs[q].Compute(m_Planes, m_Taps[v * stride + q], u, columns);
        }
        Store(output, row, column, columns);
      }
    }
  }

private:
  /** Of the phase (v, q): rows and columns of the kernel, backwards, because a later input meets an earlier tap. */
  void
  PackTaps(int inputs, int v, int q, Taps & taps) const
  {
    const int stride = m_Layer.stride;
    const int kernel = m_Layer.kernel;
    const int columns = v < kernel && q < kernel ? (kernel - 1 - q) / stride + 1 : 0;
    taps.rows = columns > 0 ? (kernel - 1 - v) / stride + 1 : 0;
    taps.firstRow = m_Reach - taps.rows;
    for (int tap = 0; tap < columns; ++tap)
    {
      for (int c = 0; c < inputs; ++c)
      {
        taps.offsets.push_back(m_Planes.GetOffset(m_Reach - columns + tap, c));
      }
    }
    taps.Pack(m_Layer.outputChannels, [&](int o, int row, int tap) {
      const int         ky = v + stride * (taps.rows - 1 - row);
      const int         kx = q + stride * (columns - 1 - tap / inputs);
      const std::size_t channel = static_cast<std::size_t>(tap % inputs) * m_Layer.outputChannels + o;
      return m_Layer.weight[(channel * kernel + ky) * kernel + kx];
    });
  }

  /** Interleaves the phases of a row. */
  void
  Store(const MapView<float> & output, std::int64_t row, std::int64_t column, int columns)
  {
    const int          stride = m_Layer.stride;
    const std::int64_t x = column * stride - m_Layer.padding;
    const std::int64_t begin = std::max<std::int64_t>(x, 0);
    const std::int64_t end = std::min<std::int64_t>(x + static_cast<std::int64_t>(columns) * stride, output.width);
    for (int o = 0; o < m_Layer.outputChannels; ++o)
    {
      const float * line = Interleave(o, columns);
      float *       target = output.values + o * output.channelStride + row * output.rowStride;
      if (output.columnStride == 1 && !m_Layer.adds)
      {
        std::copy(line + (begin - x), line + std::max(end, begin) - x, target + begin);
      }
      else if (output.columnStride == 1)
      {
        std::transform(
          line + (begin - x), line + std::max(end, begin) - x, target + begin, target + begin, std::plus<float>());
      }
      else
      {
        for (std::int64_t i = begin; i < end; ++i)
        {
          float & value = target[i * output.columnStride];
          value = m_Layer.adds ? value + line[i - x] : line[i - x];
        }
      }
    }
  }

  const float *
  Interleave(int channel, int columns)
  {
    const int stride = m_Layer.stride;
    if (stride == 1)
    {
      return m_Outputs[0].GetChannel(channel);
    }
    float * line = m_Line.get();
    if (stride == 2)
    {
      const Floats  d;
      const float * even = m_Outputs[0].GetChannel(channel);
      const float * odd = m_Outputs[1].GetChannel(channel);
      for (int j = 0; j < columns; j += Lanes)
      {
        hn::StoreInterleaved2(hn::Load(d, even + j), hn::Load(d, odd + j), d, line + 2 * j);
      }
      return line;
    }
    for (int q = 0; q < stride; ++q)
    {
      const float * values = m_Outputs[q].GetChannel(channel);
      for (int j = 0; j < columns; ++j)
      {
        line[j * stride + q] = values[j];
      }
    }
    return line;
  }

  const Convolution                    m_Layer;
  const int                            m_Reach; // inputs along an axis that an output hangs on
  MapPlanes                            m_Planes;
  std::vector<Taps>                    m_Taps;    // [v][q]
  std::vector<RowOfOutputs<MapPlanes>> m_Outputs; // [q]
  hwy::AlignedFreeUniquePtr<float[]>   m_Line;
};

void
ConvolveStrips(const InputMap & input, const Convolution & convolution, const MapView<float> & output)
{
  ForwardStrip<MapPlanes> strip(input, convolution);
  ForEachColumns<MapPlanes>(output.width,
                            [&](std::int64_t column, int columns) HWY_ATTR { strip.Run(output, column, columns); });
}

void
ConvolveStripsTransposed(const InputMap & input, const Convolution & transposed, const MapView<float> & output)
{
  TransposedStrip    strip(input, transposed);
  const std::int64_t first = transposed.padding / transposed.stride;
  const std::int64_t end = (output.width - 1 + transposed.padding) / transposed.stride + 1;
  ForEachColumns<MapPlanes>(
    end - first, [&](std::int64_t column, int columns) HWY_ATTR { strip.Run(output, first + column, columns); });
}

void
AddStripGradients(const InputMap &             input,
                  const Convolution &          convolution,
                  const MapView<const float> & outputGradient,
                  double *                     weightGradient)
{
  Convolution linear = convolution;
  linear.relu = false;
  GradientStrip<MapPlanes> strip(input, linear);
  ForEachColumns<MapPlanes>(outputGradient.width, [&](std::int64_t column, int columns) HWY_ATTR {
    strip.Run({}, outputGradient, column, columns);
  });
  strip.AddTo(weightGradient, nullptr);
}

/** \return sum of the row's gradients where ReLU was open */
double
CloseRow(const float * activated, const float * gradient, float * closed, std::int64_t columns)
{
  const Floats d;
  auto         sum = hn::Zero(d);
  std::int64_t x = 0;
  for (; x + Lanes <= columns; x += Lanes)
  {
    auto value = hn::LoadU(d, gradient + x);
    if (activated != nullptr)
    {
      value = hn::IfThenElseZero(hn::Gt(hn::LoadU(d, activated + x), hn::Zero(d)), value);
    }
    hn::StoreU(value, d, closed + x);
    sum = hn::Add(sum, value);
  }
  LaneSums sums;
  sums.Add(sum);
  double total = sums.GetSum();
  for (; x < columns; ++x)
  {
    closed[x] = activated == nullptr || activated[x] > 0.0f ? gradient[x] : 0.0f;
    total += closed[x];
  }
  return total;
}

void
CloseRows(const MapView<const float> & activated,
          int                          channels,
          const MapView<const float> & gradient,
          const MapView<float> &       closed,
          double *                     biasGradient)
{
  for (int c = 0; c < channels; ++c)
  {
    for (std::int64_t y = 0; y < gradient.height; ++y)
    {
      const float * open = activated.values == nullptr
                             ? nullptr
                             : activated.values + c * activated.channelStride + y * activated.rowStride;
      biasGradient[c] += CloseRow(open,
                                  gradient.values + c * gradient.channelStride + y * gradient.rowStride,
                                  closed.values + c * closed.channelStride + y * closed.rowStride,
                                  gradient.width);
    }
  }
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
HWY_EXPORT(ConvolveStrips);
HWY_EXPORT(ConvolveStripsTransposed);
HWY_EXPORT(AddStripGradients);
HWY_EXPORT(CloseRows);

void
ConvolveMap(const InputMap & input, const Convolution & convolution, const MapView<float> & output)
{
  HWY_DYNAMIC_DISPATCH(ConvolveStrips)(input, convolution, output);
}

void
ConvolveMapTransposed(const InputMap & input, const Convolution & transposed, const MapView<float> & output)
{
  HWY_DYNAMIC_DISPATCH(ConvolveStripsTransposed)(input, transposed, output);
}

void
AddMapConvolutionGradient(const InputMap &             input,
                          const Convolution &          convolution,
                          const MapView<const float> & outputGradient,
                          double *                     weightGradient)
{
  HWY_DYNAMIC_DISPATCH(AddStripGradients)(input, convolution, outputGradient, weightGradient);
}

void
CloseReLU(const MapView<const float> & activated,
          int                          channels,
          const MapView<const float> & gradient,
          const MapView<float> &       closed,
          double *                     biasGradient)
{
  HWY_DYNAMIC_DISPATCH(CloseRows)(activated, channels, gradient, closed, biasGradient);
}

} // namespace kernels
} // namespace gigapixel
#endif

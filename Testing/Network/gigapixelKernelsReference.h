/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The fused kernels' formulas, one pixel at a time, in double: what the kernels are compared with.
#ifndef gigapixelKernelsReference_h
#define gigapixelKernelsReference_h

#include "gigapixelMapConvolution.h"
#include "gigapixelPixelConvolution.h"
#include "gigapixelPixelLoss.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace reference
{
using namespace gigapixel::kernels;
using gigapixel::LossSum;
using gigapixel::LossTerms;

/** Planar map of double, [channels][height][width]. */
struct Map
{
  std::int64_t        channels{ 0 };
  std::int64_t        height{ 0 };
  std::int64_t        width{ 0 };
  std::vector<double> values;

  Map(std::int64_t c, std::int64_t h, std::int64_t w)
    : channels(c)
    , height(h)
    , width(w)
    , values(c * h * w, 0.0)
  {}

  double &
  operator()(std::int64_t c, std::int64_t y, std::int64_t x)
  {
    return values[(c * height + y) * width + x];
  }
};

inline double
GetValue(const MapView<const float> & map, std::int64_t c, std::int64_t y, std::int64_t x)
{
  return map.values[c * map.channelStride + y * map.rowStride + x * map.columnStride];
}

/** The network's input: scaled, inverted, zero outside. */
inline double
GetInput(const PixelView & pixels, std::int64_t y, std::int64_t x, int channel)
{
  if (x < 0 || y < 0 || x >= pixels.width || y >= pixels.height)
  {
    return 0.0;
  }
  const int sample = pixels.samples[y * pixels.pitch + x * pixels.channels + channel];
  return (pixels.invert ? 255 - sample : sample) / 255.0;
}

/** Calls f(index of the weight, output channel, row, column, input value) for every product of the convolution. */
template <typename F>
void
ForEachProduct(const PixelView & pixels, const Convolution & conv, std::int64_t height, std::int64_t width, F f)
{
  for (std::int64_t y = 0; y < height; ++y)
  {
    for (std::int64_t x = 0; x < width; ++x)
    {
      for (int c = 0; c < pixels.channels; ++c)
      {
        for (int ky = 0; ky < conv.kernel; ++ky)
        {
          for (int kx = 0; kx < conv.kernel; ++kx)
          {
            const double input =
              GetInput(pixels, y * conv.stride - conv.padding + ky, x * conv.stride - conv.padding + kx, c);
            for (int o = 0; o < conv.outputChannels; ++o)
            {
              f(((o * pixels.channels + c) * conv.kernel + ky) * conv.kernel + kx, o, y, x, input);
            }
          }
        }
      }
    }
  }
}

inline Map
Convolve(const PixelView & pixels, const Convolution & conv, std::int64_t height, std::int64_t width)
{
  Map output(conv.outputChannels, height, width);
  ForEachProduct(pixels, conv, height, width, [&](int k, int o, std::int64_t y, std::int64_t x, double input) {
    output(o, y, x) += conv.weight[k] * input;
  });
  for (int o = 0; o < conv.outputChannels; ++o)
  {
    for (std::int64_t i = 0; i < height * width; ++i)
    {
      double & value = output.values[o * height * width + i];
      value += conv.bias[o];
      value = conv.relu ? std::max(value, 0.0) : value;
    }
  }
  return output;
}

struct Gradients
{
  std::vector<double> weight;
  std::vector<double> bias;
  double              weightMagnitude{ 0 }; ///< greatest sum of the magnitudes of an element's terms
  double              biasMagnitude{ 0 };
};

/** Sums and sums of magnitudes: sums of terms of either sign can be small by chance, and are as uncertain as their
 * terms then. */
class Sums
{
public:
  explicit Sums(std::size_t count)
    : m_Sums(count)
    , m_Magnitudes(count)
  {}

  void
  Add(std::size_t i, double value)
  {
    m_Sums[i] += value;
    m_Magnitudes[i] += std::abs(value);
  }

  const std::vector<double> &
  GetSums() const
  {
    return m_Sums;
  }

  double
  GetMagnitude() const
  {
    return *std::max_element(m_Magnitudes.begin(), m_Magnitudes.end());
  }

private:
  std::vector<double> m_Sums;
  std::vector<double> m_Magnitudes;
};

inline Gradients
MakeGradients(const Sums & weight, const Sums & bias)
{
  return { weight.GetSums(), bias.GetSums(), weight.GetMagnitude(), bias.GetMagnitude() };
}

inline Gradients
ConvolutionGradient(const PixelView &            pixels,
                    const Convolution &          conv,
                    const MapView<const float> & output,
                    const MapView<const float> & outputGradient)
{
  const std::int64_t height = outputGradient.height;
  const std::int64_t width = outputGradient.width;
  Map                masked(conv.outputChannels, height, width);
  Sums               weight(conv.outputChannels * pixels.channels * conv.kernel * conv.kernel);
  Sums               bias(conv.outputChannels);
  for (int o = 0; o < conv.outputChannels; ++o)
  {
    for (std::int64_t y = 0; y < height; ++y)
    {
      for (std::int64_t x = 0; x < width; ++x)
      {
        const bool passes = !conv.relu || GetValue(output, o, y, x) > 0;
        masked(o, y, x) = passes ? GetValue(outputGradient, o, y, x) : 0.0;
        bias.Add(o, masked(o, y, x));
      }
    }
  }
  ForEachProduct(pixels, conv, height, width, [&](int k, int o, std::int64_t y, std::int64_t x, double input) {
    weight.Add(k, masked(o, y, x) * input);
  });
  return MakeGradients(weight, bias);
}

/** Logits of one full-resolution pixel. */
inline void
ComputeLogits(const MapView<const float> & map,
              const PixelLogits &          layer,
              std::int64_t                 y,
              std::int64_t                 x,
              std::vector<double> &        z)
{
  const int s = layer.stride;
  for (int o = 0; o < layer.outputChannels; ++o)
  {
    z[o] = layer.bias[o];
    for (int c = 0; c < layer.inputChannels; ++c)
    {
      z[o] += GetValue(map, c, y / s, x / s) * layer.weight[((c * layer.outputChannels + o) * s + y % s) * s + x % s];
    }
  }
}

/** exp of the logits less the greatest, and their sum. */
inline double
Exponentials(std::vector<double> & z)
{
  const double greatest = *std::max_element(z.begin(), z.end());
  double       sum = 0;
  for (double & value : z)
  {
    value = std::exp(value - greatest);
    sum += value;
  }
  return sum;
}

/** Logits to probabilities, one per class, and what each lacks to 1 (whose digits 1 - p would lose). */
struct Probabilities
{
  std::vector<double> values;
  std::vector<double> others;

  explicit Probabilities(std::vector<double> z)
  {
    if (z.size() == 1)
    {
      z.insert(z.begin(), 0.0); // sigmoid is softmax against 0
    }
    const double sum = Exponentials(z);
    for (std::size_t c = 0; c < z.size(); ++c)
    {
      double other = 0;
      for (std::size_t d = 0; d < z.size(); ++d)
      {
        other += d == c ? 0.0 : z[d];
      }
      values.push_back(z[c] / sum);
      others.push_back(other / sum);
    }
  }
};

/** Cross-entropy of one pixel (Dice has none); z becomes its gradient, by the chain rule dp[c] / dz[k] = p[c] ([c = k]
 * - p[k]).
 */
inline double
LossOfPixel(std::vector<double> & z, int truth, const LossTerms & terms)
{
  const Probabilities p(z);
  const std::size_t   first = z.size() == 1 ? 1 : 0;
  for (std::size_t k = first; k < p.values.size(); ++k)
  {
    double & gradient = z[k - first];
    gradient = 0;
    if (terms.HasCrossEntropy())
    {
      const bool isTrue = static_cast<int>(k) == truth;
      gradient = terms.weights[truth] * (isTrue ? -p.others[k] : p.values[k]);
    }
    for (std::size_t c = 0; terms.HasSums() && c < p.values.size(); ++c)
    {
      const double slope = terms.offsets[c] + (static_cast<int>(c) == truth ? terms.slopes[c] : 0.0);
      gradient += slope * (c == k ? p.values[k] * p.others[k] : -p.values[c] * p.values[k]);
    }
  }
  const double logarithm = p.others[truth] < 0.5 ? std::log1p(-p.others[truth]) : std::log(p.values[truth]);
  return terms.HasCrossEntropy() ? -terms.weights[truth] * logarithm : 0.0;
}

struct Loss
{
  LossSum   sum;
  Map       mapGradient;
  Gradients gradients;
};

inline Loss
PixelLoss(const MapView<const float> & map,
          const PixelLogits &          layer,
          const CoreRegion &           core,
          const std::uint8_t *         classes,
          std::ptrdiff_t               pitch,
          const LossTerms &            terms)
{
  const int           s = layer.stride;
  const int           kinds = std::max(2, layer.outputChannels);
  Loss                result{ {}, Map(layer.inputChannels, map.height, map.width), {} };
  std::vector<double> z(layer.outputChannels);
  Sums                weight(layer.inputChannels * layer.outputChannels * s * s);
  Sums                bias(layer.outputChannels);
  result.sum.SetNumberOfChannels(layer.outputChannels);
  for (std::int64_t y = core.y; y < core.y + core.height; ++y)
  {
    for (std::int64_t x = core.x; x < core.x + core.width; ++x)
    {
      const int truth = classes[(y - core.y) * pitch + x - core.x];
      if (truth >= kinds)
      {
        continue;
      }
      ComputeLogits(map, layer, y, x, z);
      const Probabilities p(z);
      for (int o = 0; o < layer.outputChannels; ++o)
      {
        const int c = layer.outputChannels == 1 ? 1 : o;
        result.sum.probabilities[o] += p.values[c];
        result.sum.hits[o] += c == truth ? p.values[c] : 0.0;
        result.sum.truths[o] += c == truth;
      }
      result.sum.loss += LossOfPixel(z, truth, terms);
      result.sum.weight += terms.HasSums() ? 1.0 : terms.weights[truth];
      ++result.sum.pixels;
      for (int o = 0; o < layer.outputChannels; ++o)
      {
        bias.Add(o, z[o]);
        for (int c = 0; c < layer.inputChannels; ++c)
        {
          const std::int64_t k = ((c * layer.outputChannels + o) * s + y % s) * s + x % s;
          weight.Add(k, z[o] * GetValue(map, c, y / s, x / s));
          result.mapGradient(c, y / s, x / s) += z[o] * layer.weight[k];
        }
      }
    }
  }
  result.gradients = MakeGradients(weight, bias);
  return result;
}

/** A convolution between maps, and its two gradients for the outputs' values as the outputs' gradient. The gradient for
 * the input is the transposed convolution, to which a bias is added and ReLU applied as for a layer. */
struct MapProducts
{
  Map       output;
  Map       transposed;
  Gradients gradients;

  MapProducts(const MapView<const float> & input,
              int                          channels,
              const Convolution &          conv,
              const MapView<const float> & gradient)
    : output(conv.outputChannels, gradient.height, gradient.width)
    , transposed(channels, input.height, input.width)
  {
    Sums weight(static_cast<std::size_t>(conv.outputChannels) * channels * conv.kernel * conv.kernel);
    for (int o = 0; o < conv.outputChannels; ++o)
    {
      for (std::int64_t i = 0; i < output.height * output.width; ++i)
      {
        AddProducts(input, channels, conv, gradient, o, i / output.width, i % output.width, weight);
      }
    }
    Finish(output, conv);
    Finish(transposed, conv);
    gradients = MakeGradients(weight, Sums(1));
  }

private:
  void
  AddProducts(const MapView<const float> & input,
              int                          channels,
              const Convolution &          conv,
              const MapView<const float> & gradient,
              int                          o,
              std::int64_t                 y,
              std::int64_t                 x,
              Sums &                       weight)
  {
    for (int k = 0; k < channels * conv.kernel * conv.kernel; ++k)
    {
      const int          c = k / (conv.kernel * conv.kernel);
      const std::int64_t row = y * conv.stride - conv.padding + k / conv.kernel % conv.kernel;
      const std::int64_t column = x * conv.stride - conv.padding + k % conv.kernel;
      if (row >= 0 && row < input.height && column >= 0 && column < input.width)
      {
        const std::size_t w = static_cast<std::size_t>(o) * channels * conv.kernel * conv.kernel + k;
        output(o, y, x) += conv.weight[w] * GetValue(input, c, row, column);
        transposed(c, row, column) += conv.weight[w] * GetValue(gradient, o, y, x);
        weight.Add(w, GetValue(input, c, row, column) * GetValue(gradient, o, y, x));
      }
    }
  }

  static void
  Finish(Map & map, const Convolution & conv)
  {
    const std::int64_t size = map.height * map.width;
    for (std::int64_t i = 0; i < map.channels * size; ++i)
    {
      map.values[i] += conv.bias[i / size];
      map.values[i] = conv.relu ? std::max(map.values[i], 0.0) : map.values[i];
    }
  }
};

} // namespace reference

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelValueRange.h"
#include "gigapixelDiagnostic.h"
#include "graph/gigapixelNetworkGeometry.h"
#include "graph/gigapixelParameterLayout.h"
#include "kernels/gigapixelStoredNumbers.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Of a map's channel. 0 always belongs to it: beyond the map's edge there are zeros. */
struct Interval
{
  double least{ 0 };
  double greatest{ 0 };
};

/** A sum of terms: where it can lie, and the sum of the terms' sizes. */
struct SumRange
{
  Interval interval;
  double   size{ 0 };
};

/** Adds weight * x to the sum, for any x of the interval. */
void
AddTerm(double weight, const Interval & x, SumRange & sum)
{
  const double a = weight * x.least, b = weight * x.greatest;
  sum.interval.least += std::min(a, b);
  sum.interval.greatest += std::max(a, b);
  sum.size += std::max(std::abs(a), std::abs(b));
}

/** Of one output channel. Of a transposed convolution, an output pixel gets every stride-th weight of a kernel only,
 * and which ones its place says; of a convolution, all of them. */
SumRange
FindRange(const Layer & layer, int output, const float * weight, double bias, const std::vector<Interval> & inputs)
{
  const bool isTransposed = layer.kind == Layer::Kind::TransposedConvolution;
  const int  kernel = layer.kernel, places = isTransposed ? std::min(layer.stride, kernel) : 1;
  const auto step = static_cast<std::size_t>(isTransposed ? layer.stride : 1);
  SumRange   range;
  for (int place = 0; place < places * places; ++place)
  {
    SumRange sum{ { bias, bias }, std::abs(bias) };
    for (int input = 0; input < layer.inputChannels; ++input)
    {
      const std::size_t   plane = isTransposed ? std::size_t(input) * layer.outputChannels + output
                                               : std::size_t(output) * layer.inputChannels + input;
      const float * const values = weight + plane * kernel * kernel;
      for (std::size_t y = place / places; y < static_cast<std::size_t>(kernel); y += step)
      {
        for (std::size_t x = place % places; x < static_cast<std::size_t>(kernel); x += step)
        {
          AddTerm(values[y * kernel + x], inputs[input], sum);
        }
      }
    }
    range.interval.least = std::min(range.interval.least, sum.interval.least);
    range.interval.greatest = std::max(range.interval.greatest, sum.interval.greatest);
    range.size = std::max(range.size, sum.size);
  }
  return range;
}

/** First values of a layer's weight and bias. */
using LayerArrays = std::pair<const float *, const float *>;

void
CheckLayers(const NetworkDescription & network, const std::vector<LayerArrays> & arrays)
{
  constexpr double                   limit = 1e38;
  const auto                         skips = GetSkips(network.layers);
  std::vector<std::vector<Interval>> maps;
  const std::vector<Interval>        pixels(network.channels, Interval{ 0, 1 });
  for (std::size_t i = 0; i < network.layers.size(); ++i)
  {
    const Layer & layer = network.layers[i];
    const auto [weight, bias] = arrays[i];
    maps.emplace_back();
    for (int output = 0; output < layer.outputChannels; ++output)
    {
      SumRange range = FindRange(layer, output, weight, bias[output], i == 0 ? pixels : maps[i - 1]);
      if (layer.activation == Layer::Activation::ReLU)
      {
        range.interval.least = 0;
      }
      if (skips[i] >= 0)
      {
        const Interval & added = maps[skips[i]][output];
        range.interval.least += added.least;
        range.interval.greatest += added.greatest;
        range.size += std::max(-added.least, added.greatest);
      }
      if (!(range.size <= limit))
      {
        std::ostringstream text;
        text.imbue(std::locale::classic());
        text << "the weights of the network \"" << network.name << "\" are so large that the layer \"" << layer.name
             << "\" can come to numbers like " << range.size
             << ", beyond what a float holds, and its masks would be full or empty: it is of no use";
        throw InvalidArgument(Diagnostic("E-NOT-FINITE", text.str()).OfValue(layer.name));
      }
      maps.back().push_back(range.interval);
    }
  }
}

} // namespace

void
CheckValueRange(const Model & model)
{
  std::vector<LayerArrays> arrays;
  arrays.reserve(model.network.layers.size());
  for (const Layer & layer : model.network.layers)
  {
    arrays.emplace_back(model.parameters.at(layer.name + ".weight").values.data(),
                        model.parameters.at(layer.name + ".bias").values.data());
  }
  CheckLayers(model.network, arrays);
}

void
CheckValueRange(const NetworkDescription & network, const std::vector<float> & parameters)
{
  std::vector<LayerArrays> arrays;
  for (const ParameterPlace & place : GetParameterLayout(network))
  {
    arrays.emplace_back(parameters.data() + place.weight, parameters.data() + place.bias);
  }
  CheckLayers(network, arrays);
}

void
CheckWeightsOfFloat16(const Model & model)
{
  for (const Layer & layer : model.network.layers)
  {
    for (const float value : model.parameters.at(layer.name + ".weight").values)
    {
      if (!std::isfinite(static_cast<float>(Float16(value))))
      {
        throw InvalidArgument(Diagnostic("E-PRECISION",
                                         "the weights \"" + layer.name + ".weight\" of the network \"" +
                                           model.network.name + "\" go beyond 65504, where fp16 ends",
                                         "choose the precision fp32 or bf16")
                                .OfValue(layer.name + ".weight"));
      }
    }
  }
}

} // namespace gigapixel

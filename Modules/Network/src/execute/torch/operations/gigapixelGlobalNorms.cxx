/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelChannelLines.h"
#include "gigapixelOperationCall.h"
#include "schedule/gigapixelTileGrid.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

namespace gigapixel::torchmodule
{
namespace
{

// Statistics of a tile's part of the image, as their ReductionSchema says what they are, and what pixels become by
// those of the whole image. All sums over pixels are in double.

using Values = std::vector<double>;

/** \class ChannelSums
 * \brief A sum for each channel, with what its additions have rounded off (Kahan, Pracniques: further remarks on
 * reducing truncation errors, CACM 1965). Of constants, as glass is, all additions round to the same side, and
 * gradients behind a norm are small differences of great sums. */
class ChannelSums
{
public:
  explicit ChannelSums(std::int64_t channels)
    : m_Sums(channels)
    , m_Rest(channels)
  {}

  void
  Add(std::int64_t channel, double value)
  {
    const double rest = value - m_Rest[channel], sum = m_Sums[channel] + rest;
    m_Rest[channel] = (sum - m_Sums[channel]) - rest;
    m_Sums[channel] = sum;
  }

  const Values &
  Get() const
  {
    return m_Sums;
  }

private:
  Values m_Sums;
  Values m_Rest;
};

/** \class MapView
 * \brief The pixels of a map, each of which has its channels one behind the other. */
template <typename T>
class MapView
{
public:
  explicit MapView(const at::Tensor & map)
    : m_Map(map.stride(1) == 1 || map.size(1) == 1 ? map : MakeDense(map))
  {}

  T *
  GetPixel(std::int64_t z, std::int64_t y, std::int64_t x) const
  {
    const std::int64_t slice = m_Map.dim() > 4 ? m_Map.stride(-3) : 0;
    return m_Map.data_ptr<T>() + z * slice + y * m_Map.stride(-2) + x * m_Map.stride(-1);
  }

private:
  const at::Tensor m_Map;
};

/** Calls compute(a value of the type) for the type of the map's values. */
template <typename F>
auto
WithType(const at::Tensor & map, const F & compute)
{
  return map.scalar_type() == at::kDouble ? compute(double{}) : compute(float{});
}

/** Calls f(z, y, x) for each pixel of a part. */
template <typename F>
void
ForEachPixel(const Box & part, const F & f)
{
  const Size size = ToSize(GetExtent(part));
  for (std::int64_t z = 0; z < size.depth; ++z)
  {
    for (std::int64_t y = 0; y < size.height; ++y)
    {
      for (std::int64_t x = 0; x < size.width; ++x)
      {
        f(z, y, x);
      }
    }
  }
}

/** Calls f(z, y, x) for each one that counts. */
template <typename F>
void
ForEachCounted(const OperationCall & call, const F & f)
{
  const Box &  part = call.step.inputs.front();
  std::int64_t pixel = 0;
  ForEachPixel(part, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    if (call.counted->empty() || (*call.counted)[pixel++] != 0)
    {
      f(z, y, x);
    }
  });
}

/** The number of pixels, means, and sums of squared differences to them. */
template <typename T>
at::Tensor
SumUpMoments(const OperationCall & call)
{
  const MapView<T>   map(call.inputs[0]);
  const std::int64_t channels = call.channels[0];
  double             number = 0;
  ChannelSums        sums(channels), squares(channels);
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    const T * const values = map.GetPixel(z, y, x);
    for (std::int64_t c = 0; c < channels; ++c)
    {
      sums.Add(c, static_cast<double>(values[c]));
    }
    ++number;
  });
  Values means = sums.Get();
  std::for_each(means.begin(), means.end(), [number](double & sum) { sum /= std::max(1.0, number); });
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    const T * const values = map.GetPixel(z, y, x);
    for (std::int64_t c = 0; c < channels; ++c)
    {
      const double difference = static_cast<double>(values[c]) - means[c];
      squares.Add(c, difference * difference);
    }
  });
  const at::Tensor moments = at::empty({ 1 + 2 * channels }, at::kDouble);
  double *         moment = moments.data_ptr<double>();
  *moment++ = number;
  moment = std::copy(means.begin(), means.end(), moment);
  std::copy(squares.Get().begin(), squares.Get().end(), moment);
  return moments;
}

at::Tensor
ComputeStatistics(OperationCall & call)
{
  if (call.plain)
  {
    return SumUpMomentsInBands(call.inputs[0], *call.counted);
  }
  return WithType(call.inputs[0], [&](auto value) { return SumUpMoments<decltype(value)>(call); });
}

Values
ToValues(const at::Tensor & pixel)
{
  const at::Tensor values = pixel.to(at::kCPU, at::kDouble).contiguous();
  return { values.data_ptr<double>(), values.data_ptr<double>() + values.numel() };
}

/** Of a value x of a group of n values with the mean m and one over the deviation r, whose gradients are g and h:
 * (g - h r^3 (x - m)) / n. Of each channel. */
ChannelLines
MakeLinesOfMoments(const OperationCall & call, const Values & gradient)
{
  const Values & sums = *call.sums;
  const Values   statistics =
    OperationSchema::Find(call.operation.type)->getReduction(call.operation)->finish(call.operation, sums);
  const std::int64_t channels = call.channels[0];
  const auto         groups = static_cast<std::int64_t>(statistics.size() / 2);
  const double       number = sums.front() * static_cast<double>(channels / groups);
  ChannelLines       lines{ Values(channels), Values(channels), Values(channels) };
  for (std::int64_t c = 0; c < channels; ++c)
  {
    const std::int64_t g = c / (channels / groups);
    const double       inverse = statistics[groups + g];
    lines.means[c] = statistics[g];
    lines.terms[c] = gradient[g] / number;
    lines.factors[c] = -gradient[groups + g] * inverse * inverse * inverse / number;
  }
  return lines;
}

template <typename T>
at::Tensor
DifferentiateMoments(const OperationCall & call, const Values & gradient)
{
  const ChannelLines lines = MakeLinesOfMoments(call, gradient);
  const std::int64_t channels = call.channels[0];
  const MapView<T>   map(call.inputs[0]);
  const at::Tensor   ofInput = call.MakeInputMap(0).zero_();
  const MapView<T>   target(ofInput);
  ForEachCounted(call, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    const T * const values = map.GetPixel(z, y, x);
    T * const       gradients = target.GetPixel(z, y, x);
    for (std::int64_t c = 0; c < channels; ++c)
    {
      gradients[c] =
        static_cast<T>(lines.terms[c] + lines.factors[c] * (static_cast<double>(values[c]) - lines.means[c]));
    }
  });
  return ofInput;
}

std::vector<at::Tensor>
DifferentiateStatistics(OperationCall & call, const at::Tensor & gradient)
{
  if (call.plain)
  {
    return { MapLinesInBands(call.inputs[0], MakeLinesOfMoments(call, ToValues(gradient)), *call.counted) };
  }
  return { WithType(call.inputs[0],
                    [&](auto value) { return DifferentiateMoments<decltype(value)>(call, ToValues(gradient)); }) };
}

/** Of each channel the statistics, and the factor and the term that make it what it becomes. */
struct Norm
{
  explicit Norm(const OperationCall & call)
    : statistics(ToValues(call.inputs[1]))
    , channels(call.channels[0])
    , groups(static_cast<std::int64_t>(statistics.size() / 2))
    , weights(call.GetWeight("weight").defined() ? ToValues(call.GetWeight("weight")) : Values(channels, 1.0))
    , biases(call.GetWeight("bias").defined() ? ToValues(call.GetWeight("bias")) : Values(channels, 0.0))
  {}

  double
  GetMean(std::int64_t c) const
  {
    return statistics[c / (channels / groups)];
  }

  double
  GetInverse(std::int64_t c) const
  {
    return statistics[groups + c / (channels / groups)];
  }

  const Values       statistics;
  const std::int64_t channels;
  const std::int64_t groups;
  const Values       weights;
  const Values       biases;
};

template <typename T>
at::Tensor
NormalizeMap(const OperationCall & call)
{
  const Norm       norm(call);
  std::vector<T>   means(norm.channels), factors(norm.channels), terms(norm.channels);
  const bool       inPlace = call.inPlace && call.inputs[0].stride(1) == 1;
  const at::Tensor output = inPlace ? call.inputs[0] : call.MakeInputMap(0);
  const MapView<T> map(call.inputs[0]), target(output);
  for (std::int64_t c = 0; c < norm.channels; ++c)
  {
    means[c] = static_cast<T>(norm.GetMean(c));
    factors[c] = static_cast<T>(norm.GetInverse(c) * norm.weights[c]);
    terms[c] = static_cast<T>(norm.biases[c]);
  }
  ForEachPixel(call.step.output, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    const T * const values = map.GetPixel(z, y, x);
    T * const       normalized = target.GetPixel(z, y, x);
    for (std::int64_t c = 0; c < norm.channels; ++c)
    {
      normalized[c] = (values[c] - means[c]) * factors[c] + terms[c];
    }
  });
  return output;
}

/** By LibTorch's operators. */
at::Tensor
NormalizePlain(const OperationCall & call)
{
  const Norm   norm(call);
  ChannelLines lines{ Values(norm.channels), Values(norm.channels), norm.biases };
  for (std::int64_t c = 0; c < norm.channels; ++c)
  {
    lines.means[c] = norm.GetMean(c);
    lines.factors[c] = norm.GetInverse(c) * norm.weights[c];
  }
  return MapLinesInBands(call.inputs[0], lines, {});
}

at::Tensor
Normalize(OperationCall & call)
{
  if (call.plain)
  {
    return NormalizePlain(call);
  }
  return WithType(call.inputs[0], [&](auto value) { return NormalizeMap<decltype(value)>(call); });
}

/** What weights and biases have of the sums over pixels of the gradient and of its product with what the value differs
 * from the mean. \return the gradient of the statistics */
at::Tensor
GiveSums(OperationCall & call, const Norm & norm, const Values & sums, const Values & products)
{
  Values weights(norm.channels), ofGroups(2 * norm.groups);
  for (std::int64_t c = 0; c < norm.channels; ++c)
  {
    const std::int64_t g = c / (norm.channels / norm.groups);
    weights[c] = products[c] * norm.GetInverse(c);
    ofGroups[g] -= norm.weights[c] * norm.GetInverse(c) * sums[c];
    ofGroups[norm.groups + g] += norm.weights[c] * products[c];
  }
  if (call.GetWeight("weight").defined())
  {
    call.weightGradients["weight"] = at::tensor(weights, at::kDouble);
    call.weightGradients["bias"] = at::tensor(sums, at::kDouble);
  }
  at::Tensor ofStatistics = call.MakeInputMap(1); // one pixel
  return ofStatistics.copy_(at::tensor(ofGroups, at::kDouble).view(ofStatistics.sizes()));
}

template <typename T>
std::vector<at::Tensor>
DifferentiateMap(OperationCall & call, const at::Tensor & gradient)
{
  const Norm         norm(call);
  const std::int64_t channels = norm.channels;
  ChannelSums        ofGradients(channels), ofProducts(channels);
  Values             means(channels);
  std::vector<T>     factors(channels);
  for (std::int64_t c = 0; c < channels; ++c)
  {
    means[c] = norm.GetMean(c);
    factors[c] = static_cast<T>(norm.GetInverse(c) * norm.weights[c]);
  }
  const at::Tensor ofMap = call.MakeInputMap(0);
  const MapView<T> map(call.inputs[0]), ofOutput(gradient), target(ofMap);
  ForEachPixel(call.step.output, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    const T * const values = map.GetPixel(z, y, x);
    const T * const from = ofOutput.GetPixel(z, y, x);
    T * const       to = target.GetPixel(z, y, x);
    for (std::int64_t c = 0; c < channels; ++c)
    {
      const auto g = static_cast<double>(from[c]);
      ofGradients.Add(c, g);
      ofProducts.Add(c, g * (static_cast<double>(values[c]) - means[c]));
      to[c] = from[c] * factors[c];
    }
  });
  return { ofMap, GiveSums(call, norm, ofGradients.Get(), ofProducts.Get()) };
}

/** By LibTorch's operators. */
std::vector<at::Tensor>
DifferentiateMapPlain(OperationCall & call, const at::Tensor & gradient)
{
  const Norm   norm(call);
  const Values zeros(norm.channels);
  ChannelLines lines{ zeros, zeros, zeros };
  Values       means = zeros;
  for (std::int64_t c = 0; c < norm.channels; ++c)
  {
    means[c] = norm.GetMean(c);
    lines.factors[c] = norm.GetInverse(c) * norm.weights[c];
  }
  const auto [sums, products] = SumUpProductsInBands(gradient, call.inputs[0], means);
  return { MapLinesInBands(gradient, lines, {}), GiveSums(call, norm, sums, products) };
}

std::vector<at::Tensor>
DifferentiateNormalized(OperationCall & call, const at::Tensor & gradient)
{
  if (call.plain)
  {
    return DifferentiateMapPlain(call, gradient);
  }
  return WithType(gradient, [&](auto value) { return DifferentiateMap<decltype(value)>(call, gradient); });
}

const TorchOperation Statistics("norm_statistics", &ComputeStatistics, &DifferentiateStatistics);
const TorchOperation InstanceNorm("instance_norm", &Normalize, &DifferentiateNormalized);
const TorchOperation GroupNorm("group_norm", &Normalize, &DifferentiateNormalized);

} // namespace
} // namespace gigapixel::torchmodule

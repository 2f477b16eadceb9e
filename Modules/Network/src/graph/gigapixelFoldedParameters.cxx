/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFoldedParameters.h"
#include "gigapixelOperationSchema.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace gigapixel
{
namespace
{

const OperationSchema &
GetSchema(const Operation & operation)
{
  return *OperationSchema::Find(operation.type);
}

std::vector<ParameterDescription>
GetParameters(const NetworkGraph & graph, int operation)
{
  const std::vector<int> all = graph.GetChannels(), inputs = graph.GetInputs()[operation];
  std::vector<int>       channels(inputs.size());
  std::transform(inputs.begin(), inputs.end(), channels.begin(), [&](int input) { return all[input]; });
  return GetSchema(graph.operations[operation]).getParameters(graph.operations[operation], channels);
}

} // namespace

std::vector<int>
FindFolded(const NetworkGraph & graph)
{
  const auto       inputs = graph.GetInputs();
  const int        output = graph.GetIndex(graph.output);
  std::vector<int> readers(inputs.size()), folded(inputs.size(), -1);
  for (const std::vector<int> & ofOne : inputs)
  {
    for (const int input : ofOne)
    {
      ++readers[input];
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
  {
    if (GetSchema(graph.operations[i]).Is(Role::FrozenNorm))
    {
      const int  before = inputs[i].front();
      const bool alone = readers[before] == 1 && before != output;
      folded[i] = alone && GetSchema(graph.operations[before]).weight ? before : -1;
    }
  }
  return folded;
}

FoldedParameters::FoldedParameters(const NetworkGraph & graph)
  : m_Graph(graph)
  , m_Arrays(graph.operations.size())
  , m_NormOf(graph.operations.size(), -1)
{
  for (const ParameterDescription & parameter : graph.GetParameters())
  {
    m_Places[parameter.name] = m_NumberOfParameters;
    m_NumberOfParameters += parameter.GetNumberOfValues();
  }
  const auto                         channels = graph.GetChannels();
  const std::vector<int>             foldedInto = FindFolded(graph);
  std::vector<int>                   normOf(graph.operations.size(), -1);
  std::map<std::string, std::size_t> shared;
  for (std::size_t i = 0; i < foldedInto.size(); ++i)
  {
    if (foldedInto[i] >= 0)
    {
      normOf[foldedInto[i]] = static_cast<int>(i);
    }
  }
  for (int i = 0; i < static_cast<int>(graph.operations.size()); ++i)
  {
    const Operation & operation = graph.operations[i];
    if (foldedInto[i] >= 0)
    {
      continue;
    }
    const int norm = normOf[i];
    if (norm >= 0 || GetSchema(operation).Is(Role::FrozenNorm))
    {
      m_NormOf[i] = static_cast<int>(m_Norms.size());
      m_Norms.push_back(MakeNorm(norm >= 0 ? norm : i));
      if (norm >= 0)
      {
        m_Norms.back().convolution = i;
        m_Norms.back().weight = GetPlace(i, "weight");
        m_Norms.back().bias = operation.GetFlag("bias") ? GetPlace(i, "bias") : Norm::None;
        AddArray(i, GetParameters(graph, i).front(), m_NumberOfValues);
      }
      else
      {
        AddArray(i, { "weight", { channels[i] }, true }, m_NumberOfValues);
      }
      AddArray(i, { "bias", { channels[i] }, true }, m_NumberOfValues);
      continue;
    }
    for (const ParameterDescription & array : GetParameters(graph, i))
    {
      const auto found = shared.emplace(operation.GetParameter(array.name.c_str()), m_NumberOfValues);
      AddArray(i, array, found.first->second);
      if (found.second)
      {
        m_Plain.push_back({ GetPlace(i, array.name.c_str()), found.first->second, m_Arrays[i].back().size });
      }
    }
  }
}

std::size_t
FoldedParameters::GetPlace(int operation, const char * role) const
{
  return m_Places.at(m_Graph.operations[operation].GetParameter(role));
}

FoldedParameters::Norm
FoldedParameters::MakeNorm(int operation) const
{
  Norm norm;
  norm.operation = operation;
  norm.mean = GetPlace(operation, "running_mean");
  norm.variance = GetPlace(operation, "running_var");
  if (m_Graph.operations[operation].GetFlag("affine"))
  {
    norm.gamma = GetPlace(operation, "weight");
    norm.beta = GetPlace(operation, "bias");
  }
  return norm;
}

void
FoldedParameters::AddArray(int operation, const ParameterDescription & array, std::size_t first)
{
  const auto size = static_cast<std::size_t>(array.GetNumberOfValues());
  m_Arrays[operation].push_back({ array.name, array.shape, first, size });
  m_NumberOfValues = std::max(m_NumberOfValues, first + size);
}

/** 1 by it: what the convolution's map, less the mean, is multiplied by. */
template <typename T>
double
FoldedParameters::Norm::GetDeviation(const std::vector<T> & parameters, std::size_t channel, double eps) const
{
  return std::sqrt(parameters[variance + channel] + eps);
}

/** Calls f(value, channel) for each value of the convolution's weight and the channel of the map that it belongs to,
 * which is one for all values of a window. */
template <typename F>
void
FoldedParameters::ForEachValue(const Norm & norm, const F & f) const
{
  const Operation & convolution = m_Graph.operations[norm.convolution];
  const Array &     weight = m_Arrays[norm.convolution].front();
  const auto        getChannel = GetSchema(convolution).weight->getOutputChannel;
  const auto        window = static_cast<std::size_t>(
    std::accumulate(weight.shape.begin() + 2, weight.shape.end(), std::int64_t{ 1 }, std::multiplies<>()));
  for (std::size_t begin = 0; begin < weight.size; begin += window)
  {
    const std::size_t channel = getChannel(convolution, weight.shape, begin);
    for (std::size_t i = begin; i < begin + window; ++i)
    {
      f(i, channel);
    }
  }
}

template <typename T>
std::vector<double>
FoldedParameters::GetScales(const Norm & norm, const std::vector<T> & parameters) const
{
  const auto &        arrays = m_Arrays[norm.convolution >= 0 ? norm.convolution : norm.operation];
  const double        eps = m_Graph.operations[norm.operation].GetNumber("eps");
  std::vector<double> scales(arrays.back().size);
  for (std::size_t c = 0; c < scales.size(); ++c)
  {
    const double gamma = norm.gamma == Norm::None ? 1.0 : parameters[norm.gamma + c];
    scales[c] = gamma / norm.GetDeviation(parameters, c, eps);
  }
  return scales;
}

void
FoldedParameters::FoldNorm(const Norm &                                               norm,
                           const std::vector<double> &                                parameters,
                           const std::function<void(const Array &, const double *)> & take) const
{
  const auto &              arrays = m_Arrays[norm.convolution >= 0 ? norm.convolution : norm.operation];
  const std::vector<double> scales = GetScales(norm, parameters);
  if (norm.convolution < 0)
  {
    take(arrays.front(), scales.data());
  }
  else
  {
    std::vector<double> weight(arrays.front().size);
    ForEachValue(norm, [&](std::size_t i, std::size_t c) { weight[i] = parameters[norm.weight + i] * scales[c]; });
    take(arrays.front(), weight.data());
  }
  std::vector<double> bias(scales.size());
  for (std::size_t c = 0; c < bias.size(); ++c)
  {
    const double beta = norm.beta == Norm::None ? 0.0 : parameters[norm.beta + c];
    const double before = norm.bias == Norm::None ? 0.0 : parameters[norm.bias + c];
    bias[c] = beta + (before - parameters[norm.mean + c]) * scales[c];
  }
  take(arrays.back(), bias.data());
}

void
FoldedParameters::Fold(const std::vector<double> &                                parameters,
                       int                                                        operation,
                       const std::function<void(const Array &, const double *)> & take) const
{
  if (m_NormOf[operation] >= 0)
  {
    FoldNorm(m_Norms[m_NormOf[operation]], parameters, take);
    return;
  }
  for (const Array & array : m_Arrays[operation])
  {
    take(array, parameters.data() + GetPlace(operation, array.role.c_str()));
  }
}

template <typename T>
std::vector<double>
FoldedParameters::Unfold(const std::vector<T> &                                          parameters,
                         const std::function<void(std::size_t, std::size_t, double *)> & read) const
{
  std::vector<double> unfolded(m_NumberOfParameters), gradient;
  const auto          readArray = [&](std::size_t first, std::size_t size) {
    gradient.resize(size);
    read(first, size, gradient.data());
  };
  for (const Plain & plain : m_Plain)
  {
    readArray(plain.first, plain.size);
    std::transform(gradient.begin(),
                   gradient.end(),
                   unfolded.begin() + plain.parameter,
                   unfolded.begin() + plain.parameter,
                   std::plus<>());
  }
  for (const Norm & norm : m_Norms)
  {
    const auto &              arrays = m_Arrays[norm.convolution >= 0 ? norm.convolution : norm.operation];
    const double              eps = m_Graph.operations[norm.operation].GetNumber("eps");
    const std::vector<double> scales = GetScales(norm, parameters);
    std::vector<double>       ofScales(scales.size()); // gradients of gamma / deviation
    readArray(arrays.back().first, arrays.back().size);
    for (std::size_t c = 0; c < scales.size(); ++c)
    {
      const double before = norm.bias == Norm::None ? 0.0 : parameters[norm.bias + c];
      ofScales[c] = gradient[c] * (before - parameters[norm.mean + c]);
      if (norm.beta != Norm::None)
      {
        unfolded[norm.beta + c] += gradient[c];
      }
      if (norm.bias != Norm::None)
      {
        unfolded[norm.bias + c] += gradient[c] * scales[c];
      }
    }
    readArray(arrays.front().first, arrays.front().size);
    if (norm.convolution < 0)
    {
      std::transform(ofScales.begin(), ofScales.end(), gradient.begin(), ofScales.begin(), std::plus<>());
    }
    else
    {
      ForEachValue(norm, [&](std::size_t i, std::size_t c) {
        ofScales[c] += gradient[i] * parameters[norm.weight + i];
        unfolded[norm.weight + i] += gradient[i] * scales[c];
      });
    }
    for (std::size_t c = 0; norm.gamma != Norm::None && c < scales.size(); ++c)
    {
      unfolded[norm.gamma + c] += ofScales[c] / norm.GetDeviation(parameters, c, eps);
    }
  }
  return unfolded;
}

template std::vector<double> FoldedParameters::Unfold(
  const std::vector<float> &,
  const std::function<void(std::size_t, std::size_t, double *)> &) const;
template std::vector<double> FoldedParameters::Unfold(
  const std::vector<double> &,
  const std::function<void(std::size_t, std::size_t, double *)> &) const;

} // namespace gigapixel

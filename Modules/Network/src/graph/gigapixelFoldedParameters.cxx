/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFoldedParameters.h"
#include "gigapixelOperationSchema.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{

bool
IsConvolution(const Operation & operation)
{
  return operation.type == "conv2d" || operation.type == "conv_transpose2d";
}

std::vector<ParameterDescription>
GetParameters(const NetworkGraph & graph, int operation)
{
  const std::vector<int> all = graph.GetChannels(), inputs = graph.GetInputs()[operation];
  std::vector<int>       channels(inputs.size());
  std::transform(inputs.begin(), inputs.end(), channels.begin(), [&](int input) { return all[input]; });
  return OperationSchema::Find(graph.operations[operation].type)->getParameters(graph.operations[operation], channels);
}

/** The batch norm that is folded into a convolution, or -1. */
int
FindNormOf(const NetworkGraph & graph, const std::vector<std::vector<int>> & inputs, int convolution)
{
  for (std::size_t i = convolution + 1; i < inputs.size(); ++i)
  {
    if (inputs[i] == std::vector<int>{ convolution } && IsFolded(graph, static_cast<int>(i)))
    {
      return static_cast<int>(i);
    }
  }
  return -1;
}

} // namespace

bool
IsFolded(const NetworkGraph & graph, int operation)
{
  const Operation & norm = graph.operations[operation];
  if (norm.type != "batch_norm" || norm.inputs.front() == graph.output)
  {
    return false;
  }
  std::size_t readers = 0;
  bool        convolution = false;
  for (const Operation & other : graph.operations)
  {
    convolution = convolution || (other.name == norm.inputs.front() && IsConvolution(other));
    for (const std::string & input : other.inputs)
    {
      readers += input == norm.inputs.front();
    }
  }
  return convolution && readers == 1;
}

FoldedParameters::FoldedParameters(const NetworkGraph & graph)
  : m_Graph(graph)
  , m_Arrays(graph.operations.size())
{
  for (const ParameterDescription & parameter : graph.GetParameters())
  {
    m_Places[parameter.name] = m_NumberOfParameters;
    m_NumberOfParameters += parameter.GetNumberOfValues();
  }
  const auto                         inputs = graph.GetInputs();
  const auto                         channels = graph.GetChannels();
  std::map<std::string, std::size_t> shared;
  for (int i = 0; i < static_cast<int>(graph.operations.size()); ++i)
  {
    const Operation & operation = graph.operations[i];
    if (IsFolded(graph, i))
    {
      continue;
    }
    const int norm = IsConvolution(operation) ? FindNormOf(graph, inputs, i) : -1;
    if (norm >= 0 || operation.type == "batch_norm")
    {
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
double
FoldedParameters::Norm::GetDeviation(const std::vector<double> & parameters, std::size_t channel, double eps) const
{
  return std::sqrt(parameters[variance + channel] + eps);
}

/** The channel of the map that a value of the convolution's weight belongs to. */
std::size_t
FoldedParameters::GetOutputChannel(const Norm & norm, std::size_t value) const
{
  const Operation & convolution = m_Graph.operations[norm.convolution];
  const Array &     weight = m_Arrays[norm.convolution].front();
  const auto first = static_cast<std::size_t>(weight.shape[0]), second = static_cast<std::size_t>(weight.shape[1]);
  if (convolution.type == "conv2d")
  {
    return value / (weight.size / first);
  }
  const std::size_t perGroup = first / static_cast<std::size_t>(convolution.GetInteger("groups"));
  const std::size_t input = value / (weight.size / first);
  return input / perGroup * second + value / (weight.size / first / second) % second;
}

std::vector<double>
FoldedParameters::Fold(const std::vector<double> & parameters) const
{
  std::vector<double> values(m_NumberOfValues);
  for (const Plain & plain : m_Plain)
  {
    std::copy_n(parameters.begin() + plain.parameter, plain.size, values.begin() + plain.first);
  }
  for (const Norm & norm : m_Norms)
  {
    const auto &        arrays = m_Arrays[norm.convolution >= 0 ? norm.convolution : norm.operation];
    const Array &       bias = arrays.back();
    const double        eps = m_Graph.operations[norm.operation].GetNumber("eps");
    std::vector<double> scales(bias.size);
    for (std::size_t c = 0; c < bias.size; ++c)
    {
      const double gamma = norm.gamma == Norm::None ? 1.0 : parameters[norm.gamma + c];
      const double beta = norm.beta == Norm::None ? 0.0 : parameters[norm.beta + c];
      const double before = norm.bias == Norm::None ? 0.0 : parameters[norm.bias + c];
      scales[c] = gamma / norm.GetDeviation(parameters, c, eps);
      values[bias.first + c] = beta + (before - parameters[norm.mean + c]) * scales[c];
    }
    const Array & weight = arrays.front();
    for (std::size_t i = 0; i < weight.size; ++i)
    {
      values[weight.first + i] =
        norm.convolution < 0 ? scales[i] : parameters[norm.weight + i] * scales[GetOutputChannel(norm, i)];
    }
  }
  return values;
}

std::vector<double>
FoldedParameters::Unfold(const std::vector<double> & parameters, const std::vector<double> & gradient) const
{
  std::vector<double> unfolded(m_NumberOfParameters);
  for (const Plain & plain : m_Plain)
  {
    for (std::size_t i = 0; i < plain.size; ++i)
    {
      unfolded[plain.parameter + i] += gradient[plain.first + i];
    }
  }
  for (const Norm & norm : m_Norms)
  {
    const auto &        arrays = m_Arrays[norm.convolution >= 0 ? norm.convolution : norm.operation];
    const Array &       weight = arrays.front();
    const Array &       bias = arrays.back();
    const double        eps = m_Graph.operations[norm.operation].GetNumber("eps");
    std::vector<double> ofScales(bias.size); // gradients of gamma / deviation
    std::vector<double> scales(bias.size);
    for (std::size_t c = 0; c < bias.size; ++c)
    {
      const double ofShift = gradient[bias.first + c];
      const double gamma = norm.gamma == Norm::None ? 1.0 : parameters[norm.gamma + c];
      const double before = norm.bias == Norm::None ? 0.0 : parameters[norm.bias + c];
      scales[c] = gamma / norm.GetDeviation(parameters, c, eps);
      ofScales[c] = ofShift * (before - parameters[norm.mean + c]);
      if (norm.beta != Norm::None)
      {
        unfolded[norm.beta + c] += ofShift;
      }
      if (norm.bias != Norm::None)
      {
        unfolded[norm.bias + c] += ofShift * scales[c];
      }
    }
    for (std::size_t i = 0; i < weight.size; ++i)
    {
      const double ofWeight = gradient[weight.first + i];
      if (norm.convolution < 0)
      {
        ofScales[i] += ofWeight;
        continue;
      }
      const std::size_t c = GetOutputChannel(norm, i);
      ofScales[c] += ofWeight * parameters[norm.weight + i];
      unfolded[norm.weight + i] += ofWeight * scales[c];
    }
    for (std::size_t c = 0; norm.gamma != Norm::None && c < bias.size; ++c)
    {
      unfolded[norm.gamma + c] += ofScales[c] / norm.GetDeviation(parameters, c, eps);
    }
  }
  return unfolded;
}

} // namespace gigapixel

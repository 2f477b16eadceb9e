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

namespace
{

/** Calls f(begin, end, channel) for values of a convolution's weight, from `begin` on: channel is that of its map to
 * which all of these belong. */
template <typename F>
void
ForEachChannel(const Operation &               convolution,
               const FoldedParameters::Array & weight,
               std::size_t                     begin,
               std::size_t                     end,
               const F &                       f)
{
  const auto & shape = weight.shape;
  const auto   getSize = [&](int axes) {
    return static_cast<std::size_t>(
      std::accumulate(shape.begin() + axes, shape.end(), std::int64_t{ 1 }, std::multiplies<>()));
  };
  const auto getChannel = [&, get = GetSchema(convolution).weight->getOutputChannel](std::size_t value) {
    return get(convolution, shape, value);
  };
  const std::size_t row = getSize(1);
  // Along a row they are either all the same, or rise from window to window.
  const bool        whole = getChannel(0) == getChannel(row - 1);
  const std::size_t step = whole ? row : getSize(2);
  while (begin < end)
  {
    const std::size_t next = std::min(end, (begin / step + 1) * step);
    f(begin, next, getChannel(begin));
    begin = next;
  }
}

} // namespace

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
    const Operation &   convolution = m_Graph.operations[norm.convolution];
    ForEachChannel(
      convolution, arrays.front(), 0, weight.size(), [&](std::size_t begin, std::size_t end, std::size_t channel) {
        const double scale = scales[channel];
        for (std::size_t i = begin; i < end; ++i)
        {
          weight[i] = parameters[norm.weight + i] * scale;
        }
      });
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

namespace
{

/** \class GradientReader
 * \brief The gradient of folded arrays in parts, since a copy of a whole one may take many megabytes. */
class GradientReader
{
public:
  explicit GradientReader(const std::function<void(std::size_t, std::size_t, double *)> & read)
    : m_Read(read)
  {}

  /** Calls f(begin, values, number) for each part of an array, in their order; begin is the part's place in it. */
  template <typename F>
  void
  ForEachPart(std::size_t first, std::size_t size, const F & f)
  {
    for (std::size_t begin = 0; begin < size; begin += MostValues)
    {
      m_Values.resize(std::min(MostValues, size - begin));
      m_Read(first + begin, m_Values.size(), m_Values.data());
      f(begin, m_Values.data(), m_Values.size());
    }
  }

  /** Calls f(i, value) for each value of an array, in their order. */
  template <typename F>
  void
  ForEach(std::size_t first, std::size_t size, const F & f)
  {
    ForEachPart(first, size, [&](std::size_t begin, const double * values, std::size_t number) {
      for (std::size_t i = 0; i < number; ++i)
      {
        f(begin + i, values[i]);
      }
    });
  }

private:
  static constexpr std::size_t MostValues = std::size_t{ 1 } << 16;

  const std::function<void(std::size_t, std::size_t, double *)> & m_Read;
  std::vector<double>                                             m_Values;
};

} // namespace

template <typename T>
std::vector<double>
FoldedParameters::Unfold(const std::vector<T> &                                          parameters,
                         const std::function<void(std::size_t, std::size_t, double *)> & read) const
{
  std::vector<double> unfolded(m_NumberOfParameters);
  GradientReader      reader(read);
  for (const Plain & plain : m_Plain)
  {
    double * const target = unfolded.data() + plain.parameter;
    reader.ForEach(plain.first, plain.size, [target](std::size_t i, double value) { target[i] += value; });
  }
  for (const Norm & norm : m_Norms)
  {
    const auto &              arrays = m_Arrays[norm.convolution >= 0 ? norm.convolution : norm.operation];
    const double              eps = m_Graph.operations[norm.operation].GetNumber("eps");
    const std::vector<double> scales = GetScales(norm, parameters);
    std::vector<double>       ofScales(scales.size()); // gradients of gamma / deviation
    reader.ForEach(arrays.back().first, arrays.back().size, [&](std::size_t c, double value) {
      const double before = norm.bias == Norm::None ? 0.0 : parameters[norm.bias + c];
      ofScales[c] = value * (before - parameters[norm.mean + c]);
      if (norm.beta != Norm::None)
      {
        unfolded[norm.beta + c] += value;
      }
      if (norm.bias != Norm::None)
      {
        unfolded[norm.bias + c] += value * scales[c];
      }
    });
    if (norm.convolution < 0)
    {
      reader.ForEach(
        arrays.front().first, arrays.front().size, [&](std::size_t c, double value) { ofScales[c] += value; });
    }
    else
    {
      const Operation & convolution = m_Graph.operations[norm.convolution];
      const T * const   weight = parameters.data() + norm.weight;
      double * const    ofWeight = unfolded.data() + norm.weight;
      const auto        addPart = [&](std::size_t first, const double * values, std::size_t number) {
        const auto addChannel = [&](std::size_t begin, std::size_t end, std::size_t channel) {
          const double scale = scales[channel];
          double       sum = 0;
          for (std::size_t i = begin; i < end; ++i)
          {
            const double value = values[i - first];
            sum += value * weight[i];
            ofWeight[i] += value * scale;
          }
          ofScales[channel] += sum;
        };
        ForEachChannel(convolution, arrays.front(), first, first + number, addChannel);
      };
      reader.ForEachPart(arrays.front().first, arrays.front().size, addPart);
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

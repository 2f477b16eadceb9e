/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelParameterLayout.h"

#include <algorithm>

namespace gigapixel
{

std::vector<ParameterPlace>
GetParameterLayout(const NetworkDescription & network)
{
  std::vector<ParameterPlace> layout;
  std::size_t                 next = 0;
  for (const Layer & layer : network.layers)
  {
    const std::size_t biases = layer.outputChannels;
    const std::size_t weights = biases * layer.inputChannels * layer.kernel * layer.kernel;
    layout.push_back({ next, weights, next + weights, biases });
    next += weights + biases;
  }
  return layout;
}

std::vector<float>
RoundWeights(const std::vector<ParameterPlace> & layout,
             const std::vector<double> &         parameters,
             void (*round)(float *, std::size_t))
{
  std::vector<float> values(parameters.begin(), parameters.end());
  for (const ParameterPlace & place : layout)
  {
    if (round)
    {
      round(values.data() + place.weight, place.numberOfWeights);
    }
  }
  return values;
}

std::vector<double>
ToArray(const Model & model)
{
  std::vector<double> array;
  array.reserve(model.network.GetNumberOfParameters());
  for (const ParameterDescription & parameter : model.network.GetParameters())
  {
    const std::vector<float> & values = model.parameters.at(parameter.name).values;
    array.insert(array.end(), values.begin(), values.end());
  }
  return array;
}

std::map<std::string, Parameter>
ToParameters(const NetworkDescription & network, const std::vector<double> & array)
{
  std::map<std::string, Parameter> parameters;
  auto                             begin = array.begin();
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    const auto end = begin + parameter.GetNumberOfValues();
    parameters[parameter.name] = { parameter.shape, { begin, end } };
    begin = end;
  }
  return parameters;
}

} // namespace gigapixel

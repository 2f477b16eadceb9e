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
  std::vector<double> array(model.network.GetNumberOfParameters());
  const auto          layout = GetParameterLayout(model.network);
  for (std::size_t i = 0; i < layout.size(); ++i)
  {
    const std::string & name = model.network.layers[i].name;
    const auto &        weight = model.parameters.at(name + ".weight").values;
    const auto &        bias = model.parameters.at(name + ".bias").values;
    std::copy(weight.begin(), weight.end(), array.begin() + layout[i].weight);
    std::copy(bias.begin(), bias.end(), array.begin() + layout[i].bias);
  }
  return array;
}

std::map<std::string, Parameter>
ToParameters(const NetworkDescription & network, const std::vector<double> & array)
{
  std::map<std::string, Parameter> parameters;
  const auto                       layout = GetParameterLayout(network);
  for (std::size_t i = 0; i < layout.size(); ++i)
  {
    const Layer & layer = network.layers[i];
    const auto    begin = array.begin();
    parameters[layer.name + ".weight"] = {
      layer.GetWeightShape(), { begin + layout[i].weight, begin + layout[i].weight + layout[i].numberOfWeights }
    };
    parameters[layer.name + ".bias"] = {
      { layer.outputChannels }, { begin + layout[i].bias, begin + layout[i].bias + layout[i].numberOfBiases }
    };
  }
  return parameters;
}

} // namespace gigapixel

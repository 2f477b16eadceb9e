/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLayerChain.h"
#include "gigapixelNetworkGeometry.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace gigapixel
{
namespace
{

AttributeValue
Whole(std::int64_t value)
{
  return value;
}

Operation
MakeConvolution(const Layer & layer, const std::string & input)
{
  return { layer.name,
           layer.kind == Layer::Kind::Convolution ? "conv2d" : "conv_transpose2d",
           { input },
           { { "out_channels", Whole(layer.outputChannels) },
             { "kernel_size", Whole(layer.kernel) },
             { "stride", Whole(layer.stride) },
             { "padding", Whole(layer.padding) } },
           {} };
}

/** A name that no layer has. */
std::string
MakeName(const std::vector<Layer> & layers, std::string name)
{
  const auto isTaken = [&](const Layer & layer) { return layer.name == name; };
  while (std::any_of(layers.begin(), layers.end(), isTaken))
  {
    name += '_';
  }
  return name;
}

/** What the convolution says of itself; a chain's has a square kernel, which MakeChainGraph() shows. */
Layer
ReadLayer(const Operation & convolution, int inputChannels)
{
  Layer layer;
  layer.name = convolution.name;
  layer.kind = convolution.type == "conv2d" ? Layer::Kind::Convolution : Layer::Kind::TransposedConvolution;
  layer.inputChannels = inputChannels;
  layer.outputChannels = static_cast<int>(convolution.GetInteger("out_channels"));
  layer.kernel = static_cast<int>(convolution.GetAlong("kernel_size", 0));
  layer.stride = static_cast<int>(convolution.GetAlong("stride", 0));
  layer.padding = convolution.IsWord("padding") ? 0 : static_cast<int>(convolution.GetAlong("padding", 0));
  layer.activation = Layer::Activation::None;
  return layer;
}

/** As if it were a chain: rectifiers and sums belong to the convolution before them. */
std::vector<Layer>
ReadLayers(const NetworkGraph & graph)
{
  const auto                 inputs = graph.GetInputs();
  const std::vector<int>     channels = graph.GetChannels();
  std::vector<Layer>         layers;
  std::map<int, std::string> ends; // of the layers: the place of what comes last in each
  for (int i = 0; i < static_cast<int>(graph.operations.size()); ++i)
  {
    const Operation & operation = graph.operations[i];
    if (operation.type == "conv2d" || operation.type == "conv_transpose2d")
    {
      layers.push_back(ReadLayer(operation, channels[inputs[i].front()]));
    }
    else if (operation.type == "relu" && !layers.empty())
    {
      layers.back().activation = Layer::Activation::ReLU;
    }
    else if (operation.type == "add" && !layers.empty() && inputs[i].size() == 2)
    {
      layers.back().add = ends[std::min(inputs[i][0], inputs[i][1])];
    }
    if (!layers.empty())
    {
      const auto before = ends.find(i - 1);
      if (before != ends.end() && before->second == layers.back().name)
      {
        ends.erase(before);
      }
      ends[i] = layers.back().name;
    }
  }
  return layers;
}

bool
IsSame(const Operation & a, const Operation & b, const std::map<std::string, std::string> & names)
{
  std::vector<std::string> inputs;
  std::transform(a.inputs.begin(), a.inputs.end(), std::back_inserter(inputs), [&](const std::string & input) {
    return names.at(input);
  });
  const bool turned =
    a.type == "add" && inputs.size() == 2 && inputs == std::vector<std::string>{ b.inputs.back(), b.inputs.front() };
  return a.type == b.type && (inputs == b.inputs || turned) && a.parameters == b.parameters &&
         a.attributes.size() == b.attributes.size() &&
         std::all_of(a.attributes.begin(), a.attributes.end(), [&](const auto & attribute) {
           return IsSameValue(attribute.second, b.attributes.at(attribute.first));
         });
}

/** Whether they are the same but for the names of operations. */
bool
IsSame(const NetworkGraph & a, const NetworkGraph & b)
{
  if (a.operations.size() != b.operations.size())
  {
    return false;
  }
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < a.operations.size(); ++i)
  {
    if (!IsSame(a.operations[i], b.operations[i], names))
    {
      return false;
    }
    names[a.operations[i].name] = b.operations[i].name;
  }
  return names.at(a.output) == b.output;
}

} // namespace

NetworkGraph
MakeChainGraph(const NetworkDescription & network)
{
  const std::vector<Layer> & layers = network.layers;
  const std::int64_t         stride = GetCanvasStride(layers);
  const std::string          input = MakeName(layers, "input");
  NetworkGraph               graph;
  graph.operations.push_back({ input, "input", {}, { { "channels", Whole(network.channels) } }, {} });
  if (stride > 1)
  {
    const double white = network.invert ? 0 : 1;
    graph.operations.push_back(
      { MakeName(layers, "canvas"), "pad", { input }, { { "multiple", stride }, { "value", white } }, {} });
  }
  std::map<std::string, std::string> ends;
  for (const Layer & layer : layers)
  {
    graph.operations.push_back(MakeConvolution(layer, graph.operations.back().name));
    if (layer.activation == Layer::Activation::ReLU)
    {
      graph.operations.push_back({ layer.name + ".relu", "relu", { graph.operations.back().name }, {}, {} });
    }
    if (!layer.add.empty())
    {
      graph.operations.push_back(
        { layer.name + ".add", "add", { graph.operations.back().name, ends.at(layer.add) }, {}, {} });
    }
    ends[layer.name] = graph.operations.back().name;
  }
  if (stride > 1)
  {
    graph.operations.push_back({ MakeName(layers, "logits"), "crop", { graph.operations.back().name, input }, {}, {} });
  }
  graph.output = graph.operations.back().name;
  graph.Validate();
  return graph;
}

void
ExpandLayers(NetworkDescription & network)
{
  CheckLayers(network);
  network.graph = MakeChainGraph(network);
}

bool
IsChainOf(const NetworkGraph & graph, const NetworkDescription & network)
{
  return IsSame(graph, MakeChainGraph(network));
}

void
FindChain(NetworkDescription & network)
{
  NetworkDescription chain = network;
  chain.layers = ReadLayers(network.graph);
  try
  {
    ExpandLayers(chain);
    if (IsSame(network.graph, chain.graph))
    {
      network = std::move(chain);
    }
  }
  catch (const std::invalid_argument &)
  {
    return; // it is none
  }
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "graph/gigapixelLayerChain.h"

#include <gtest/gtest.h>

using namespace gigapixel;

namespace
{

/** A graph of operations in JSON, as somebody writes it who knows nothing of layers. */
std::string
MakeJSON(const std::string & operations, const std::string & output)
{
  return R"({ "name": "mine", "operations": [)" + operations + R"(], "output": ")" + output + "\" }";
}

const std::string Input = R"({ "name": "x", "type": "input", "channels": 1 })";
const std::string Canvas = R"(, { "name": "p", "type": "pad", "inputs": ["x"], "multiple": 2, "value": 0 })";
const std::string Down =
  R"(, { "name": "A", "type": "conv2d", "inputs": ["p"], "out_channels": 4, "kernel_size": 4, "stride": 2, "padding": 1 })";
const std::string Rectified = R"(, { "name": "r", "type": "relu", "inputs": ["A"] })";
const std::string Same =
  R"(, { "name": "B", "type": "conv2d", "inputs": ["r"], "out_channels": 4, "kernel_size": 3, "padding": 1 })";
const std::string Sum = R"(, { "name": "s", "type": "add", "inputs": ["r", "B"] })";
const std::string Up =
  R"(, { "name": "C", "type": "conv_transpose2d", "inputs": ["s"], "out_channels": 1, "kernel_size": 2, "stride": 2 })";
const std::string Crop = R"(, { "name": "y", "type": "crop", "inputs": ["C", "x"] })";

NetworkDescription
Read(const std::string & operations, const std::string & output = "y")
{
  return NetworkDescription::FromJSON(MakeJSON(operations, output));
}

} // namespace

TEST(LayerChain, OperationsThatAreAChainAreReadAsLayers)
{
  const NetworkDescription found = Read(Input + Canvas + Down + Rectified + Same + Sum + Up + Crop);
  EXPECT_EQ(found.layers.size(), 3u);
  const NetworkDescription expected = NetworkDescription::FromJSON(R"({ "name": "mine", "layers": [
    { "name": "A", "type": "convolution", "in": 1, "out": 4, "kernel": 4, "stride": 2, "padding": 1, "activation": "relu" },
    { "name": "B", "type": "convolution", "in": 4, "out": 4, "kernel": 3, "padding": 1, "activation": "none", "add": "A" },
    { "name": "C", "type": "transposed convolution", "in": 4, "out": 1, "kernel": 2, "stride": 2, "activation": "none" }
  ] })");
  EXPECT_EQ(found.ToJSON(), expected.ToJSON());
}

TEST(LayerChain, LayersComeBackFromTheirGraph)
{
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  const std::string  json = network.ToJSON();
  const auto         parameters = network.GetParameters();
  ASSERT_EQ(parameters.size(), 2 * network.layers.size());
  for (std::size_t i = 0; i < network.layers.size(); ++i)
  {
    const Layer & layer = network.layers[i];
    EXPECT_EQ(parameters[2 * i].name, layer.name + ".weight");
    EXPECT_EQ(parameters[2 * i].shape, layer.GetWeightShape());
    EXPECT_EQ(parameters[2 * i + 1].name, layer.name + ".bias");
    EXPECT_EQ(parameters[2 * i + 1].shape, (std::vector<std::int64_t>{ layer.outputChannels }));
  }
  network.layers.clear();
  network.Validate();
  EXPECT_NE(network.ToJSON(), json);
  EXPECT_EQ(NetworkDescription::FromJSON(network.ToJSON()).ToJSON(), json);
}

TEST(LayerChain, LayersOfAnotherGraphAreRefused)
{
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  network.layers.front().activation = Layer::Activation::None;
  EXPECT_THROW(network.Validate(), std::invalid_argument);
  ExpandLayers(network);
  EXPECT_NO_THROW(network.Validate());
}

TEST(LayerChain, AnyDifferenceMakesItAGraph)
{
  const std::string end = Same + Sum + Up + Crop;
  const auto        change = [](std::string text, const std::string & from, const std::string & to) {
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string & operations :
       { Input + change(Canvas, R"("value": 0)", R"("value": 1)") + Down + Rectified + end,
         Input + change(Canvas, R"("multiple": 2)", R"("multiple": 4)") + Down + Rectified + end,
         Input + Canvas + change(Down, R"("stride": 2)", R"("stride": 2, "bias": false)") + Rectified + end,
         Input + Canvas + change(Down, R"("padding": 1)", R"("padding": 1, "padding_mode": "replicate")") + Rectified +
           end,
         Input + Canvas + Down + change(Rectified, "relu", "leaky_relu") + end,
         Input + Canvas + Down + Rectified + change(Same, R"("inputs": ["r"])", R"("inputs": ["A"])") + Sum + Up + Crop,
         Input + Canvas + Down + Rectified + Same + change(Sum, R"(["r", "B"])", R"(["A", "B"])") + Up + Crop,
         Input + Canvas + Down + Rectified + Same + change(Sum, R"("add")", R"("sub")") + Up + Crop })
  {
    const NetworkDescription network = Read(operations);
    EXPECT_TRUE(network.layers.empty()) << operations;
  }
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "RelativeDifference.h"
#include "SyntheticSources.h"
#include "gigapixelFrozenParameters.h"
#include "model/gigapixelInitialWeights.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "gigapixelTrainer.h"
#include "graph/gigapixelGraphGeometry.h"

#include <gtest/gtest.h>

#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

gigapixel::Diagnostic
GetRefusal(const NetworkDescription & network, const std::vector<std::string> & names)
{
  return gigapixel_test::FindRefusal([&] { FindFrozen(network, names); });
}

std::vector<double>
ComputeGradient(const NetworkDescription & network, std::int64_t tileSize)
{
  StreamedNetwork streamed(network, tileSize, 2);
  streamed.SetParameters(MakeInitialWeights(network, 3, { 0.7, 0.3 }));
  ProceduralPixels pixels({ 150, 131 }, 5, network.channels);
  ProceduralLabels labels({ 150, 131 }, 5);
  LossGradient     sum;
  EXPECT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
  return sum.gradient;
}

/** Of three steps, with the epoch's last model. */
Model
Train(const NetworkDescription & network, const std::vector<std::string> & freeze, double learningRate)
{
  TrainingOptions options;
  options.epochs = 3;
  options.threads = 2;
  options.tileSize = 128;
  options.freeze = freeze;
  options.optimizer = "adamw";
  options.learningRate = learningRate;
  Trainer trainer(network, options, "");
  trainer.AddTrainingSample(MakeSample("a", { 150, 131 }, 5));
  EXPECT_TRUE(trainer.Run());
  return trainer.GetLastModel();
}

/** A small network, some of whose arrays are constants. */
std::string
MakeNetworkOfConstants(const std::string & names)
{
  return R"({ "name": "constants", "operations": [
    { "name": "image", "type": "input", "channels": 1 },
    { "name": "pixels", "type": "affine", "inputs": ["image"] },
    { "name": "inner", "type": "conv2d", "inputs": ["pixels"], "out_channels": 2, "kernel_size": 3, "padding": 1 },
    { "name": "relu", "type": "relu", "inputs": ["inner"] },
    { "name": "head", "type": "conv2d", "inputs": ["relu"], "out_channels": 1, "kernel_size": 1 }],
    "output": "head", "constants": [)" +
         names + "] }";
}

} // namespace

// Those of the description, whose training goes on about the others.
TEST(FrozenParameters, AreTheConstantsAsWell)
{
  const std::string        constants = R"("pixels.weight", "pixels.bias", "inner.weight")";
  const NetworkDescription network = NetworkDescription::FromJSON(MakeNetworkOfConstants(constants));
  const GraphGeometry      geometry(network.graph, { 150, 131 });
  EXPECT_FALSE(geometry.IsBehindTrained(1));
  EXPECT_TRUE(geometry.IsBehindTrained(2));
  const Model start = Train(network, {}, 1e-60), trained = Train(network, {}, 1e-2);
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    const bool kept = network.graph.constants.count(parameter.name) > 0;
    EXPECT_EQ(parameter.trained, !kept) << parameter.name;
    EXPECT_EQ(start.parameters.at(parameter.name).values == trained.parameters.at(parameter.name).values, kept)
      << parameter.name;
  }
  const auto all =
    NetworkDescription::FromJSON(MakeNetworkOfConstants(constants + R"(, "inner.bias", "head.weight", "head.bias")"));
  EXPECT_EQ(GetRefusal(all, {}).code, "E-OPTION-APPLIES");
}

TEST(FrozenParameters, AreThoseOfArraysAndModules)
{
  const auto network = NetworkDescription::FromJSON(R"({ "name": "names", "operations": [
    { "name": "image", "type": "input", "channels": 1 },
    { "name": "layer1.0", "type": "conv2d", "inputs": ["image"], "out_channels": 2, "kernel_size": 1 },
    { "name": "layer10", "type": "conv2d", "inputs": ["layer1.0"], "out_channels": 2, "kernel_size": 1 },
    { "name": "head", "type": "conv2d", "inputs": ["layer10"], "out_channels": 1, "kernel_size": 1 }],
    "output": "head" })");
  using Names = std::set<std::string>;
  EXPECT_EQ(FindFrozen(network, {}), Names{});
  EXPECT_EQ(FindFrozen(network, { "layer1" }), (Names{ "layer1.0.weight", "layer1.0.bias" }));
  EXPECT_EQ(FindFrozen(network, { "layer1.0.bias", "layer10" }),
            (Names{ "layer1.0.bias", "layer10.weight", "layer10.bias" }));
  EXPECT_EQ(GetRefusal(network, { "layer1.", "head" }).code, "E-OPTION-VALUE");
  EXPECT_EQ(GetRefusal(network, { "layer1.", "head" }).value, "layer1.");
  EXPECT_EQ(GetRefusal(network, { "layer11" }).code, "E-OPTION-VALUE");
  EXPECT_EQ(GetRefusal(network, { "layer11" }).value, "layer11");
  EXPECT_EQ(GetRefusal(network, { "layer1", "layer10", "head" }).code, "E-OPTION-VALUE");
}

// Whatever is frozen, the gradient of all else stays; a norm is trained though its convolution is frozen.
TEST(FrozenParameters, LeaveTheOthersTheirGradient)
{
  NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=2,channels=1");
  const auto         all = ComputeGradient(network, 64);
  for (const std::vector<std::string> & freeze :
       { std::vector<std::string>{ "enc" }, { "enc.0.0.weight" }, { "enc.0", "dec", "up" }, { "last" } })
  {
    network.graph.frozen.clear();
    network.graph.frozen = FindFrozen(network, freeze);
    const auto  some = ComputeGradient(network, 64);
    std::size_t begin = 0, compared = 0;
    for (const ParameterDescription & parameter : network.GetParameters())
    {
      const std::size_t end = begin + parameter.GetNumberOfValues();
      if (parameter.trained)
      {
        EXPECT_TRUE(std::equal(all.begin() + begin, all.begin() + end, some.begin() + begin)) << parameter.name;
        compared += end - begin;
      }
      begin = end;
    }
    EXPECT_GT(compared, 0u);
  }
}

// What lies before the first array that is trained is not differentiated.
TEST(FrozenParameters, SaveTheBackwardPassOfTheBeginning)
{
  NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=2,channels=1");
  network.graph.frozen = FindFrozen(network, { "enc" });
  const GraphGeometry geometry(network.graph, { 150, 131 });
  int                 differentiated = 0, left = 0;
  for (std::size_t i = 0; i < network.graph.operations.size(); ++i)
  {
    const bool encoder = network.graph.operations[i].name.rfind("enc", 0) == 0;
    (geometry.IsBehindTrained(static_cast<int>(i)) ? differentiated : left) += encoder;
  }
  EXPECT_EQ(differentiated, 0);
  EXPECT_GT(left, 4);
}

// What a training left alone is no property of the network that comes of it.
TEST(FrozenParameters, AreNoPartOfTheModel)
{
  EXPECT_TRUE(
    Train(NetworkDescription::Load("unet:base=4,depth=2,channels=1"), { "enc" }, 1e-2).network.graph.frozen.empty());
}

// Of a graph and of a chain of layers; weight decay would show.
TEST(FrozenParameters, StayAsTheyAre)
{
  const std::pair<const char *, std::vector<std::string>> cases[] = { { "unet:base=4,depth=2,channels=1", { "enc" } },
                                                                      { "remedios2023", { "L1", "L2.weight" } } };
  for (const auto & [name, freeze] : cases)
  {
    const NetworkDescription network = NetworkDescription::Load(name);
    const Model              start = Train(network, {}, 1e-60), trained = Train(network, freeze, 1e-2);
    const auto               frozen = FindFrozen(network, freeze);
    EXPECT_FALSE(frozen.empty());
    for (const ParameterDescription & parameter : network.GetParameters())
    {
      const auto & before = start.parameters.at(parameter.name).values;
      const auto & after = trained.parameters.at(parameter.name).values;
      EXPECT_EQ(before == after, !parameter.trained || frozen.count(parameter.name) > 0) << parameter.name;
    }
  }
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TemporaryFolder.h"
#include "gigapixelNetworkDescription.h"
#include "graph/gigapixelNetworkGeometry.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

using namespace gigapixel;

namespace
{

std::string
GetRefusal(const std::string & json)
{
  try
  {
    NetworkDescription::FromJSON(json);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

std::string
Change(std::string text, const std::string & from, const std::string & to)
{
  const std::size_t place = text.find(from);
  if (place == std::string::npos)
  {
    throw std::logic_error("the network does not hold " + from);
  }
  return text.replace(place, from.size(), to);
}

/** The preset's text with one change. */
std::string
Change(const std::string & from, const std::string & to)
{
  return Change(test::ReadAll(GIGAPIXEL_SOURCE_DIR "/Modules/Network/networks/remedios2023.json"), from, to);
}

/** A pooling, a way back up, and a skip. */
const std::string GraphText = R"({
  "name": "small",
  "input": { "channels": 2, "mean": [0.5, 0.25], "deviation": [0.5, 1] },
  "operations": [
    { "name": "image", "type": "input", "channels": 2 },
    { "name": "down", "type": "max_pool2d", "inputs": ["image"], "kernel_size": 2, "ceil_mode": true },
    { "name": "inner", "type": "conv2d", "inputs": ["down"], "out_channels": 8, "kernel_size": 3, "padding": "same" },
    { "name": "up", "type": "interpolate", "inputs": ["inner", "image"] },
    { "name": "both", "type": "cat", "inputs": ["image", "up"] },
    { "name": "logits", "type": "conv2d", "inputs": ["both"], "out_channels": 1, "kernel_size": 1 }
  ],
  "output": "logits",
  "loss": { "type": "dice" }
})";

} // namespace

// The numbers that the paper and the layer list give.
TEST(NetworkDescription, KnowsThePreset)
{
  const NetworkDescription network = NetworkDescription::Load("remedios2023");
  EXPECT_EQ(network.GetNumberOfParameters(), 4492);
  EXPECT_EQ(network.GetStride(), 32);
  EXPECT_EQ(GetExactHalo(network.layers), 60);
  EXPECT_EQ(network.GetHalo(), 64);
  EXPECT_EQ(network.GetNumberOfOutputChannels(), 1);
  EXPECT_EQ(network.GetNumberOfClasses(), 2);
  EXPECT_EQ(NetworkDescription::GetPresets().front(), "remedios2023");
}

TEST(NetworkDescription, SurvivesJSON)
{
  const std::string json = NetworkDescription::Load("remedios2023").ToJSON();
  EXPECT_EQ(NetworkDescription::FromJSON(json).ToJSON(), json);
}

TEST(NetworkDescription, RefusesWithTheReason)
{
  const auto expect = [](const std::string & from, const std::string & to, const std::string & reason) {
    EXPECT_NE(GetRefusal(Change(from, to)).find(reason), std::string::npos)
      << reason << "\nnot in: " << GetRefusal(Change(from, to));
  };
  expect("\"kernel\": 16", "\"kernal\": 16", "unknown key \"kernal\"");
  expect("\"name\": \"remedios2023\",", "", "lacks the key \"name\"");
  expect("\"in\": 6, \"out\": 6, \"kernel\": 4", "\"in\": 5, \"out\": 6, \"kernel\": 4", "takes 5 channels");
  expect("\"add\": \"L1\"", "\"add\": \"L2\"", "another shape (6 channels at 1/16 of the input)");
  expect("\"add\": \"L1\"", "\"add\": \"L7\"", "no earlier layer");
  expect("\"kernel\": 8, \"stride\": 8", "\"kernel\": 4, \"stride\": 4", "not of the input's size: 1 channels at 1/2");
  expect("\"kernel\": 16", "\"kernel\": 15.5", "must be a whole number");
  expect("\"kernel\": 16", "\"kernel\": 18", "kernel - 2 * padding is 10");
  expect("\"kernel\": 8, \"stride\": 8", "\"kernel\": 9, \"stride\": 8", "must be the stride (8)");
  expect("\"type\": \"convolution\"", "\"type\": \"batch normalisation\"", "sees the whole image");
  expect("\"type\": \"convolution\"", "\"type\": \"global average pooling\"", "sees the whole image");
  expect("\"type\": \"convolution\"", "\"type\": \"max pooling\"", "a stride in place of pooling");
  expect("\"activation\": \"none\"", "\"activation\": \"relu\"", "its output are logits");
  expect("binary cross-entropy", "softmax cross-entropy", "2 to 254 output channels");
  expect("binary cross-entropy", "hinge", "unknown loss");
  const std::string loss = "\"ignore unscanned\": false";
  expect(loss, "\"class weights\": [1]", "there are 1 class weights, but the network tells 2 classes apart");
  expect(loss, "\"class weights\": [1, -2]", "must be 0, or numbers from 1e-60 to 1e60");
  expect(loss, "\"class weights\": [1e308, 1e308]", "must be 0, or numbers from 1e-60 to 1e60");
  expect(loss, "\"class weights\": [1e-320, 1e-320]", "must be 0, or numbers from 1e-60 to 1e60");
  expect(loss, "\"class weights\": [0, 0]", "one class weight must be above 0");
  expect(loss, "\"class weights\": [0, \"many\"]", "must be a list of numbers");
  expect(loss, "\"class weights\": 2", "must be a list of numbers");
  expect("\"name\": \"remedios2023\"", "\"name\": \"n\", \"class names\": null", "must be a list of names, not null");
  expect("\"name\": \"remedios2023\"", "\"name\": \"n\", \"class names\": {}", "must be a list of names, not {}");
  expect("\"layers\": [", "\"layers\": [], \"x\": [", "unknown key \"x\"");
  expect(loss, "\"ignored label\": 1", "2 to 255");
  expect("\"name\": \"L2\"", "\"name\": \"L1\"", "two layers are named \"L1\"");
  expect("\"name\": \"L2\"", "\"name\": \"training\"", "use another one");
  expect("{", "[", "no JSON");
  const std::string nested = std::string(100000, '[') + std::string(100000, ']');
  expect("\"kernel\": 16", "\"kernel\": " + nested, "nested deeper");
  expect("\"name\": \"remedios2023\"", "\"name\": " + nested, "nested deeper");
  EXPECT_NE(GetRefusal("3").find("must be a JSON object"), std::string::npos);
  EXPECT_NE(GetRefusal("{ \"name\": \"n\", \"layers\": [] }").find("1 to 4096"), std::string::npos);
}

// Texts of any place are shown in sentences: these stay short.
TEST(NetworkDescription, RefusesLongTexts)
{
  const std::string                         text(100000, 'q'), quoted = '"' + text + '"';
  const std::pair<std::string, std::string> changes[] = {
    { "\"name\": \"remedios2023\"", "\"name\": " + quoted },
    { "\"name\": \"remedios2023\"", "\"name\": [" + quoted + "]" },
    { "\"name\": \"remedios2023\"", "\"name\": \"n\", " + quoted + ": 1" },
    { "\"kernel\": 16", "\"kernel\": " + quoted },
    { "\"add\": \"L1\"", "\"add\": " + quoted },
    { "\"type\": \"convolution\"", "\"type\": " + quoted },
    { "binary cross-entropy", text },
    { "\"ignore unscanned\": false", "\"class weights\": [" + quoted + "]" },
  };
  for (const auto & [from, to] : changes)
  {
    const std::string refusal = GetRefusal(Change(from, to));
    EXPECT_NE(refusal.find("it holds a text of 100000 bytes"), std::string::npos) << from;
    EXPECT_LT(refusal.size(), 300u) << from;
  }
  std::string numbers = "[0";
  for (int i = 0; i < 100000; ++i)
  {
    numbers += ",0";
  }
  const std::string refusal = GetRefusal(Change("\"kernel\": 16", "\"kernel\": " + numbers + "]"));
  EXPECT_NE(refusal.find("must be a whole number from 0 to 65536, not [0,0"), std::string::npos);
  EXPECT_LT(refusal.size(), 300u);
  const std::string kept =
    Change("\"name\": \"remedios2023\"", "\"name\": \"n\", \"provenance\": { \"of\": " + quoted + " }");
  EXPECT_EQ(GetRefusal(kept), "");
}

TEST(NetworkDescription, SaysWhereGraphsSeeTheWholeImage)
{
  const auto make = [](const std::string & operations, const std::string & output) {
    return R"({ "name": "gated", "operations": [
      { "name": "image", "type": "input", "channels": 4 },
      { "name": "norm", "type": "group_norm", "inputs": ["image"], "num_groups": 2 },)" +
           operations + R"(], "output": ")" + output + R"(", "loss": { "type": "softmax cross-entropy" } })";
  };
  std::string pools;
  for (int i = 0; i < 4; ++i)
  {
    const std::string number = std::to_string(i);
    pools += R"({ "name": "pool)" + number +
             R"(", "type": "adaptive_max_pool2d", "inputs": ["norm"], "output_size": 65 },
               { "name": "gate)" +
             number + R"(", "type": "interpolate", "inputs": ["pool)" + number + R"(", "image"] },)";
  }
  const std::string gated = pools + R"({ "name": "logits", "type": "mul", "inputs": ["norm", "gate3"] })";
  const std::string wanted = "it is a graph of 11 operations, but does not run yet: nothing computes what sees the "
                             "whole image: adaptive_max_pool2d (4 places: pool0, pool1, pool2 ...)";
  EXPECT_NE(GetRefusal(make(gated, "logits")).find(wanted), std::string::npos) << GetRefusal(make(gated, "logits"));
  const std::string classes =
    R"({ "name": "one", "type": "adaptive_max_pool2d", "inputs": ["norm"], "output_size": 1 })";
  EXPECT_NE(GetRefusal(make(classes, "one")).find("its output is a pooling of all pixels itself"), std::string::npos);
  const std::string broken = R"({ "name": "one", "type": "instance_norm", "inputs": ["norm"], "affin": true })";
  EXPECT_NE(GetRefusal(make(broken, "one")).find("it has no \"affin\""), std::string::npos);
  const std::string third = R"({ "name": "one", "type": "group_norm", "inputs": ["norm"], "num_groups": 3 })";
  EXPECT_NE(GetRefusal(make(third, "one")).find("4 channels are no multiple of its groups"), std::string::npos);
}

TEST(NetworkDescription, TakesGraphs)
{
  const NetworkDescription network = NetworkDescription::FromJSON(GraphText);
  EXPECT_TRUE(network.layers.empty());
  EXPECT_EQ(network.channels, 2);
  EXPECT_FALSE(network.invert);
  EXPECT_EQ(network.deviation, (std::vector<double>{ 0.5, 1 }));
  EXPECT_EQ(network.loss, NetworkDescription::Loss::Dice);
  EXPECT_EQ(network.GetNumberOfOutputChannels(), 1);
  EXPECT_EQ(network.GetNumberOfParameters(), 2 * 8 * 9 + 8 + 10 + 1);
  EXPECT_EQ(network.GetStride(), 2);
  EXPECT_EQ(network.GetHalo(), 2); // the convolution's one pixel of the pooled map
  const std::string json = network.ToJSON();
  EXPECT_EQ(NetworkDescription::FromJSON(json).ToJSON(), json);
  const std::string invert = Change(GraphText, R"(, "mean": [0.5, 0.25], "deviation": [0.5, 1])", "");
  EXPECT_TRUE(NetworkDescription::FromJSON(invert).invert);
  EXPECT_NE(NetworkDescription::FromJSON(invert).ToJSON().find("\"invert\": true"), std::string::npos);
}

TEST(NetworkDescription, KeepsConstants)
{
  const std::string text =
    Change(GraphText, "\"output\": \"logits\",", "\"output\": \"logits\", \"constants\": [\"inner.weight\"],");
  const NetworkDescription network = NetworkDescription::FromJSON(text);
  EXPECT_EQ(network.graph.constants, std::set<std::string>{ "inner.weight" });
  EXPECT_EQ(network.GetNumberOfParameters(), 2 * 8 * 9 + 8 + 10 + 1);
  EXPECT_EQ(network.GetNumberOfTrainedParameters(), 8 + 10 + 1);
  const std::string json = network.ToJSON();
  EXPECT_EQ(NetworkDescription::FromJSON(json).ToJSON(), json);
  const auto refuse = [&text](const std::string & to) {
    return GetRefusal(Change(text, "\"constants\": [\"inner.weight\"]", to));
  };
  EXPECT_NE(refuse("\"constants\": [\"inner\"]").find("\"constants\" names \"inner\", which is no array"),
            std::string::npos);
  EXPECT_NE(refuse("\"constants\": \"inner.weight\"").find("\"constants\" must be a list of names"), std::string::npos);
  EXPECT_NE(GetRefusal(Change("\"layers\": [", "\"constants\": [], \"layers\": [")).find("layers have none"),
            std::string::npos);
  // All of them: such a network is computed, and not trained.
  EXPECT_EQ(refuse(R"("constants": ["inner.weight", "inner.bias", "logits.weight", "logits.bias"])"), "");
}

TEST(NetworkDescription, LeavesValuesOfVolumesAsTheyAre)
{
  const auto make = [](const std::string & input) {
    return R"({ "name": "volumes", "operations": [
      { "name": "x", "type": "input", "channels": 1, "axes": 3 },
      { "name": "y", "type": "conv3d", "inputs": ["x"], "out_channels": 2, "kernel_size": 1 } ],
      "output": "y", "loss": { "type": "softmax cross-entropy", "ignore unscanned": false })" +
           input + " }";
  };
  for (const char * input : { "", R"(, "input": { "channels": 1 })", R"(, "input": { "invert": false })" })
  {
    EXPECT_FALSE(NetworkDescription::FromJSON(make(input)).invert) << input;
  }
  EXPECT_NE(GetRefusal(make(R"(, "input": { "channels": 1, "invert": true })")).find("leave \"invert\" out"),
            std::string::npos);
}

TEST(NetworkDescription, RefusesGraphsWithTheReason)
{
  const auto expect = [](const std::string & from, const std::string & to, const std::string & reason) {
    const std::string refusal = GetRefusal(Change(GraphText, from, to));
    EXPECT_NE(refusal.find(reason), std::string::npos) << reason << "\nnot in: " << refusal;
  };
  expect("\"output\": \"logits\",", "", "the name of the one that is the \"output\"");
  expect("\"operations\"", "\"layers\": [], \"operations\"", "either the list \"layers\", or");
  expect("\"output\": \"logits\"", "\"output\": \"down\"", "not of the input's size: for an image of");
  expect("\"output\": \"logits\"", "\"output\": \"nothing\"", "is no operation of the network");
  expect("\"max_pool2d\"", "\"local_response_norm\"", "there is no type \"local_response_norm\"");
  expect("\"channels\": 2, \"mean\"", "\"channels\": 3, \"mean\"", "the input has 3 channels");
  expect("[0.5, 0.25]", "[0.5]", "a number for each of the 2 channels");
  expect("[0.5, 1]", "[0.5, 0]", "deviations above 0");
  expect("[0.5, 1]", "[0.5, \"x\"]", "must be a list of numbers");
  expect(", \"deviation\": [0.5, 1]", "", "go together");
  expect("\"mean\"", "\"invert\": false, \"mean\"", "go together, and not with \"invert\"");
  expect("\"out_channels\": 1,", "\"out_channels\": 255,", "at most 254 output channels");
  expect("\"type\": \"dice\"", "\"type\": \"softmax cross-entropy\"", "the network has 1");
  expect("[\"inner\", \"image\"]", "[\"inner\"], \"scale_factor\": 2", "its inputs are of different sizes");
  expect("\"output\": \"logits\"", "\"output\": \"rest\"", "is no operation");
  expect("\"kernel_size\": 1 }", "\"kernel_size\": 1 }], \"x\": [", "unknown key \"x\"");
  expect(
    "\"kernel_size\": 1 }", "\"kernel_size\": 1 }], \"output\": \"p\", \"x\": [", "it has the key \"output\" twice");
  std::string sigmoid =
    Change(GraphText,
           "\"kernel_size\": 1 }",
           "\"kernel_size\": 1 }, { \"name\": \"p\", \"type\": \"sigmoid\", \"inputs\": [\"logits\"] }");
  EXPECT_NE(GetRefusal(Change(sigmoid, "\"output\": \"logits\"", "\"output\": \"p\"")).find("has to be logits"),
            std::string::npos);
  for (const std::string moving : { R"("type": "crop", "inputs": ["p", "image"])",
                                    R"("type": "interpolate", "mode": "bilinear", "inputs": ["p", "image"])",
                                    R"("type": "slice_channels", "channels": 1, "inputs": ["p"])",
                                    R"("type": "dropout", "inputs": ["p"])" })
  {
    const std::string moved = Change(
      sigmoid, "\"inputs\": [\"logits\"] }", "\"inputs\": [\"logits\"] }, { \"name\": \"moved\", " + moving + " }");
    EXPECT_NE(GetRefusal(Change(moved, "\"output\": \"logits\"", "\"output\": \"moved\""))
                .find("the output \"moved\" has the values of \"p\", a sigmoid, but has to be logits"),
              std::string::npos)
      << moving;
  }
}

// Files from elsewhere: refused before any memory is taken for what they say.
TEST(NetworkDescription, RefusesHostileGraphs)
{
  const auto expect = [](const std::string & from, const std::string & to, const std::string & reason) {
    const std::string refusal = GetRefusal(Change(GraphText, from, to));
    EXPECT_NE(refusal.find(reason), std::string::npos) << reason << "\nnot in: " << refusal.substr(0, 300);
  };
  expect("\"out_channels\": 8, \"kernel_size\": 3", "\"out_channels\": 65000, \"kernel_size\": 65535", "parameters");
  expect("\"name\": \"inner\"", "\"name\": \"" + std::string(300, 'x') + "\"", "too long");
  const std::string array = "\"parameters\": { \"weight\": \"";
  expect("\"padding\": \"same\"", "\"padding\": \"same\", " + array + std::string(600, 'x') + "\" }", "too long");
  expect("\"padding\": \"same\"", "\"padding\": \"same\", " + array + "training.adam\" }", "model files keep");
  expect(
    "\"out_channels\": 8", "\"out_channels\": " + std::string(1000, '[') + std::string(1000, ']'), "nested deeper");
  std::string many, last = "both";
  for (int i = 0; i < 5000; ++i)
  {
    const std::string name = "r" + std::to_string(i);
    many += "{ \"name\": \"" + name + "\", \"type\": \"relu\", \"inputs\": [\"" + last + "\"] },";
    last = name;
  }
  expect("{ \"name\": \"logits\"", many + "{ \"name\": \"logits\"", "1 to 4096");
  std::string grows, before = "both";
  for (int i = 0; i < 20; ++i)
  {
    const std::string name = "g" + std::to_string(i);
    grows += "{ \"name\": \"" + name + "\", \"type\": \"interpolate\", \"scale_factor\": 256, \"inputs\": [\"" +
             before + "\"] },";
    before = name;
  }
  expect("{ \"name\": \"logits\"", grows + "{ \"name\": \"logits\"", "too many pixels");
}

TEST(NetworkDescription, TakesAnotherLoss)
{
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  network.SetLoss("dice");
  network.classWeights = { 0.25, 3 };
  network.ignoredLabel = 7;
  const NetworkDescription read = NetworkDescription::FromJSON(network.ToJSON());
  EXPECT_EQ(read.loss, NetworkDescription::Loss::Dice);
  EXPECT_EQ(read.classWeights, network.classWeights);
  EXPECT_EQ(read.ignoredLabel, 7);
  EXPECT_EQ(read.GetNumberOfClasses(), 2);
  network.SetLoss("cross-entropy");
  EXPECT_EQ(network.loss, NetworkDescription::Loss::BinaryCrossEntropy);
  EXPECT_THROW(network.SetLoss("hinge"), std::invalid_argument);
}

TEST(NetworkDescription, NamesTheFile)
{
  const test::TemporaryFolder folder("network");
  EXPECT_THROW(NetworkDescription::Load(folder.path), std::invalid_argument);
  const std::string file = folder.path + "/mine.json";
  std::ofstream(file) << "{}";
  try
  {
    NetworkDescription::Load(file);
    ADD_FAILURE();
  }
  catch (const std::invalid_argument & error)
  {
    EXPECT_NE(std::string(error.what()).find(file), std::string::npos);
  }
  std::ofstream(file) << Change("remedios2023", "mine");
  EXPECT_EQ(NetworkDescription::Load(file).name, "mine");
  std::filesystem::resize_file(file, std::uintmax_t{ 1 } << 32); // a slide by mistake; no memory is taken for it
  EXPECT_THROW(NetworkDescription::Load(file), std::invalid_argument);
}

// Closed form: a chain of n convolutions of kernel 3 sees n pixels to each side.
TEST(NetworkDescription, HaloOfPlainConvolutions)
{
  for (int n = 1; n < 6; ++n)
  {
    NetworkDescription network;
    for (int i = 0; i < n; ++i)
    {
      network.layers.push_back({ "c" + std::to_string(i),
                                 Layer::Kind::Convolution,
                                 1,
                                 1,
                                 3,
                                 1,
                                 1,
                                 i + 1 < n ? Layer::Activation::ReLU : Layer::Activation::None,
                                 "" });
    }
    network.Validate();
    EXPECT_EQ(network.GetStride(), 1);
    EXPECT_EQ(network.GetHalo(), n);
  }
}

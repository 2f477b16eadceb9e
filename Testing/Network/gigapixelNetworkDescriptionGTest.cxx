/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "TemporaryFolder.h"
#include "gigapixelNetworkDescription.h"
#include "graph/gigapixelLayerChain.h"
#include "graph/gigapixelNetworkGeometry.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

using namespace gigapixel;

namespace
{

gigapixel::Diagnostic
GetRefusal(const std::string & json)
{
  return gigapixel_test::FindRefusal([&] { NetworkDescription::FromJSON(json); });
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
  const auto expect = [](const std::string & from, const std::string & to, const char * code = "E-NETWORK-FORMAT") {
    const Diagnostic refusal = GetRefusal(Change(from, to));
    EXPECT_EQ(refusal.code, code) << to.substr(0, 300) << ": " << refusal.why;
  };
  expect("\"kernel\": 16", "\"kernal\": 16");
  expect("\"name\": \"remedios2023\",", "");
  expect("\"in\": 6, \"out\": 6, \"kernel\": 4", "\"in\": 5, \"out\": 6, \"kernel\": 4");
  expect("\"add\": \"L1\"", "\"add\": \"L2\"");
  expect("\"add\": \"L1\"", "\"add\": \"L7\"");
  expect("\"kernel\": 8, \"stride\": 8", "\"kernel\": 4, \"stride\": 4");
  expect("\"kernel\": 16", "\"kernel\": 15.5");
  expect("\"kernel\": 16", "\"kernel\": 18");
  expect("\"kernel\": 8, \"stride\": 8", "\"kernel\": 9, \"stride\": 8");
  expect("\"type\": \"convolution\"", "\"type\": \"batch normalisation\"", "E-NETWORK-OPERATION");
  expect("\"type\": \"convolution\"", "\"type\": \"global average pooling\"", "E-NETWORK-OPERATION");
  expect("\"type\": \"convolution\"", "\"type\": \"max pooling\"", "E-NETWORK-OPERATION");
  expect("\"activation\": \"none\"", "\"activation\": \"relu\"");
  expect("binary cross-entropy", "softmax cross-entropy");
  expect("binary cross-entropy", "hinge");
  const std::string loss = "\"ignore unscanned\": false";
  expect(loss, "\"class weights\": [1]");
  expect(loss, "\"class weights\": [1, -2]");
  expect(loss, "\"class weights\": [1e308, 1e308]");
  expect(loss, "\"class weights\": [1e-320, 1e-320]");
  expect(loss, "\"class weights\": [0, 0]");
  expect(loss, "\"class weights\": [0, \"many\"]");
  expect(loss, "\"class weights\": 2");
  expect("\"name\": \"remedios2023\"", "\"name\": \"n\", \"class names\": null");
  expect("\"name\": \"remedios2023\"", "\"name\": \"n\", \"class names\": {}");
  expect("\"layers\": [", "\"layers\": [], \"x\": [");
  expect(loss, "\"ignored label\": 1");
  expect("\"name\": \"L2\"", "\"name\": \"L1\"");
  expect("\"name\": \"L2\"", "\"name\": \"training\"");
  expect("{", "[");
  const std::string nested = std::string(100000, '[') + std::string(100000, ']');
  expect("\"kernel\": 16", "\"kernel\": " + nested);
  expect("\"name\": \"remedios2023\"", "\"name\": " + nested);
  EXPECT_EQ(GetRefusal("3").code, "E-NETWORK-FORMAT");
  EXPECT_EQ(GetRefusal("{ \"name\": \"n\", \"layers\": [] }").code, "E-NETWORK-FORMAT");
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
    const Diagnostic refusal = GetRefusal(Change(from, to));
    EXPECT_EQ(refusal.code, "E-NETWORK-FORMAT");
    EXPECT_LT(refusal.GetText().size(), 320u) << from;
  }
  std::string numbers = "[0";
  for (int i = 0; i < 100000; ++i)
  {
    numbers += ",0";
  }
  const Diagnostic refusal = GetRefusal(Change("\"kernel\": 16", "\"kernel\": " + numbers + "]"));
  EXPECT_EQ(refusal.code, "E-NETWORK-FORMAT");
  EXPECT_LT(refusal.GetText().size(), 320u);
  const std::string kept =
    Change("\"name\": \"remedios2023\"", "\"name\": \"n\", \"provenance\": { \"of\": " + quoted + " }");
  EXPECT_TRUE(GetRefusal(kept).IsEmpty());
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
  EXPECT_EQ(GetRefusal(make(gated, "logits")).code, "E-NETWORK-OPERATION");
  const std::string classes =
    R"({ "name": "one", "type": "adaptive_max_pool2d", "inputs": ["norm"], "output_size": 1 })";
  EXPECT_TRUE(NetworkDescription::FromJSON(make(classes, "one")).LabelsImage()); // it ends behind the pooling
  const std::string broken = R"({ "name": "one", "type": "instance_norm", "inputs": ["norm"], "affin": true })";
  EXPECT_EQ(GetRefusal(make(broken, "one")).code, "E-NETWORK-FORMAT");
  const std::string third = R"({ "name": "one", "type": "group_norm", "inputs": ["norm"], "num_groups": 3 })";
  EXPECT_EQ(GetRefusal(make(third, "one")).code, "E-NETWORK-FORMAT");
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
  EXPECT_EQ(refuse("\"constants\": [\"inner\"]").code, "E-NETWORK-FORMAT");
  EXPECT_EQ(refuse("\"constants\": \"inner.weight\"").code, "E-NETWORK-FORMAT");
  EXPECT_EQ(GetRefusal(Change("\"layers\": [", "\"constants\": [], \"layers\": [")).code, "E-NETWORK-FORMAT");
  // All of them: such a network is computed, and not trained.
  EXPECT_EQ(refuse(R"("constants": ["inner.weight", "inner.bias", "logits.weight", "logits.bias"])").code, "");
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
  EXPECT_EQ(GetRefusal(make(R"(, "input": { "channels": 1, "invert": true })")).code, "E-NETWORK-FORMAT");
}

TEST(NetworkDescription, RefusesGraphsWithTheReason)
{
  const auto expect = [](const std::string & from, const std::string & to, const char * code = "E-NETWORK-FORMAT") {
    const Diagnostic refusal = GetRefusal(Change(GraphText, from, to));
    EXPECT_EQ(refusal.code, code) << to.substr(0, 300) << ": " << refusal.why;
  };
  expect("\"output\": \"logits\",", "");
  expect("\"operations\"", "\"layers\": [], \"operations\"");
  expect("\"output\": \"logits\"", "\"output\": \"down\"");
  expect("\"output\": \"logits\"", "\"output\": \"nothing\"");
  expect("\"max_pool2d\"", "\"local_response_norm\"", "E-NETWORK-OPERATION");
  expect("\"channels\": 2, \"mean\"", "\"channels\": 3, \"mean\"");
  expect("[0.5, 0.25]", "[0.5]");
  expect("[0.5, 1]", "[0.5, 0]");
  expect("[0.5, 1]", "[0.5, \"x\"]");
  expect(", \"deviation\": [0.5, 1]", "");
  expect("\"mean\"", "\"invert\": false, \"mean\"");
  expect("\"out_channels\": 1,", "\"out_channels\": 255,");
  expect("\"type\": \"dice\"", "\"type\": \"softmax cross-entropy\"");
  expect("[\"inner\", \"image\"]", "[\"inner\"], \"scale_factor\": 2");
  expect("\"output\": \"logits\"", "\"output\": \"rest\"");
  expect("\"kernel_size\": 1 }", "\"kernel_size\": 1 }], \"x\": [");
  expect("\"kernel_size\": 1 }", "\"kernel_size\": 1 }], \"output\": \"p\", \"x\": [");
}

// What the output's operations say of its values: it becomes logits.
TEST(NetworkDescription, MakesLogitsOfProbabilities)
{
  const auto change = [](const std::string & operations) {
    const std::string more = Change(GraphText, "\"kernel_size\": 1 }", "\"kernel_size\": 1 }, " + operations);
    return Change(more, "\"output\": \"logits\"", "\"output\": \"p\"");
  };
  const auto getTypes = [&](const std::string & operations) {
    const NetworkGraph       graph = NetworkDescription::FromJSON(change(operations)).graph;
    std::vector<std::string> types;
    for (const std::string * name = &graph.output; *name != "logits";)
    {
      const Operation & operation = graph.operations[graph.GetIndex(*name)];
      types.insert(types.begin(), operation.type);
      name = &operation.inputs.front();
    }
    return types;
  };
  using Types = std::vector<std::string>;
  const std::string sigmoid = R"({ "name": "s", "type": "sigmoid", "inputs": ["logits"] }, )";
  EXPECT_EQ(getTypes(R"({ "name": "p", "type": "sigmoid", "inputs": ["logits"] })"), Types());
  EXPECT_EQ(getTypes(sigmoid + R"({ "name": "p", "type": "crop", "inputs": ["s", "image"] })"), Types{ "crop" });
  EXPECT_EQ(getTypes(sigmoid + R"({ "name": "p", "type": "dropout", "inputs": ["s"] })"),
            (Types{ "sigmoid", "dropout", "logit" }));
  EXPECT_EQ(
    getTypes(sigmoid + R"({ "name": "p", "type": "interpolate", "mode": "bilinear", "inputs": ["s", "image"] })"),
    (Types{ "sigmoid", "interpolate", "logit" }));
  EXPECT_EQ(getTypes(sigmoid + R"({ "name": "p", "type": "mul", "other": 4, "inputs": ["s"] })"),
            (Types{ "sigmoid", "mul", "mul", "logit" }));
  EXPECT_EQ(getTypes(sigmoid + R"({ "name": "p", "type": "sigmoid", "inputs": ["s"] })"),
            (Types{ "sigmoid", "sigmoid", "logit" }));
  for (const char * type : { "tanh", "relu", "softplus", "hardtanh" })
  {
    const std::string bounded = R"({ "name": "p", "inputs": ["logits"], "type": ")" + std::string(type) + "\" }";
    EXPECT_EQ(getTypes(bounded), Types{ type }); // logits that have bounds
  }
}

// Files from elsewhere: refused before any memory is taken for what they say.
TEST(NetworkDescription, RefusesHostileGraphs)
{
  const auto expect = [](const std::string & from, const std::string & to, const char * code = "E-NETWORK-FORMAT") {
    const Diagnostic refusal = GetRefusal(Change(GraphText, from, to));
    EXPECT_EQ(refusal.code, code) << to.substr(0, 300) << ": " << refusal.why;
  };
  expect("\"out_channels\": 8, \"kernel_size\": 3", "\"out_channels\": 65000, \"kernel_size\": 65535");
  expect("\"name\": \"inner\"", "\"name\": \"" + std::string(300, 'x') + "\"");
  const std::string array = "\"parameters\": { \"weight\": \"";
  expect("\"padding\": \"same\"", "\"padding\": \"same\", " + array + std::string(600, 'x') + "\" }");
  expect("\"padding\": \"same\"", "\"padding\": \"same\", " + array + "training.adam\" }");
  expect("\"out_channels\": 8", "\"out_channels\": " + std::string(1000, '[') + std::string(1000, ']'));
  std::string many, last = "both";
  for (int i = 0; i < 5000; ++i)
  {
    const std::string name = "r" + std::to_string(i);
    many += "{ \"name\": \"" + name + "\", \"type\": \"relu\", \"inputs\": [\"" + last + "\"] },";
    last = name;
  }
  expect("{ \"name\": \"logits\"", many + "{ \"name\": \"logits\"");
  std::string grows, before = "both";
  for (int i = 0; i < 20; ++i)
  {
    const std::string name = "g" + std::to_string(i);
    grows += "{ \"name\": \"" + name + "\", \"type\": \"interpolate\", \"scale_factor\": 256, \"inputs\": [\"" +
             before + "\"] },";
    before = name;
  }
  expect("{ \"name\": \"logits\"", grows + "{ \"name\": \"logits\"", "E-NETWORK-IMAGE-SIZE");
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
    EXPECT_EQ(Diagnostic::Of(error).file, file);
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
    ExpandLayers(network);
    network.Validate();
    EXPECT_EQ(network.GetStride(), 1);
    EXPECT_EQ(network.GetHalo(), n);
  }
}

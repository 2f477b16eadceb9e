/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "TemporaryFolder.h"
#include "model/gigapixelInitialWeights.h"
#include "gigapixelModel.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelPrintable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

Model
MakeModel(const std::string & name = "unet:base=4,depth=2")
{
  Model model;
  model.network = NetworkDescription::Load(name);
  model.parameters = ToParameters(model.network, MakeInitialWeights(model.network, 3, { 0.75, 0.25 }));
  return model;
}

/** Mean of squares. */
double
GetMoment(const Parameter & parameter)
{
  double sum = 0;
  for (const float value : parameter.values)
  {
    sum += double{ value } * value;
  }
  return sum / static_cast<double>(parameter.values.size());
}

bool
IsAll(const Parameter & parameter, float wanted)
{
  return std::all_of(parameter.values.begin(), parameter.values.end(), [&](float v) { return v == wanted; });
}

} // namespace

// Variances of many draws: within four standard errors, sqrt(2 / number) of the variance each.
TEST(InitialWeights, OfGraphsKeepTheirMapsScale)
{
  const Model model = MakeModel("resnet18-unet");
  const auto  expect = [&](const std::string & name, double variance) {
    const Parameter & parameter = model.parameters.at(name);
    const double      error = std::sqrt(2.0 / static_cast<double>(parameter.values.size()));
    EXPECT_NEAR(GetMoment(parameter) / variance, 1, 4 * error) << name;
  };
  expect("conv1.weight", 2.0 / (7 * 7 * 3));
  expect("layer1.0.conv1.weight", 2.0 / (9 * 64));
  expect("layer1.0.conv2.weight", 2.0 / (9 * 64)); // through the norm and the addition to the rectifier
  expect("decoder.blocks.0.conv1.0.weight", 2.0 / (9 * 768));
  expect("segmentation_head.0.weight", 1.0 / (9 * 16)); // nothing rectifies the logits
  EXPECT_TRUE(IsAll(model.parameters.at("bn1.weight"), 1));
  EXPECT_TRUE(IsAll(model.parameters.at("layer2.0.bn1.weight"), 1));
  EXPECT_TRUE(IsAll(model.parameters.at("layer2.0.bn2.weight"), 0)); // each block begins as its shortcut
  EXPECT_TRUE(IsAll(model.parameters.at("layer2.0.downsample.1.weight"), 1));
  EXPECT_TRUE(IsAll(model.parameters.at("layer2.0.bn2.bias"), 0));
  EXPECT_TRUE(IsAll(model.parameters.at("layer2.0.bn2.running_mean"), 0));
  EXPECT_TRUE(IsAll(model.parameters.at("layer2.0.bn2.running_var"), 1));
  EXPECT_FLOAT_EQ(model.parameters.at("segmentation_head.0.bias").values.front(), std::log(0.25f / 0.75f));
}

TEST(InitialWeights, OfGraphsDependOnTheSeedAndTheirPlace)
{
  const NetworkDescription  network = NetworkDescription::Load("unet:norm=none");
  const std::vector<double> weights = MakeInitialWeights(network, 3, { 0.5, 0.5 });
  ASSERT_EQ(static_cast<std::int64_t>(weights.size()), network.GetNumberOfParameters());
  EXPECT_EQ(weights, MakeInitialWeights(network, 3, { 0.5, 0.5 }));
  EXPECT_NE(weights, MakeInitialWeights(network, 4, { 0.5, 0.5 }));
  EXPECT_TRUE(std::all_of(weights.begin(), weights.end(), [](double w) { return w == static_cast<float>(w); }));
  // Kernels that touch each other: each output is made of one pixel, and is not rectified.
  const auto parameters = ToParameters(network, weights);
  EXPECT_NEAR(GetMoment(parameters.at("up.3.weight")) * 256, 1, 4 * std::sqrt(2.0 / (4 * 256 * 128)));
  EXPECT_TRUE(IsAll(parameters.at("up.3.bias"), 0));
  // The first convolution is the same in a network that goes on otherwise.
  const NetworkDescription other = NetworkDescription::Load("unet:norm=none,depth=2,classes=5");
  EXPECT_EQ(ToParameters(other, MakeInitialWeights(other, 3, std::vector<double>(5, 0.2))).at("enc.0.0.weight").values,
            parameters.at("enc.0.0.weight").values);
}

TEST(GraphModel, SurvivesItsFile)
{
  const TemporaryFolder folder("graph-model");
  const std::string     path = folder.path + "/m.safetensors";
  const Model           model = MakeModel();
  model.Save(path);
  const Model loaded = Model::Load(path);
  EXPECT_EQ(loaded.network.ToJSON(), model.network.ToJSON());
  ASSERT_EQ(loaded.parameters.size(), model.parameters.size());
  for (const auto & [name, parameter] : model.parameters)
  {
    EXPECT_EQ(loaded.parameters.at(name).shape, parameter.shape) << name;
    EXPECT_EQ(loaded.parameters.at(name).values, parameter.values) << name;
  }
  const std::vector<double> array = ToArray(loaded);
  EXPECT_EQ(static_cast<std::int64_t>(array.size()), model.network.GetNumberOfParameters());
  EXPECT_EQ(ToParameters(loaded.network, array).at("dec.0.1.running_var").values,
            model.parameters.at("dec.0.1.running_var").values);
  // Programs that know layers alone say that a newer one wrote it.
  EXPECT_NE(ReadAll(path).find("\"gigapixel\":\"2\""), std::string::npos);
}

TEST(GraphModel, RefusesNetworksThatComputeNothing)
{
  const auto refusal =
    [](const std::string & operations, const std::string & output, const std::string & input = "{}") {
      const std::string begin = R"({ "name": "n", "operations": [{ "name": "image", "type": "input", "channels": 1 })";
      return gigapixel_test::FindRefusal([&] {
               NetworkDescription::FromJSON(begin + operations + R"(], "output": ")" + output + R"(", "input": )" +
                                            input + "}");
             })
        .code;
    };
  const std::string convolution =
    R"(, { "name": "x", "type": "conv2d", "inputs": ["image"], "out_channels": 1, "kernel_size": 1 })";
  const std::string doubled = R"(, { "name": "y", "type": "mul", "inputs": ["image"], "other": 2 })";
  EXPECT_EQ(refusal(convolution, "x"), "");
  EXPECT_EQ(refusal(convolution, "image"), "E-NETWORK-FORMAT");
  EXPECT_EQ(refusal(doubled, "y"), "E-NETWORK-FORMAT");
  EXPECT_EQ(refusal(convolution, "x", R"({ "mean": [0], "deviation": [1e-300] })"), "E-NETWORK-FORMAT");
}

TEST(GraphModel, WarnsOfWeightsThatSayNothing)
{
  for (const char * name : { "unet:base=2,depth=1", "remedios2023" })
  {
    Model model = MakeModel(name);
    EXPECT_EQ(model.GetWarning(), "");
    const std::string last =
      model.network.layers.empty() ? model.network.graph.output : model.network.layers.back().name;
    auto & values = model.parameters.at(last + ".weight").values;
    std::fill(values.begin(), values.end(), 0.0f);
    EXPECT_EQ(model.GetWarning(),
              "the weights \"" + last +
                ".weight\" of the model are all 0: it finds the same at every pixel, whatever is there");
  }
}

TEST(Printable, EscapesWhatIsNoText)
{
  EXPECT_EQ(GetPrintable("Größe 3 µm, 画像"), "Größe 3 µm, 画像");
  EXPECT_EQ(GetPrintable("a\x1b[31m\n\x7f"), "a\\x1b[31m\\x0a\\x7f");
  EXPECT_EQ(GetPrintable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(GetPrintable("\xc2"), "\\xc2");                            // cut off
  EXPECT_EQ(GetPrintable("\xc0\xaf"), "\\xc0\\xaf");                   // longer than it has to be
  EXPECT_EQ(GetPrintable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");          // likewise
  EXPECT_EQ(GetPrintable("\xed\xa0\x80"), "\\xed\\xa0\\x80");          // half of a pair
  EXPECT_EQ(GetPrintable("\xc2\x9b"), "\\xc2\\x9b");                   // a control character, too
  EXPECT_EQ(GetPrintable("\xe2\x80\xae"), "\\xe2\\x80\\xae");          // right to left, from here on
  EXPECT_EQ(GetPrintable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); // beyond the last one
}

TEST(Printable, LeavesTheMiddleOfLongTextsOut)
{
  const std::string beginning = "slide.tif: it is ", end = "; get it again";
  const std::string whole = beginning + std::string(MostPrintableBytes - beginning.size() - end.size(), 'x') + end;
  EXPECT_EQ(GetPrintable(whole), whole);
  for (const std::size_t bytes : { 5000, 5001, 90000 })
  {
    std::string middle;
    while (middle.size() < bytes)
    {
      middle += "µ";
    }
    const std::string cut = GetPrintable(beginning + middle + (bytes % 2 == 0 ? end : ' ' + end));
    EXPECT_LE(cut.size(), MostPrintableBytes + 5);
    EXPECT_EQ(cut.find(beginning + "µ"), 0u);
    EXPECT_EQ(cut.substr(cut.size() - end.size()), end);
    EXPECT_NE(cut.find("µ ... µ"), std::string::npos);
    EXPECT_EQ(cut.find('\\'), std::string::npos) << "a character was cut";
  }
}

TEST(GraphModel, RefusesWrongParameters)
{
  const TemporaryFolder folder("graph-model");
  const std::string     path = folder.path + "/m.safetensors";
  const auto refuse = [&](const std::function<void(Model &)> & change, const char * code, const char * value) {
    Model model = MakeModel();
    change(model);
    const Diagnostic refusal = gigapixel_test::FindRefusal([&] { model.Save(path); });
    EXPECT_EQ(refusal.code, code) << refusal.why;
    EXPECT_EQ(refusal.value, value) << refusal.why;
  };
  refuse([](Model & model) { model.parameters.erase("enc.0.1.running_mean"); },
         "E-WEIGHTS-MISMATCH",
         "enc.0.1.running_mean");
  refuse([](Model & model) { model.parameters["enc.9.0.weight"] = { { 1 }, { 1 } }; }, "E-WEIGHTS-MISMATCH", "");
  refuse(
    [](Model & model) {
      model.parameters["last.weight"].shape = { 4, 1, 1, 1 };
    },
    "E-WEIGHTS-MISMATCH",
    "last.weight");
  refuse([](Model & model) { model.parameters["up.0.bias"].values[1] = NAN; }, "E-NOT-FINITE", "up.0.bias");
  refuse([](Model & model) { model.parameters["enc.0.1.running_var"].values[1] = -1; },
         "E-MODEL-FORMAT",
         "enc.0.1.running_var");
  EXPECT_FALSE(std::filesystem::exists(path));
}

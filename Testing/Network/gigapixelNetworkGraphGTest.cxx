/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "gigapixelNetworkGraph.h"
#include "graph/gigapixelGraphGeometry.h"
#include "schedule/gigapixelBlockPlacement.h"
#include "schedule/gigapixelTileProgram.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

using namespace gigapixel;

namespace
{

/** A U-Net of one level with odd sizes taken care of: convolution, pooling, transposed convolution, skip. */
const char * const SmallUNet = R"([
  { "name": "image", "type": "input", "channels": 3 },
  { "name": "down", "type": "conv2d", "inputs": ["image"], "out_channels": 4, "kernel_size": 3, "padding": 1 },
  { "name": "down.relu", "type": "relu", "inputs": ["down"] },
  { "name": "pool", "type": "max_pool2d", "inputs": ["down.relu"], "kernel_size": 2 },
  { "name": "inner", "type": "conv2d", "inputs": ["pool"], "out_channels": 8, "kernel_size": [3, 3], "padding": [1, 1],
    "bias": false },
  { "name": "inner.norm", "type": "batch_norm", "inputs": ["inner"] },
  { "name": "up", "type": "conv_transpose2d", "inputs": ["inner.norm"], "out_channels": 4, "kernel_size": 2, "stride": 2 },
  { "name": "up.pad", "type": "pad", "inputs": ["up", "down.relu"] },
  { "name": "cat", "type": "cat", "inputs": ["down.relu", "up.pad"] },
  { "name": "logits", "type": "conv2d", "inputs": ["cat"], "out_channels": 1, "kernel_size": 1 }
])";

/** A graph of one operation behind the input. */
NetworkGraph
MakeSingle(const std::string & attributes)
{
  return NetworkGraph::FromJSON(R"([{ "name": "image", "type": "input", "channels": 2 },
    { "name": "x", "inputs": ["image"], )" +
                                  attributes + "}]",
                                "x");
}

std::int64_t
GetOutputSize(const std::string & attributes, std::int64_t side)
{
  const NetworkGraph graph = MakeSingle(attributes);
  return GraphGeometry(graph, { side, side }).GetSize(1)[0];
}

gigapixel::Diagnostic
GetRefusal(const std::string & operations, const std::string & output = "x")
{
  return gigapixel_test::FindRefusal([&] { NetworkGraph::FromJSON(operations, output); });
}

gigapixel::Diagnostic
GetRefusalOf(const std::string & attributes)
{
  return GetRefusal(R"([{ "name": "image", "type": "input", "channels": 6 },
    { "name": "x", "inputs": ["image"], )" +
                    attributes + "}]");
}

} // namespace

TEST(NetworkGraph, IsTheSameAfterARoundTripThroughJSON)
{
  const NetworkGraph graph = NetworkGraph::FromJSON(SmallUNet, "logits");
  const NetworkGraph again = NetworkGraph::FromJSON(graph.ToJSON(), graph.output);
  EXPECT_EQ(again.ToJSON(), graph.ToJSON());
  ASSERT_EQ(again.operations.size(), graph.operations.size());
  for (std::size_t i = 0; i < graph.operations.size(); ++i)
  {
    EXPECT_EQ(again.operations[i].inputs, graph.operations[i].inputs);
    EXPECT_EQ(again.operations[i].parameters, graph.operations[i].parameters);
    EXPECT_EQ(again.operations[i].attributes, graph.operations[i].attributes);
  }
}

TEST(NetworkGraph, ListsParametersInTheOrderOfTheOperations)
{
  const auto                     parameters = NetworkGraph::FromJSON(SmallUNet, "logits").GetParameters();
  const std::vector<std::string> names{ "down.weight",
                                        "down.bias",
                                        "inner.weight",
                                        "inner.norm.weight",
                                        "inner.norm.bias",
                                        "inner.norm.running_mean",
                                        "inner.norm.running_var",
                                        "up.weight",
                                        "up.bias",
                                        "logits.weight",
                                        "logits.bias" };
  ASSERT_EQ(parameters.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
  {
    EXPECT_EQ(parameters[i].name, names[i]);
    EXPECT_EQ(parameters[i].trained, names[i].find("running") == std::string::npos) << names[i];
  }
  EXPECT_EQ(parameters[0].shape, (std::vector<std::int64_t>{ 4, 3, 3, 3 }));
  EXPECT_EQ(parameters[7].shape, (std::vector<std::int64_t>{ 8, 4, 2, 2 })); // in, out: as PyTorch
}

TEST(NetworkGraph, SharesArraysOfOneName)
{
  const char * const shared = R"([{ "name": "image", "type": "input", "channels": 2 },
    { "name": "a", "type": "conv2d", "inputs": ["image"], "out_channels": 2, "kernel_size": 3, "padding": 1,
      "parameters": { "weight": "w", "bias": "b" } },
    { "name": "x", "type": "conv2d", "inputs": ["a"], "out_channels": 2, "kernel_size": 3, "padding": 1,
      "parameters": { "weight": "w", "bias": "b" } }])";
  EXPECT_EQ(NetworkGraph::FromJSON(shared, "x").GetParameters().size(), 2u);
}

TEST(NetworkGraph, RefusesWhatCannotBeComputedInOneSentence)
{
  const auto expect = [](const Diagnostic & refusal, const char * code = "E-NETWORK-FORMAT") {
    EXPECT_EQ(refusal.code, code) << refusal.why;
    EXPECT_LT(refusal.why.size(), 600u) << refusal.why; // the names of all types take 500
    EXPECT_EQ(refusal.why.find('\x1b'), std::string::npos) << refusal.why;
  };
  expect(GetRefusalOf(R"("type": "convolution")"), "E-NETWORK-OPERATION");
  expect(GetRefusalOf(R"("type": "conv2d", "kernel_size": 3)"));
  expect(GetRefusalOf(R"("type": "conv2d", "out_channels": 4, "kernel_size": 3, "strides": 2)"));
  expect(GetRefusalOf(R"("type": "conv2d", "out_channels": 4, "kernel_size": 0)"));
  expect(GetRefusalOf(R"("type": "conv2d", "out_channels": 4, "kernel_size": [3, 3, 3])"));
  expect(GetRefusalOf(R"("type": "conv2d", "out_channels": 4, "kernel_size": 3, "padding": 3)"));
  expect(GetRefusalOf(R"("type": "conv2d", "out_channels": 4, "kernel_size": 3, "padding": "valid")"));
  expect(GetRefusalOf(R"("type": "conv2d", "out_channels": 4, "kernel_size": 3, "groups": 4)"));
  expect(GetRefusalOf(R"("type": "conv2d", "out_channels": 4, "kernel_size": 9223372036854775808)"));
  expect(GetRefusalOf(R"("type": "conv2d", "out_channels": 4, "kernel_size": [3, 18446744073709551615])"));
  expect(GetRefusalOf(R"("type": "batch_norm", "eps": -1e-5)"));
  expect(GetRefusalOf(R"("type": "layer_norm", "eps": 0)"));
  expect(GetRefusalOf(R"("type": "mul", "other": 1e300)"));
  expect(GetRefusalOf(R"("type": "pad", "value": -1e39)"));
  expect(GetRefusalOf(R"("type": "batch_norm", "parameters": { "weight": "w", "running_var": "w" })"));
  expect(GetRefusal("[{ \"name\": \"\\u001b[31m\", \"type\": \"input\", \"channels\": 1 }]"));
  expect(GetRefusalOf(R"("type": "max_pool2d", "kernel_size": 3, "padding": 2)"));
  expect(GetRefusalOf(R"("type": "interpolate")"));
  expect(GetRefusalOf(R"("type": "add")"));
  expect(GetRefusalOf(R"("type": "batch_norm", "parameters": { "scale": "s" })"));
  expect(GetRefusal(R"([{ "name": "x", "type": "relu", "inputs": [] }])"));
  std::string inputs;
  for (int i = 0; i < 65; ++i)
  {
    inputs += i > 0 ? R"(, "image")" : R"("image")";
  }
  expect(GetRefusal(R"([{ "name": "x", "type": "cat", "inputs": [)" + inputs + "] }]"));
  expect(GetRefusal(R"([{ "name": "x", "type": "relu", "inputs": ["y"] }])"));
  expect(GetRefusal(R"([{ "name": "image", "type": "input", "channels": 1 }])"));
  expect(GetRefusal("{}"));
}

TEST(NetworkGraph, RefusesNumbersThatAreNone)
{
  NetworkGraph graph = MakeSingle(R"("type": "batch_norm")");
  for (const double eps : { std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity() })
  {
    graph.operations.back().attributes["eps"] = eps;
    EXPECT_THROW(graph.Validate(), std::invalid_argument) << eps;
  }
}

TEST(GraphGeometry, GivesSizesAsPyTorchComputesThem)
{
  // By the formulas in PyTorch's documentation of Conv2d, ConvTranspose2d, MaxPool2d and Upsample.
  EXPECT_EQ(GetOutputSize(R"("type": "conv2d", "out_channels": 1, "kernel_size": 7, "stride": 2, "padding": 3)", 501),
            251);
  EXPECT_EQ(
    GetOutputSize(R"("type": "conv2d", "out_channels": 1, "kernel_size": 3, "dilation": 12, "padding": 12)", 501), 501);
  EXPECT_EQ(GetOutputSize(R"("type": "conv2d", "out_channels": 1, "kernel_size": 4, "padding": "same")", 501), 501);
  EXPECT_EQ(GetOutputSize(R"("type": "conv_transpose2d", "out_channels": 1, "kernel_size": 3, "stride": 2, "padding": 1,
                           "output_padding": 1)",
                          251),
            502);
  EXPECT_EQ(GetOutputSize(R"("type": "max_pool2d", "kernel_size": 2)", 501), 250);
  EXPECT_EQ(GetOutputSize(R"("type": "max_pool2d", "kernel_size": 2, "ceil_mode": true)", 501), 251);
  // A window that would begin behind the padded map is left out.
  EXPECT_EQ(GetOutputSize(R"("type": "max_pool2d", "kernel_size": 2, "stride": 3, "padding": 1, "ceil_mode": true)", 5),
            2);
  EXPECT_EQ(GetOutputSize(R"("type": "interpolate", "scale_factor": 1.5)", 501), 751);
  EXPECT_EQ(GetOutputSize(R"("type": "interpolate", "size": [77, 77])", 501), 77);
  EXPECT_EQ(GetOutputSize(R"("type": "pad", "multiple": 32)", 501), 512);
  EXPECT_EQ(GetOutputSize(R"("type": "slice", "start": 1, "step": 2)", 501), 250);
}

TEST(GraphGeometry, SaysWhichImagesAreTooSmall)
{
  const NetworkGraph graph = MakeSingle(R"("type": "conv2d", "out_channels": 1, "kernel_size": 7)");
  EXPECT_NO_THROW(GraphGeometry(graph, { 7, 7 }));
  EXPECT_THROW(GraphGeometry(graph, { 6, 7 }), std::invalid_argument);
}

TEST(GraphGeometry, ClipsPartsToTheRealMaps)
{
  const NetworkGraph  graph = NetworkGraph::FromJSON(SmallUNet, "logits");
  const GraphGeometry geometry(graph, { 101, 53 });
  const auto          boxes = geometry.GetRequired(geometry.GetOutput(), { Interval{ 40, 60 }, Interval{ 33, 53 } });
  // Rows 40..59 come from rows 20..29 of the inner map, these from 19..30 of the pooled one, and those from 37..62 of
  // the image; columns end where the image does: 53 pixels, 26 pooled ones, and one that is padded.
  EXPECT_EQ((*boxes[graph.GetIndex("inner")])[0], (Interval{ 20, 30 }));
  EXPECT_EQ((*boxes[graph.GetIndex("pool")])[0], (Interval{ 19, 31 }));
  EXPECT_EQ((*boxes[graph.GetIndex("image")])[0], (Interval{ 37, 63 }));
  EXPECT_EQ((*boxes[graph.GetIndex("up")])[1], (Interval{ 33, 52 }));
  EXPECT_EQ((*boxes[graph.GetIndex("inner")])[1], (Interval{ 16, 26 }));
  EXPECT_EQ((*boxes[graph.GetIndex("image")])[1], (Interval{ 29, 53 }));
  EXPECT_EQ(GetStride(graph), 2);
  EXPECT_EQ(GetHalo(graph), 3);
}

// With aligned corners output i lies at i (n / 4 - 1) / (n - 1) of n / 4 pooled pixels, that is at i / 4 where the map
// begins and 3 / 4 before it where it ends: what the convolution asks for at i = 4 k - 2 lies between the pooled pixels
// k - 1 and k in the middle, but k - 2 and k - 1 at the end.
TEST(GraphGeometry, HaloIsTheGreatestBetweenTheEnds)
{
  const NetworkGraph graph = NetworkGraph::FromJSON(R"([
    { "name": "image", "type": "input", "channels": 1 },
    { "name": "pool", "type": "avg_pool2d", "inputs": ["image"], "kernel_size": 4 },
    { "name": "up", "type": "interpolate", "inputs": ["pool", "image"], "mode": "bilinear", "align_corners": true },
    { "name": "logits", "type": "conv2d", "inputs": ["up"], "out_channels": 1, "kernel_size": 5, "padding": 2 } ])",
                                                    "logits");
  EXPECT_EQ(GetStride(graph), 4);
  EXPECT_EQ(GetHalo(graph), 8);
}

// A pixel of the image is 4 x 4 of the map, of which the convolution sees three more on each side.
TEST(GraphGeometry, HaloOfWhatIsPooledFromAMapLargerThanTheImage)
{
  const NetworkGraph graph = NetworkGraph::FromJSON(R"([
    { "name": "image", "type": "input", "channels": 1 },
    { "name": "up", "type": "interpolate", "inputs": ["image"], "scale_factor": 4 },
    { "name": "wide", "type": "conv2d", "inputs": ["up"], "out_channels": 2, "kernel_size": 7, "padding": 3 },
    { "name": "mean", "type": "adaptive_avg_pool2d", "inputs": ["wide"], "output_size": 1 },
    { "name": "logit", "type": "conv2d", "inputs": ["mean"], "out_channels": 1, "kernel_size": 1 } ])",
                                                    "logit");
  EXPECT_EQ(GetHalo(graph), 1);
}

TEST(TileProgram, HasOneSignatureForTilesThatAreTheSameComputation)
{
  const NetworkGraph  graph = NetworkGraph::FromJSON(SmallUNet, "logits");
  const GraphGeometry geometry(graph, { 101, 101 });
  const auto          make = [&](std::int64_t y, std::int64_t x) {
    return TileProgram::Make(geometry, { Interval{ y, y + 10 }, Interval{ x, x + 10 } }, true);
  };
  const auto inner = make(40, 40).signature;
  EXPECT_EQ(make(50, 40).signature, inner);
  EXPECT_EQ(make(40, 62).signature, inner);
  EXPECT_NE(make(41, 40).signature, inner) << "pooling begins at another place";
  EXPECT_NE(make(0, 40).signature, inner) << "the convolution meets the upper border";
  EXPECT_NE(make(91, 40).signature, inner);
  EXPECT_NE(make(40, 90).signature, inner) << "the upsampled map is padded there";
}

TEST(TileProgram, OverwritesOnlyWhatNobodyNeeds)
{
  const NetworkGraph  graph = NetworkGraph::FromJSON(SmallUNet, "logits");
  const GraphGeometry geometry(graph, { 64, 64 });
  const auto          program = TileProgram::Make(geometry, { Interval{ 0, 64 }, Interval{ 0, 64 } }, true);
  ASSERT_EQ(program.steps.size(), graph.operations.size());
  EXPECT_TRUE(program.steps[graph.GetIndex("down.relu")].inPlace);
  EXPECT_FALSE(program.steps[graph.GetIndex("image")].needsGradient);
  EXPECT_TRUE(program.steps[graph.GetIndex("pool")].needsGradient);
}

TEST(TileProgram, OverwritesInputsWithoutABackwardPassThatNeedsThem)
{
  const NetworkGraph  graph = NetworkGraph::FromJSON(R"([{ "name": "image", "type": "input", "channels": 2 },
    { "name": "a", "type": "conv2d", "inputs": ["image"], "out_channels": 2, "kernel_size": 1 },
    { "name": "x", "type": "leaky_relu", "inputs": ["a"] }])",
                                                    "x");
  const GraphGeometry geometry(graph, { 8, 8 });
  const Box           all{ Interval{ 0, 8 }, Interval{ 0, 8 } };
  EXPECT_FALSE(TileProgram::Make(geometry, all, true).steps[2].inPlace);
  EXPECT_TRUE(TileProgram::Make(geometry, all, false).steps[2].inPlace);
}

TEST(BlockPlacement, TakesTheFirstGapAndRoundsSizes)
{
  BlockPlacement     blocks;
  const std::int64_t first = blocks.Take(1027 * 1027 * 64), second = blocks.Take(100000), third = blocks.Take(1 << 20);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(first % BlockPlacement::Alignment + second % BlockPlacement::Alignment + third % BlockPlacement::Alignment,
            0);
  const std::int64_t peak = blocks.GetPeak();
  EXPECT_LE(peak, (1027 * 1027 * 64 + 100000 + (1 << 20)) / 64.0 * 65);
  blocks.Give(first);
  EXPECT_EQ(blocks.Take(1027 * 1028 * 64), first); // a row more
  blocks.Give(second);
  blocks.Give(first);
  EXPECT_EQ(blocks.Take(1 << 20), 0); // the gaps are one, and its begin is taken
  blocks.Give(0);
  blocks.Give(third);
  EXPECT_EQ(blocks.Take(1), 0);
  EXPECT_EQ(blocks.GetPeak(), peak);
}

TEST(TileProgram, CountsOperations)
{
  const NetworkGraph  graph = MakeSingle(R"("type": "conv2d", "out_channels": 5, "kernel_size": [3, 1])");
  const GraphGeometry geometry(graph, { 12, 10 });
  const auto          program = TileProgram::Make(geometry, { Interval{ 0, 10 }, Interval{ 0, 10 } }, false);
  EXPECT_EQ(program.GetOperations(graph), 2.0 * 3 * 2 * 5 * 100);
  // In the arena's blocks of 64 bytes.
  EXPECT_EQ(program.GetPeakBytes(graph, false, 4), 4 * 2 * 120 + 2048);
}

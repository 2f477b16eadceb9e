/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What the plan counts for every operation, beside what the executor takes.
#include "BFloat16.h"
#include "GraphCases.h"

#include <gtest/gtest.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr std::int64_t Channels = 16;
constexpr Size         ImageSize{ 310, 290 };

/** input -> a point convolution -> the operation -> a point convolution: the operation's maps are the most that the
 * tile takes. */
NetworkGraph
MakeHeavyGraph(const OperationCase & test, Attributes attributes)
{
  if (test.type == "prelu" && attributes.count("num_parameters") > 0)
  {
    attributes["num_parameters"] = Channels;
  }
  NetworkGraph graph;
  const auto   input = Append(graph, "input", {}, { { "channels", std::int64_t(2) } });
  const auto   first = AppendConvolution(graph, input, Channels, 1, 0);
  auto         tested = Append(graph, test.type, AppendInputs(graph, test, first, Channels), attributes);
  if (test.type == "channel_mean" ||
      test.type == "channel_max") // oneDNN makes sixteen channels of the one that a convolution would read
  {
    tested = Append(graph, "mul", { first, tested }, {});
  }
  AppendConvolution(graph, tested, 1, 1, 0);
  return graph;
}

/** What of its inputs no window sees makes oneDNN compute from a copy of all windows, which no plan knows of. */
bool
LeavesPixelsOut(const Operation & operation)
{
  bool leaves = false;
  for (int axis = 0; operation.type == "conv2d" && axis < operation.axes; ++axis)
  {
    leaves = leaves || operation.GetAlong("stride", axis) > operation.GetAlong("kernel_size", axis);
  }
  return leaves;
}

class OperationMemory : public testing::TestWithParam<std::tuple<OperationCase, Precision>>
{
};

/** Most bytes that a tile takes. */
double
Measure(const NetworkDescription &                 network,
        const std::shared_ptr<const TileProgram> & program,
        bool                                       training,
        Precision                                  precision)
{
  const auto passes = MakeTorchGraphPasses(network, { -1, precision });
  passes->SetParameters(MakeParameters(network.graph, 2));
  passes->SetMaskSeed(1);
  const LabeledImage image = MakeImage(ImageSize, network.channels, 2, 1);
  FixedPointSum      sums(passes->GetNumberOfSums());
  LossTerms          terms;
  terms.weights = { 1, 1 };
  LossSum  loss;
  TileData data;
  SetTile(data, image, network.channels, program);
  std::vector<float> probabilities(GetNumberOfPixels(program->core));
  if (training)
  {
    passes->AddGradient(data, terms, 1, loss, sums);
  }
  else
  {
    passes->Predict(data, PixelValue::Probability, probabilities.data(), program->core[1].GetLength());
  }
  return static_cast<double>(passes->GetPeakBytes());
}

} // namespace

TEST_P(OperationMemory, IsAsEstimated)
{
  const auto [test, precision] = GetParam();
  for (std::size_t i = 0; i < test.variants.size(); ++i)
  {
    const NetworkDescription network = MakeNetwork(MakeHeavyGraph(test, test.variants[i]));
    const GraphGeometry      geometry(network.graph, { ImageSize.height, ImageSize.width });
    const Extent             size = geometry.GetSize(geometry.GetOutput());
    // Labels are the image's first ones, whatever the output's size.
    const std::int64_t height = std::min(size[0], ImageSize.height), width = std::min(size[1], ImageSize.width);
    const Box          whole{ Interval{ 0, height }, { 0, width } };
    const Box          inner{ Interval{ height / 15, height - height / 12 }, { width / 13, width - width / 14 } };
    for (const Box & core : { whole, inner })
    {
      for (const bool training : { false, true })
      {
        const auto   program = std::make_shared<TileProgram>(TileProgram::Make(geometry, core, training));
        const double taken = Measure(network, program, training, precision);
        const double estimated =
          static_cast<double>(program->GetPeakBytes(network.graph, training, GetValueBytes(precision)));
        const Operation & operation = network.graph.operations[network.graph.operations.size() - 2];
        // In bf16 oneDNN takes scratch memory of its own. Copies that only some tiles need are counted for all.
        const double least = LeavesPixelsOut(operation) ? 0.78 : precision == Precision::Float ? 0.95 : 0.9;
        const double most = 1.75;
        EXPECT_GE(estimated, least * taken)
          << "variant " << i << (core == whole ? ", whole" : ", inner") << (training ? ", training" : ", inference");
        EXPECT_LE(estimated, most * taken + 4096)
          << "variant " << i << (core == whole ? ", whole" : ", inner") << (training ? ", training" : ", inference");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         OperationMemory,
                         testing::Combine(testing::ValuesIn(GetImageCases()), testing::ValuesIn(GetGraphPrecisions())),
                         [](const auto & info) {
                           return std::get<0>(info.param).name + "_" + GetName(std::get<1>(info.param));
                         });

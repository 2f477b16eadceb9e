/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Every operation in tiles, forward and backward, against autograd on the whole image.
#include "BFloat16.h"
#include "GraphCases.h"
#include "TestDevice.h"
#include "execute/gigapixelTorchModule.h"

#include <gtest/gtest.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

class GraphOperations : public testing::TestWithParam<OperationCase>
{
};

/** Each variant of the operation, on whole images and in tiles. */
template <typename F>
void
ForEachVariant(const OperationCase & test, const F & f)
{
  for (std::size_t i = 0; i < test.variants.size(); ++i)
  {
    SCOPED_TRACE("variant " + std::to_string(i));
    const NetworkDescription  network = MakeNetwork(MakeGraph(test, test.variants[i]));
    const std::vector<double> parameters = MakeParameters(network.graph, 3);
    const LabeledImage        image = MakeImage(test.GetImageSize(), network.channels, 2, 5);
    f(network, parameters, image);
  }
}

/** One tile, and several. */
std::vector<std::int64_t>
GetSides(const NetworkDescription & network)
{
  return network.graph.GetNumberOfAxes() == 2 ? std::vector<std::int64_t>{ 40, 9 } : std::vector<std::int64_t>{ 12, 5 };
}

Extent
GetTile(const NetworkDescription & network, std::int64_t side)
{
  return Extent(network.graph.GetNumberOfAxes(), side);
}

Extent
GetExtent(const NetworkDescription & network, const LabeledImage & image)
{
  return ToExtent(image.size, network.graph.GetNumberOfAxes());
}

TEST_P(GraphOperations, InDoubleTilesAreTheWholeImage)
{
  ForEachVariant(GetParam(), [](const auto & network, const auto & parameters, const auto & image) {
    const GraphResult           reference = ComputeReference(network, parameters, image, at::kDouble);
    const std::vector<Extent>   ofImages{ { Height, Width }, { 16, 12 }, { 5, 7 }, { 3, 2 } };
    const std::vector<Extent>   ofVolumes{ { 9, 12, 11 }, { 7, 6, 8 }, { 2, 5, 3 } };
    const std::vector<Extent> & tiles = network.graph.GetNumberOfAxes() == 2 ? ofImages : ofVolumes;
    ForEachOperators([&](GraphOperators operators) {
      // What a part of a map needs depends on no operator: of others tiles of one size do.
      const bool few = operators != GraphOperators::OfDevice;
      for (const Extent & tile : few ? std::vector<Extent>{ tiles[1] } : tiles)
      {
        const GraphResult result = ComputeInTiles(network, parameters, image, Precision::Double, tile);
        const Difference  difference = Compare(network.graph, result, reference);
        EXPECT_LE(difference.loss, 1e-12) << "tiles of " << ToText(tile);
        EXPECT_LE(difference.gradient, 1e-12) << difference.array << ", tiles of " << ToText(tile);
        EXPECT_LE(difference.probability, 1e-7) << "tiles of " << ToText(tile); // which are float
      }
    });
  });
}

TEST_P(GraphOperations, InFloatTilesAreAsGoodAsEager)
{
  ForEachVariant(GetParam(), [](const auto & network, const auto & parameters, const auto & image) {
    const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
    const Difference  eager =
      Compare(network.graph, ComputeReference(network, parameters, image, at::kFloat), reference);
    ForEachOperators([&](GraphOperators) {
      for (const std::int64_t side : GetSides(network))
      {
        const GraphResult result = ComputeInTiles(network, parameters, image, Precision::Float, GetTile(network, side));
        const Difference  difference = Compare(network.graph, result, reference);
        EXPECT_LE(difference.gradient, std::max(4 * eager.gradient, 1e-5)) << difference.array << ", tiles of " << side;
        EXPECT_LE(difference.probability, std::max(4 * eager.probability, 1e-5)) << "tiles of " << side;
      }
    });
  });
}

// The CPU's sums differ in their last bits alone; and nothing there adds in another order the next time.
TEST_P(GraphOperations, OnAGpuAreThoseOfTheWholeImage)
{
  if (const std::string problem = TorchModule::Get().getGpuProblem(0); !problem.empty())
  {
    GTEST_SKIP() << problem;
  }
  // In LibTorch's kernels of these for CUDA a sixth is a float.
  const bool   hasFloat = GetParam().name.rfind("hards", 0) == 0;
  const double inDouble = hasFloat ? 1e-6 : 1e-12;
  ForEachVariant(GetParam(), [inDouble](const auto & network, const auto & parameters, const auto & image) {
    const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
    const Difference  eager =
      Compare(network.graph, ComputeReference(network, parameters, image, at::kFloat), reference);
    for (const std::int64_t side : GetSides(network))
    {
      const Extent tile = GetTile(network, side);
      for (const Precision precision : { Precision::Double, Precision::Float })
      {
        const auto        compute = [&] { return ComputeInTiles(network, parameters, image, precision, tile, {}, 0); };
        const GraphResult result = compute();
        const Difference  difference = Compare(network.graph, result, reference);
        const double      tolerance = precision == Precision::Double ? inDouble : std::max(4 * eager.gradient, 1e-5);
        EXPECT_LE(difference.gradient, tolerance) << difference.array << ", tiles of " << side;
        EXPECT_EQ(result.gradient, compute().gradient) << "tiles of " << side;
      }
    }
  });
}

/** Whether a convolution of single pixels leaves some out. */
bool
HasStridedPoints(const NetworkGraph & graph)
{
  return std::any_of(graph.operations.begin(), graph.operations.end(), [](const Operation & operation) {
    return operation.type == "conv2d" && operation.GetAlong("kernel_size", 0) == 1 &&
           operation.GetAlong("stride", 0) > 1;
  });
}

// Maps, their gradients and the weights of convolutions are rounded by at most 2^-9 of themselves, once for each
// operation in each pass.
TEST_P(GraphOperations, InBFloat16ErrorsAreThoseOfRounding)
{
  if (GetGraphPrecisions().back() != Precision::BFloat16)
  {
    GTEST_SKIP() << "this CPU has no AVX-512";
  }
  if (GetParam().axes > 2)
  {
    Device device;
    device.precision = Precision::BFloat16;
    return ForEachVariant(GetParam(), [&](const auto & network, const auto &, const auto &) {
      EXPECT_THROW(MakeTorchGraphPasses(network, device), std::runtime_error);
    });
  }
  ForEachVariant(GetParam(), [](const auto & network, const auto & parameters, const auto & image) {
    const GraphResult reference = ComputeReference(network, parameters, image, at::kBFloat16);
    ForEachOperators([&](GraphOperators operators) {
      if (operators != GraphOperators::OfDevice && HasStridedPoints(network.graph))
      {
        return; // oneDNN 2.6 gives wrong gradients: see TorchConvolution::DifferentiatePoint(). A GPU has other
                // operators.
      }
      for (const std::int64_t side : GetSides(network))
      {
        // Gradients of tiles cancel each other, and their errors do not.
        const auto   tiles = static_cast<double>(MakeCores(GetExtent(network, image), GetTile(network, side)).size());
        const double tolerance = 0x1p-8 * static_cast<double>(network.graph.operations.size()) * std::sqrt(tiles);
        const GraphResult result =
          ComputeInTiles(network, parameters, image, Precision::BFloat16, GetTile(network, side));
        const Difference difference = Compare(network.graph, result, reference);
        EXPECT_LE(difference.gradient, tolerance) << difference.array << ", tiles of " << side;
        EXPECT_LE(difference.probability, tolerance) << "tiles of " << side;
      }
    });
  });
}

INSTANTIATE_TEST_SUITE_P(All, GraphOperations, testing::ValuesIn(GetOperationCases()), [](const auto & info) {
  return info.param.name;
});

TEST(GraphOperationCases, AreAllTested)
{
  for (const OperationSchema & schema : OperationSchema::GetAll())
  {
    const auto cases = GetOperationCases();
    EXPECT_TRUE(schema.type == std::string("input") ||
                std::any_of(cases.begin(), cases.end(), [&](const auto & test) { return test.type == schema.type; }))
      << schema.type;
  }
}

} // namespace

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Every preset that labels pixels, in at least 3 x 3 tiles of an image of odd sides, against autograd on the whole
// image.
#include "GraphFixture.h"
#include "gigapixelNetworkPresets.h"

#include <iomanip>
#include <iostream>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

struct PresetCase
{
  std::string name;
  Size        size;
  Extent      tile;
};

/** Of a test's name. */
std::string
GetCaseName(const testing::TestParamInfo<PresetCase> & info)
{
  std::string name;
  std::copy_if(info.param.name.begin(), info.param.name.end(), std::back_inserter(name), [](unsigned char c) {
    return std::isalnum(c) != 0;
  });
  return name;
}

class PresetGradients : public testing::TestWithParam<PresetCase>
{
};

} // namespace

TEST_P(PresetGradients, AreThoseOfTheWholeImage)
{
  const auto & [name, size, tile] = GetParam();
  const NetworkDescription  network = NetworkPreset::Find(name)->Make(name);
  const std::vector<double> parameters = MakeParameters(network.graph, 1);
  const LabeledImage        image = MakeImage(size, network.channels, network.GetNumberOfClasses(), 2);
  const Extent              extent = ToExtent(size, network.graph.GetNumberOfAxes());
  ASSERT_GE(MakeCores(extent, tile).size(), extent.GetNumberOfAxes() == 2 ? 9U : 27U);
  const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
  const auto        compare = [&](const GraphResult & result) { return Compare(network.graph, result, reference); };
  const Difference  exact = compare(ComputeInTiles(network, parameters, image, Precision::Double, tile));
  EXPECT_LE(exact.loss, 1e-12);
  EXPECT_LE(exact.gradient, 1e-12) << exact.array;
  // Floats round in both, in another order here.
  const Difference ours = compare(ComputeInTiles(network, parameters, image, Precision::Float, tile));
  const Difference eager = compare(ComputeReference(network, parameters, image, at::kFloat));
  EXPECT_LE(ours.gradient, std::max(4 * eager.gradient, 1e-5)) << ours.array;
  std::cout << name << ", " << ToText(size) << " in tiles of " << ToText(tile) << ": worst array in double "
            << std::setprecision(2) << exact.gradient << ", in floats " << ours.gradient << ", PyTorch's "
            << eager.gradient << std::endl;
}

INSTANTIATE_TEST_SUITE_P(All,
                         PresetGradients,
                         testing::Values(PresetCase{ "unet", { 101, 77 }, { 32, 32 } },
                                         PresetCase{ "unet:base=8,norm=none,classes=3", { 101, 77 }, { 19, 27 } },
                                         PresetCase{ "unet3d:base=4,depth=2", { 31, 27, 25 }, { 9, 10, 11 } },
                                         PresetCase{ "segresnet:base=2,norm=batch", { 31, 27, 25 }, { 9, 10, 11 } },
                                         PresetCase{ "meshnet:base=3,classes=3", { 179, 13, 11 }, { 4, 5, 60 } },
                                         PresetCase{ "resnet18-unet", { 67, 53 }, { 18, 23 } },
                                         PresetCase{ "resnet34-unet", { 67, 53 }, { 18, 23 } },
                                         PresetCase{ "resnet50-unet:classes=3", { 67, 53 }, { 18, 23 } }),
                         GetCaseName);

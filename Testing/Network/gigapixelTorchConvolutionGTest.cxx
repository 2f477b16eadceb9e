/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "execute/torch/gigapixelTorchConvolution.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <stdexcept>

using gigapixel::torchmodule::TorchConvolution;

// Programs of tiles never ask for it; it would be another function, silently.
TEST(TorchConvolution, RefusesWhatHasNoOperatorInBFloat16)
{
  for (const at::ScalarType type : { at::kFloat, at::kBFloat16 })
  {
    const at::Tensor       map = at::ones({ 1, 2, 4, 4 }, type), smaller = at::ones({ 1, 2, 2, 2 }, type);
    const TorchConvolution transposed{ at::ones({ 2, 2, 3, 3 }, type), {}, { 1, 1 }, { 0, 0 }, { 1, 1 }, 1, true };
    const TorchConvolution strided{ at::ones({ 2, 2, 1, 1 }, type), {}, { 2, 2 }, { 0, 0 }, { 1, 1 } };
    if (type == at::kFloat)
    {
      EXPECT_EQ(transposed.Compute(smaller).size(3), 4);
      EXPECT_TRUE(strided.Differentiate(smaller, map, true).input.defined());
      continue;
    }
    EXPECT_THROW(transposed.Compute(smaller), std::logic_error);
    EXPECT_THROW(transposed.Differentiate(map, smaller, true), std::logic_error);
    EXPECT_THROW(strided.Differentiate(smaller, map, true), std::logic_error);
  }
}

// LibTorch leaves them to BLAS, whose sums have other last bits: what computes a value does not depend on the map's
// size.
TEST(TorchConvolution, SmallMapsAreOfOneDNNToo)
{
  if (!at::hasMKLDNN())
  {
    GTEST_SKIP() << "this LibTorch was built without oneDNN";
  }
  for (const std::int64_t side : { 4, 8, 16, 64 })
  {
    const at::Tensor                map = at::randn({ 1, 48, side, side }).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor                weight = at::randn({ 32, 48, 3, 3 }), bias = at::randn({ 32 });
    const std::vector<std::int64_t> ones{ 1, 1 };
    const at::Tensor                given = TorchConvolution{ weight, bias, ones, ones, ones }.Compute(map);
    EXPECT_TRUE(at::equal(given, at::mkldnn_convolution(map, weight, bias, ones, ones, ones, 1))) << side;
    const at::Tensor exact = at::conv2d(map.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble), 1, 1);
    EXPECT_LT((given.to(at::kDouble) - exact).norm().item<double>() / exact.norm().item<double>(), 1e-6) << side;
  }
}

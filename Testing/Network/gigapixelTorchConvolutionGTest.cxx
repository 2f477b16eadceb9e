/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "execute/torch/gigapixelTorchConvolution.h"

#include <ATen/ops/ones.h>
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

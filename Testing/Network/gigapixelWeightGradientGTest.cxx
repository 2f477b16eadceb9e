/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The weight gradient of maps whose channels lie side by side, against its formula in double.
#include "gigapixelKernelsFixture.h"
#include "gigapixelWeightGradient.h"

#include <cmath>

namespace
{
using namespace gigapixel::kernels;

/** A map that ends where its memory does: a sanitizer tells of what is read beyond it. */
struct OwnedMap
{
  std::vector<float> values;
  int                height;
  int                width;
  int                channels;

  float
  Get(int c, std::int64_t y, std::int64_t x) const
  {
    return y < 0 || y >= height || x < 0 || x >= width ? 0.0f : values[(y * width + x) * channels + c];
  }

  ChannelsLastMap
  GetView() const
  {
    return { { values.data(), height, width, 1, std::ptrdiff_t{ width } * channels, channels }, channels };
  }
};

class WeightGradientTest : public KernelsTest
{
protected:
  OwnedMap
  DrawMap(int height, int width, int channels)
  {
    return { DrawFloats(static_cast<std::size_t>(height) * width * channels, 1.0f), height, width, channels };
  }

  void
  Compare(int inputs, int outputs, const KernelAxis & rows, const KernelAxis & columns, int height, int width)
  {
    const auto getSize = [](int size, const KernelAxis & axis) {
      return (size + 2 * axis.padding - (axis.kernel - 1) * axis.dilation - 1) / axis.stride + 1;
    };
    const OwnedMap     input = DrawMap(height, width, inputs);
    const OwnedMap     gradient = DrawMap(getSize(height, rows), getSize(width, columns), outputs);
    std::vector<float> found(static_cast<std::size_t>(outputs) * inputs * rows.kernel * columns.kernel, 100.0f);
    ComputeWeightGradient(input.GetView(), gradient.GetView(), rows, columns, found.data());
    for (std::size_t i = 0; i < found.size(); ++i)
    {
      const int kx = i % columns.kernel, ky = i / columns.kernel % rows.kernel;
      const int c = i / columns.kernel / rows.kernel % inputs, o = i / columns.kernel / rows.kernel / inputs;
      double    sum = 0, magnitude = 1e-30;
      for (int y = 0; y < gradient.height; ++y)
      {
        for (int x = 0; x < gradient.width; ++x)
        {
          const double term = static_cast<double>(gradient.Get(o, y, x)) *
                              input.Get(c,
                                        y * rows.stride + ky * rows.dilation - rows.padding,
                                        x * columns.stride + kx * columns.dilation - columns.padding);
          sum += term;
          magnitude += std::abs(term);
        }
      }
      ASSERT_NEAR(found[i], sum, Tolerance * magnitude)
        << inputs << "->" << outputs << ", map " << width << "x" << height << ", o " << o << " c " << c << " at " << kx
        << ", " << ky << " of " << columns.kernel << "x" << rows.kernel << " stride " << columns.stride << ", "
        << rows.stride << " dilation " << columns.dilation << ", " << rows.dilation << " padding " << columns.padding
        << ", " << rows.padding;
    }
  }

  KernelAxis
  DrawAxis()
  {
    const int kernel = Draw(1, 4), dilation = Draw(1, 2);
    return { kernel, Draw(1, 3), dilation, Draw(0, (kernel - 1) * dilation) };
  }
};

TEST_P(WeightGradientTest, IsThatOfTheFormula)
{
  // Blocks of channels of each size, whole and cut vectors, groups of several rows and strips of several columns.
  Compare(16, 16, { 3 }, { 3 }, 12, 140);
  Compare(3, 64, { 7, 2, 1, 3 }, { 7, 2, 1, 3 }, 21, 37);
  Compare(67, 33, { 1 }, { 1 }, 9, 11);
  Compare(1, 1, { 1 }, { 1 }, 1, 1);
  for (int i = 0; i < 40; ++i)
  {
    const KernelAxis rows = DrawAxis(), columns = DrawAxis();
    Compare(Draw(1, 20), Draw(1, 40), rows, columns, Draw(7, 40), Draw(7, 90));
  }
}

/** A sum in one piece of float would be off by 1e-3 here. */
TEST_P(WeightGradientTest, AddsUpManyPositions)
{
  OwnedMap ones{ std::vector<float>(std::size_t{ 1024 } * 1024, 0.1f), 1024, 1024, 1 };
  float    sum = 0;
  ComputeWeightGradient(ones.GetView(), ones.GetView(), {}, {}, &sum);
  EXPECT_NEAR(sum, 1024 * 1024 * 0.01, 1024 * 1024 * 0.01 * 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Target, WeightGradientTest, Targets, GetName);

} // namespace

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Convolutions between maps against their formulas in double (gigapixelKernelsReference.h).
#include "gigapixelKernelsFixture.h"

namespace
{
using namespace gigapixel::kernels;

class MapConvolutionTest : public KernelsTest
{
protected:
  /** The three products of a random convolution between maps, against the reference. */
  void
  Compare(Convolution conv, int channels, int width, int height)
  {
    const auto weight = DrawFloats(conv.outputChannels * channels * conv.kernel * conv.kernel, 0.1f);
    const auto bias = DrawFloats(std::max(channels, conv.outputChannels), 0.5f);
    conv.weight = weight.data();
    conv.bias = bias.data();
    const int  outputWidth = std::max(1, (width + 2 * conv.padding - conv.kernel) / conv.stride + 1 + Draw(0, 2));
    const int  outputHeight = std::max(1, (height + 2 * conv.padding - conv.kernel) / conv.stride + 1);
    const bool interleaved = Draw(0, 1) == 1;
    const std::string name = std::to_string(channels) + "->" + std::to_string(conv.outputChannels) + " k" +
                             std::to_string(conv.kernel) + " s" + std::to_string(conv.stride) + " p" +
                             std::to_string(conv.padding) + " map " + std::to_string(width) + "x" +
                             std::to_string(height) + (interleaved ? " interleaved" : " planar");
    GuardedMap<> input(channels, height, width, interleaved);
    Fill(input, DrawFloats(channels * height * width, 1.0f));
    GuardedMap<> output(conv.outputChannels, outputHeight, outputWidth, interleaved);
    ConvolveMap({ input.GetConst(), channels }, conv, output.view);
    const reference::MapProducts truth(input.GetConst(), channels, conv, output.GetConst());
    ExpectNear(output, truth.output, "output of " + name);
    ASSERT_EQ(output.CountGuards(), output.GetSizeOfGuards()) << name;
    ExpectAdds(output, interleaved, conv, name, [&](const Convolution & adding, const auto & map) {
      ConvolveMap({ input.GetConst(), channels }, adding, map);
    });

    // Any values will do for the gradient: those of the output.
    std::vector<double> weightGradient(weight.size(), 100.0);
    AddMapConvolutionGradient({ input.GetConst(), channels }, conv, output.GetConst(), weightGradient.data());
    for (double & value : weightGradient)
    {
      value -= 100.0;
    }
    ExpectNear(weightGradient, truth.gradients.weight, truth.gradients.weightMagnitude, "weight gradient of " + name);

    Convolution transposed = conv;
    transposed.outputChannels = channels;
    GuardedMap<> back(channels, height, width, interleaved);
    ConvolveMapTransposed({ output.GetConst(), conv.outputChannels }, transposed, back.view);
    ExpectNear(back, truth.transposed, "transposed convolution of " + name);
    ASSERT_EQ(back.CountGuards(), back.GetSizeOfGuards()) << name;
    ExpectAdds(back, interleaved, transposed, "transposed " + name, [&](const Convolution & adding, const auto & map) {
      ConvolveMapTransposed({ output.GetConst(), conv.outputChannels }, adding, map);
    });
  }

private:
  /** The same layer, told to add, gives the sum of its output and what the map held, to the bit. */
  template <typename F>
  void
  ExpectAdds(GuardedMap<> & output, bool interleaved, Convolution conv, const std::string & name, const F & convolve)
  {
    const int    height = static_cast<int>(output.view.height), width = static_cast<int>(output.view.width);
    const auto   before = DrawFloats(conv.outputChannels * height * width, 1.0f);
    GuardedMap<> sum(conv.outputChannels, height, width, interleaved);
    Fill(sum, before);
    GuardedMap<> held(conv.outputChannels, height, width, interleaved);
    Fill(held, before);
    conv.adds = true;
    convolve(conv, sum.view);
    ASSERT_EQ(sum.CountGuards(), sum.GetSizeOfGuards()) << name;
    for (int c = 0; c < conv.outputChannels; ++c)
    {
      for (int i = 0; i < height * width; ++i)
      {
        const int y = i / width, x = i % width;
        ASSERT_EQ(sum(c, y, x), held(c, y, x) + output(c, y, x)) << name << ", adding";
      }
    }
  }
};

TEST_P(MapConvolutionTest, TheLayersOfThePreset)
{
  for (const int width : { 4, 34, 272, 301 })
  {
    Compare({ 6, 4, 2, 1, nullptr, nullptr, true }, 6, width, Draw(8, 60));
    Compare({ 9, 4, 2, 1, nullptr, nullptr, true }, 6, width, Draw(8, 60));
    Compare({ 9, 3, 1, 1, nullptr, nullptr, true }, 9, width, Draw(8, 60));
    Compare({ 9, 2, 2, 0, nullptr, nullptr, false }, 6, width, Draw(8, 60));
  }
}

TEST_P(MapConvolutionTest, RandomShapes)
{
  for (int trial = 0; trial < 80 && !HasFatalFailure(); ++trial)
  {
    Convolution conv;
    conv.outputChannels = Draw(1, 14);
    conv.kernel = Draw(1, 7);
    conv.stride = Draw(1, 5); // also greater than the kernel: some inputs are never seen
    conv.padding = Draw(0, conv.kernel - 1);
    conv.relu = Draw(0, 1) == 1;
    Compare(conv, Draw(1, 9), Draw(1, 150), Draw(1, 20));
  }
}

TEST_P(MapConvolutionTest, CloseReLUZerosAndSums)
{
  for (const int width : { 1, 15, 16, 33 })
  {
    GuardedMap<> activated(3, 4, width, false), gradient(3, 4, width, false), apart(3, 4, width, false);
    Fill(activated, DrawFloats(3 * 4 * width, 1.0f));
    Fill(gradient, DrawFloats(3 * 4 * width, 1.0f));
    activated(1, 2, 0) = 0.0f; // zero is closed
    reference::Map      truth(3, 4, width);
    std::vector<double> sums(3, 5.0), closed(3, 5.0), open(3, 0.0);
    for (int i = 0; i < 3 * 4 * width; ++i)
    {
      const int c = i / (4 * width), y = i / width % 4, x = i % width;
      truth.values[i] = activated(c, y, x) > 0 ? gradient(c, y, x) : 0.0f;
      sums[c] += truth.values[i];
      open[c] += gradient(c, y, x);
    }
    std::vector<double> all(3, 0.0);
    CloseReLU({}, 3, gradient.GetConst(), gradient.view, all.data());
    ExpectNear(all, open, 4.0 * width, "bias gradient without ReLU");
    CloseReLU(activated.GetConst(), 3, gradient.GetConst(), apart.view, all.data());
    CloseReLU(activated.GetConst(), 3, gradient.GetConst(), gradient.view, closed.data());
    ExpectNear(closed, sums, 4.0 * width, "bias gradient");
    for (GuardedMap<> * result : { &apart, &gradient })
    {
      ExpectNear(*result, truth, "closed gradient");
      EXPECT_EQ(result->CountGuards(), result->GetSizeOfGuards());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Target, MapConvolutionTest, Targets, GetName);

} // namespace

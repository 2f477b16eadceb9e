/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The kernels that touch full resolution against their formulas in double (gigapixelKernelsReference.h).
#include "gigapixelKernelsFixture.h"

#include <limits>

namespace
{
using namespace gigapixel::kernels;
using gigapixel::LossSum;
using gigapixel::LossTerms;

/** A last layer with random shape, map, truth and core. */
struct LogitCase
{
  PixelLogits               layer;
  std::vector<float>        weight;
  std::vector<float>        bias;
  GuardedMap<>              map{ 1, 1, 1, false };
  CoreRegion                core;
  std::vector<std::uint8_t> classes;
  std::ptrdiff_t            pitch{ 0 };
  LossTerms                 terms;
  std::string               name;

  /** \param gradient its layer's weights and biases, added to */
  void
  AddLossTo(GuardedMap<> & gradient, std::vector<double> & weightSums, std::vector<double> & biasSums, LossSum & sum)
  {
    AddPixelLoss(map.GetConst(),
                 layer,
                 core,
                 { classes.data(), pitch },
                 terms,
                 { gradient.view, weightSums.data(), biasSums.data() },
                 sum);
  }
};

class LogitsTest : public KernelsTest
{
protected:
  LogitCase
  Make(int inputChannels, int outputChannels, int stride, int height, int width, bool interleaved)
  {
    LogitCase it;
    it.weight = DrawFloats(inputChannels * outputChannels * stride * stride, 1.0f);
    it.bias = DrawFloats(outputChannels, 1.0f);
    it.layer = { inputChannels, outputChannels, stride, it.weight.data(), it.bias.data() };
    it.map = GuardedMap<>(inputChannels, height, width, interleaved);
    Fill(it.map, DrawFloats(inputChannels * height * width, 1.0f));
    it.core.x = Draw(0, width * stride - 1);
    it.core.y = Draw(0, height * stride - 1);
    it.core.width = Draw(1, static_cast<int>(width * stride - it.core.x));
    it.core.height = Draw(1, static_cast<int>(height * stride - it.core.y));
    it.pitch = it.core.width + Draw(0, 5);
    it.classes = DrawBytes(it.core.height * it.pitch, std::max(2, outputChannels) - 1);
    for (int i = 0; i < 20; ++i)
    {
      it.classes[Draw(0, static_cast<int>(it.classes.size()) - 1)] = i < 15 ? 255 : std::max(2, outputChannels);
    }
    it.terms.weights.assign(std::max(2, outputChannels), 1.0);
    it.name = std::to_string(inputChannels) + "->" + std::to_string(outputChannels) + " stride " +
              std::to_string(stride) + " map " + std::to_string(height) + "x" + std::to_string(width) + " core " +
              std::to_string(it.core.x) + "," + std::to_string(it.core.y) + "," + std::to_string(it.core.width) + "," +
              std::to_string(it.core.height) + (interleaved ? " interleaved" : " planar");
    return it;
  }

  LogitCase
  MakeRandom(int trial)
  {
    static const int strides[] = { 8, 1, 2, 3, 4, 5, 7, 8, 8, 12, 16, 32 };
    const int        stride = strides[trial % 12];
    return Make(Draw(1, 14), Draw(0, 1) ? 1 : Draw(2, 6), stride, Draw(1, 5), Draw(1, 600 / stride), Draw(0, 1));
  }

  static void
  Compare(LogitCase & it)
  {
    const auto truth =
      reference::PixelLoss(it.map.GetConst(), it.layer, it.core, it.classes.data(), it.pitch, it.terms);
    GuardedMap<> gradient(it.layer.inputChannels, it.map.view.height, it.map.view.width, it.map.view.columnStride != 1);
    reference::Gradients sums{ std::vector<double>(it.weight.size(), 100.0), std::vector<double>(it.bias.size(), 7.0) };
    LossSum              sum;
    sum.loss = 50.0;
    sum.pixels = 3;
    it.AddLossTo(gradient, sums.weight, sums.bias, sum);
    for (double & value : sums.weight)
    {
      value -= 100.0;
    }
    for (double & value : sums.bias)
    {
      value -= 7.0;
    }
    const double loss = it.terms.HasSums() ? 0.0 : truth.sum.loss; // that of Dice is known before
    ASSERT_NEAR(sum.loss - 50.0, loss, Tolerance * loss) << it.name;
    ASSERT_NEAR(sum.weight, truth.sum.weight, Tolerance * truth.sum.weight) << it.name;
    ASSERT_EQ(sum.pixels - 3, truth.sum.pixels) << it.name;
    ExpectNear(gradient, truth.mapGradient, "map gradient of " + it.name);
    ExpectNear(sums.weight, truth.gradients.weight, truth.gradients.weightMagnitude, "weight gradient of " + it.name);
    ExpectNear(sums.bias, truth.gradients.bias, truth.gradients.biasMagnitude, "bias gradient of " + it.name);
    ASSERT_EQ(gradient.CountGuards(), gradient.GetSizeOfGuards()) << it.name;
  }
};

TEST_P(LogitsTest, LossAndGradientsOfRandomShapes)
{
  for (int trial = 0; trial < 60 && !HasFatalFailure(); ++trial)
  {
    LogitCase it = MakeRandom(trial);
    Compare(it);
  }
}

// All losses: class weights, Dice with any slopes (here of either sign, as no image would give them).
TEST_P(LogitsTest, WeightedAndDiceLossesOfRandomShapes)
{
  for (int trial = 0; trial < 60 && !HasFatalFailure(); ++trial)
  {
    LogitCase  it = MakeRandom(trial);
    const auto draw = [&](float scale) {
      const auto values = DrawFloats(it.terms.weights.size(), scale);
      return std::vector<double>(values.begin(), values.end());
    };
    it.terms.weights = draw(2.0f);
    for (double & weight : it.terms.weights)
    {
      weight = std::abs(weight);
    }
    it.terms.weights[0] = trial % 4 == 0 ? 0.0 : it.terms.weights[0]; // a class that is left out
    it.name += " weighted";
    Compare(it);
    it.terms.slopes = draw(2.0f);
    it.terms.offsets = draw(1.0f);
    it.name += " with Dice";
    Compare(it);
    it.terms.weights.clear();
    it.name += " alone";
    Compare(it);
  }
}

TEST_P(LogitsTest, ScoresOfRandomShapes)
{
  for (int trial = 0; trial < 40 && !HasFatalFailure(); ++trial)
  {
    LogitCase it = MakeRandom(trial);
    it.terms.weights[1] = 2.5;
    const std::vector<double> weights = it.terms.weights;
    for (const char * const loss : { "cross-entropy", "dice", "dice+cross-entropy" })
    {
      const bool dice = loss[0] == 'd';
      it.terms.weights = loss == std::string("dice") ? std::vector<double>() : weights;
      it.terms.slopes.resize(dice ? weights.size() : 0);
      it.terms.offsets = it.terms.slopes;
      const auto truth =
        reference::PixelLoss(it.map.GetConst(), it.layer, it.core, it.classes.data(), it.pitch, it.terms).sum;
      std::vector<std::uint8_t> labels(it.core.height * it.pitch);
      LossSum                   sum;
      ScorePixels(it.map.GetConst(), it.layer, it.core, { it.classes.data(), it.pitch }, it.terms, labels.data(), sum);
      ASSERT_EQ(sum.pixels, truth.pixels) << it.name;
      ASSERT_NEAR(sum.weight, truth.weight, Tolerance * truth.weight) << it.name;
      ASSERT_NEAR(sum.loss, truth.loss, Tolerance * truth.loss) << it.name;
      for (int c = 0; dice && c < it.layer.outputChannels; ++c)
      {
        ASSERT_EQ(sum.truths[c], truth.truths[c]) << it.name;
        ASSERT_NEAR(sum.probabilities[c], truth.probabilities[c], 5e-6 * truth.probabilities[c]) << it.name;
        ASSERT_NEAR(sum.hits[c], truth.hits[c], 5e-6 * truth.hits[c]) << it.name;
      }
    }
  }
}

TEST_P(LogitsTest, MapOfManyStripsAndChannels)
{
  LogitCase wide = Make(33, 20, 2, 2, 700, true);
  Compare(wide);
  LogitCase deep = Make(3, 2, 64, 2, 9, false);
  Compare(deep);
}

// Losses of confident pixels are tiny, but not zero: relative accuracy must hold where 1 + x would swallow x.
TEST_P(LogitsTest, ConfidentPixelsKeepTheirDigits)
{
  for (const int outputs : { 1, 3 })
  {
    LogitCase it = Make(1, outputs, 4, 3, 50, false);
    it.core = { 0, 0, 200, 12 };
    it.pitch = 200;
    it.classes.assign(200 * 12, 1);
    std::fill(it.weight.begin(), it.weight.end(), 0.0f);
    it.bias[outputs == 1 ? 0 : 1] = 17.0f; // of the true class
    Compare(it);
    it.classes.assign(200 * 12, 0); // all wrong, the other end
    Compare(it);
  }
}

// Far beyond what exp can hold in float the loss is linear, the gradient 0 or 1.
TEST_P(LogitsTest, HugeLogitsDoNotOverflow)
{
  for (const float logit : { -1e4f, 1e4f, 1e30f })
  {
    LogitCase it = Make(1, 1, 8, 1, 2, false);
    it.core = { 0, 0, 16, 8 };
    it.pitch = 16;
    it.classes.assign(128, 1);
    std::fill(it.weight.begin(), it.weight.end(), 0.0f);
    it.bias[0] = logit;
    GuardedMap<>        gradient(1, 1, 2, false);
    std::vector<double> weight(64), bias(1);
    LossSum             sum;
    it.AddLossTo(gradient, weight, bias, sum);
    EXPECT_NEAR(sum.loss, logit < 0 ? 128.0 * 1e4 : 0.0, 1.0);
    EXPECT_NEAR(bias[0], logit < 0 ? -128.0 : 0.0, 1e-30);
  }
}

TEST_P(LogitsTest, ANumberThatIsNoneIsNotHidden)
{
  LogitCase it = Make(1, 1, 8, 1, 2, false);
  it.core = { 0, 0, 16, 8 };
  it.pitch = 16;
  it.classes.assign(128, 0);
  it.map(0, 0, 1) = std::numeric_limits<float>::quiet_NaN();
  GuardedMap<>        gradient(1, 1, 2, false);
  std::vector<double> weight(64), bias(1);
  LossSum             sum;
  it.AddLossTo(gradient, weight, bias, sum);
  EXPECT_TRUE(std::isnan(sum.loss));
}

TEST_P(LogitsTest, NothingTakesPart)
{
  LogitCase it = Make(5, 1, 8, 3, 7, false);
  it.classes.assign(it.classes.size(), 255);
  GuardedMap<>        gradient(5, 3, 7, false);
  std::vector<double> weight(it.weight.size()), bias(1);
  LossSum             sum;
  for (int run = 0; run < 2; ++run)
  {
    it.AddLossTo(gradient, weight, bias, sum);
    EXPECT_EQ(sum.loss, 0.0);
    EXPECT_EQ(sum.pixels, 0);
    EXPECT_EQ(std::count(weight.begin(), weight.end(), 0.0), static_cast<std::ptrdiff_t>(weight.size()));
    EXPECT_EQ(gradient(4, 2, 6), 0.0f);
    it.core = { 8, 8, 0, 0 }; // and with an empty core
  }
}

TEST_P(LogitsTest, ProbabilitiesAndLabelsOfRandomShapes)
{
  for (int trial = 0; trial < 40 && !HasFatalFailure(); ++trial)
  {
    LogitCase                 it = MakeRandom(trial);
    const int                 outputs = it.layer.outputChannels;
    GuardedMap<>              output(outputs, it.core.height, it.core.width, trial % 2 == 0);
    const float               threshold = outputs == 1 ? 0.3f : 0.5f;
    std::vector<double>       z(outputs);
    std::vector<std::uint8_t> labels(it.core.height * it.pitch, 77);
    GuardedMap<>              logits(outputs, it.core.height, it.core.width, trial % 2 == 0);
    Predict(it.map.GetConst(), it.layer, it.core, gigapixel::PixelValue::Probability, output.view);
    Predict(it.map.GetConst(), it.layer, it.core, gigapixel::PixelValue::Logit, logits.view);
    PredictLabels(it.map.GetConst(), it.layer, it.core, threshold, 200, labels.data(), it.pitch);
    for (std::int64_t y = 0; y < it.core.height; ++y)
    {
      for (std::int64_t x = 0; x < it.pitch; ++x)
      {
        const int label = labels[y * it.pitch + x];
        if (x >= it.core.width)
        {
          ASSERT_EQ(label, 77) << it.name; // between the rows
          continue;
        }
        reference::ComputeLogits(it.map.GetConst(), it.layer, it.core.y + y, it.core.x + x, z);
        for (int o = 0; o < outputs; ++o)
        {
          ASSERT_NEAR(logits(o, y, x), z[o], 2e-6 * (10 + std::abs(z[o]))) << it.name;
        }
        const auto   best = std::max_element(z.begin(), z.end()) - z.begin();
        const double sum = outputs == 1 ? 0.0 : reference::Exponentials(z);
        for (int o = 0; o < outputs; ++o)
        {
          const double truth = outputs == 1 ? 1.0 / (1.0 + std::exp(-z[0])) : z[o] / sum;
          // Logits near 10 are known to 1e-6 in float, hence probabilities to 1e-6 of themselves; 5e-6 for their sums.
          ASSERT_NEAR(output(o, y, x), truth, 5e-6 * truth + 1e-12) << it.name;
        }
        const double probability = output(0, y, x);
        if (outputs == 1 && std::abs(probability - threshold) > 1e-5)
        {
          ASSERT_EQ(label, probability >= threshold ? 200 : 0) << it.name;
        }
        if (outputs > 1 && label != best)
        {
          ASSERT_NEAR(output(label, y, x), output(best, y, x), 1e-5) << it.name;
        }
      }
    }
    ASSERT_EQ(output.CountGuards(), output.GetSizeOfGuards()) << it.name;
    ASSERT_EQ(logits.CountGuards(), logits.GetSizeOfGuards()) << it.name;
  }
}

TEST_P(LogitsTest, ThresholdsAtTheEnds)
{
  LogitCase                 it = Make(2, 1, 8, 1, 3, false);
  std::vector<std::uint8_t> labels(it.core.height * it.pitch);
  PredictLabels(it.map.GetConst(), it.layer, it.core, 0.0, 1, labels.data(), it.pitch);
  EXPECT_EQ(labels[0], 1);
  PredictLabels(it.map.GetConst(), it.layer, it.core, 1.0, 1, labels.data(), it.pitch);
  EXPECT_EQ(labels[0], 0);
}

TEST_P(LogitsTest, TheSameBitsEveryTime)
{
  LogitCase           it = Make(6, 1, 8, 20, 60, true);
  std::vector<double> first;
  for (int run = 0; run < 3; ++run)
  {
    GuardedMap<>        gradient(6, 20, 60, true);
    std::vector<double> weight(it.weight.size()), bias(1);
    LossSum             sum;
    it.AddLossTo(gradient, weight, bias, sum);
    weight.push_back(bias[0]);
    weight.push_back(sum.loss);
    first = run == 0 ? weight : first;
    EXPECT_EQ(weight, first);
  }
}

class PixelConvolutionTest : public KernelsTest
{
protected:
  /** One random window and convolution, against the reference. \param beyond rows and columns of output past the end */
  void
  Compare(Convolution conv, int channels, int width, int height, int beyond = 0)
  {
    const auto weight = DrawFloats(conv.outputChannels * channels * conv.kernel * conv.kernel, 0.1f);
    const auto bias = DrawFloats(conv.outputChannels, 0.5f);
    conv.weight = weight.data();
    conv.bias = bias.data();
    const std::ptrdiff_t pitch = width * channels + Draw(0, 7);
    const auto           samples = DrawBytes(height * pitch, 255);
    const PixelView      pixels{ samples.data(), width, height, pitch, channels, Draw(0, 1) == 1 };
    const int            outputWidth = std::max(1, (width + 2 * conv.padding - conv.kernel) / conv.stride + 1 + beyond);
    const int         outputHeight = std::max(1, (height + 2 * conv.padding - conv.kernel) / conv.stride + 1 + beyond);
    const bool        interleaved = Draw(0, 1) == 1;
    const std::string name =
      std::to_string(channels) + "->" + std::to_string(conv.outputChannels) + " k" + std::to_string(conv.kernel) +
      " s" + std::to_string(conv.stride) + " p" + std::to_string(conv.padding) + " window " + std::to_string(width) +
      "x" + std::to_string(height) + (interleaved ? " interleaved" : " planar") + (conv.relu ? " relu" : "");
    GuardedMap<> output(conv.outputChannels, outputHeight, outputWidth, interleaved);
    ConvolvePixels(pixels, conv, output.view);
    ExpectNear(output, reference::Convolve(pixels, conv, outputHeight, outputWidth), "output of " + name);
    ASSERT_EQ(output.CountGuards(), output.GetSizeOfGuards()) << name;

    GuardedMap<> gradient(conv.outputChannels, outputHeight, outputWidth, interleaved);
    Fill(gradient, DrawFloats(conv.outputChannels * outputHeight * outputWidth, 1.0f));
    reference::Gradients sums;
    sums.weight.assign(weight.size(), 100.0);
    sums.bias.assign(bias.size(), 7.0);
    AddPixelConvolutionGradient(pixels,
                                conv,
                                conv.relu ? output.GetConst() : MapView<const float>(),
                                gradient.GetConst(),
                                sums.weight.data(),
                                sums.bias.data());
    for (double & value : sums.weight)
    {
      value -= 100.0;
    }
    for (double & value : sums.bias)
    {
      value -= 7.0;
    }
    const auto truth = reference::ConvolutionGradient(pixels, conv, output.GetConst(), gradient.GetConst());
    ExpectNear(sums.weight, truth.weight, truth.weightMagnitude, "weight gradient of " + name);
    ExpectNear(sums.bias, truth.bias, truth.biasMagnitude, "bias gradient of " + name);
  }
};

TEST_P(PixelConvolutionTest, TheFirstLayerOfThePreset)
{
  for (const int width : { 8, 17, 128, 515, 1100 })
  {
    Compare({ 6, 16, 8, 4, nullptr, nullptr, true }, 1, width, Draw(8, 90));
    Compare({ 6, 16, 8, 4, nullptr, nullptr, true }, 3, width, Draw(8, 90));
  }
}

TEST_P(PixelConvolutionTest, RandomShapes)
{
  for (int trial = 0; trial < 60 && !HasFatalFailure(); ++trial)
  {
    Convolution conv;
    conv.outputChannels = Draw(1, 14);
    conv.kernel = Draw(1, 9);
    conv.stride = Draw(1, 9); // also greater than the kernel: some pixels are never seen
    conv.padding = Draw(0, conv.kernel - 1);
    conv.relu = Draw(0, 1) == 1;
    Compare(conv, Draw(1, 4), Draw(1, 120), Draw(1, 40));
  }
}

TEST_P(PixelConvolutionTest, OutputBeyondThePixelsSeesZeros)
{
  Compare({ 6, 16, 8, 4, nullptr, nullptr, true }, 1, 50, 41, 3);
  Compare({ 4, 3, 1, 1, nullptr, nullptr, false }, 3, 20, 11, 5);
}

TEST_P(PixelConvolutionTest, ManyChannels)
{
  Compare({ 70, 3, 1, 1, nullptr, nullptr, true }, 5, 40, 9);
  Compare({ 2, 31, 10, 7, nullptr, nullptr, true }, 2, 300, 75);
}

INSTANTIATE_TEST_SUITE_P(Target, LogitsTest, Targets, GetName);
INSTANTIATE_TEST_SUITE_P(Target, PixelConvolutionTest, Targets, GetName);

} // namespace

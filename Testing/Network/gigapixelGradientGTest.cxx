/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "GraphReference.h"
#include "SyntheticSources.h"
#include "model/gigapixelInitialWeights.h"
#include "graph/gigapixelParameterLayout.h"
#include "execute/gigapixelRandom.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "graph/gigapixelLayerChain.h"

#include <gtest/gtest.h>

#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** RGB, three classes, odd kernels, a skip on the input's resolution, no inversion: all that the preset is not. */
const char * const OtherNetwork = R"json({ "name": "other", "input": { "channels": 3, "invert": false },
  "layers": [
    { "name": "A", "type": "convolution", "in": 3, "out": 4, "kernel": 3, "stride": 1, "padding": 1, "activation": "relu" },
    { "name": "B", "type": "convolution", "in": 4, "out": 5, "kernel": 5, "stride": 3, "padding": 1, "activation": "relu" },
    { "name": "C", "type": "convolution", "in": 5, "out": 6, "kernel": 3, "stride": 2, "padding": 1, "activation": "none" },
    { "name": "D", "type": "transposed convolution", "in": 6, "out": 5, "kernel": 4, "stride": 2, "padding": 1, "activation": "relu", "add": "B" },
    { "name": "E", "type": "transposed convolution", "in": 5, "out": 4, "kernel": 5, "stride": 3, "padding": 1, "activation": "relu", "add": "A" },
    { "name": "F", "type": "convolution", "in": 4, "out": 3, "kernel": 3, "stride": 1, "padding": 1, "activation": "none" }
  ],
  "loss": { "type": "softmax cross-entropy" } })json";

NetworkDescription
MakeNetwork(bool preset)
{
  return preset ? NetworkDescription::Load("remedios2023") : NetworkDescription::FromJSON(OtherNetwork);
}

/** No two weights alike: kernels of one value would hide a kernel that is turned over. */
std::vector<double>
MakeParameters(const NetworkDescription & network)
{
  std::vector<double> parameters =
    MakeInitialWeights(network, 5, std::vector<double>(network.GetNumberOfClasses(), 0.4));
  Random random(5, Random::Purpose::Weights);
  for (double & parameter : parameters)
  {
    parameter = static_cast<float>(parameter * (1 + 0.5 * random.Normal()));
  }
  for (const auto & place : GetParameterLayout(network))
  {
    for (std::size_t i = 0; i < place.numberOfBiases; ++i)
    {
      parameters[place.bias + i] += 0.05 * static_cast<double>(i % 3) - 0.02;
    }
  }
  return parameters;
}

/** The greatest over all weights and biases of the norm of the difference, relative to the reference's. */
double
GetGreatestError(const NetworkDescription & network, const LossGradient & result, const LossGradient & reference)
{
  double     greatest = 0;
  const auto compare = [&](std::size_t first, std::size_t number) {
    double difference = 0, norm = 0;
    for (std::size_t i = first; i < first + number; ++i)
    {
      difference += std::pow(result.gradient[i] - reference.gradient[i], 2);
      norm += std::pow(reference.gradient[i], 2);
    }
    // A layer that is asleep on a tiny image must have no gradient in both.
    greatest = std::max(greatest, norm > 0 ? std::sqrt(difference / norm) : difference);
  };
  for (const auto & place : GetParameterLayout(network))
  {
    compare(place.weight, place.numberOfWeights);
    compare(place.bias, place.numberOfBiases);
  }
  return greatest;
}

enum class Loss
{
  CrossEntropy,
  Weighted, ///< and with an ignored label
  Dice,
  WeightedDice,
  Both,
  WeightedBoth,
  Focal,
  WeightedFocal
};

struct Case
{
  bool         preset;
  Size         size;
  std::int64_t tileSize;
  Loss         loss{ Loss::CrossEntropy };
};

/** "Preset700By513Tiles256Dice" */
std::string
GetCaseName(const testing::TestParamInfo<Case> & info)
{
  const char * const losses[] = { "",     "Weighted",     "Dice",  "WeightedDice",
                                  "Both", "WeightedBoth", "Focal", "WeightedFocal" };
  const Case &       it = info.param;
  return (it.preset ? "Preset" : "Small") + std::to_string(it.size.width) + "By" + std::to_string(it.size.height) +
         "Tiles" + std::to_string(it.tileSize) + losses[static_cast<int>(it.loss)];
}

NetworkDescription
MakeNetwork(const Case & it)
{
  NetworkDescription network = MakeNetwork(it.preset);
  if (it.loss == Loss::Dice || it.loss == Loss::WeightedDice)
  {
    network.SetLoss("dice");
  }
  if (it.loss == Loss::Both || it.loss == Loss::WeightedBoth)
  {
    network.SetLoss("dice+cross-entropy");
  }
  if (it.loss == Loss::Focal || it.loss == Loss::WeightedFocal)
  {
    network.SetLoss("focal");
  }
  if (it.loss == Loss::Weighted || it.loss == Loss::WeightedDice || it.loss == Loss::WeightedBoth ||
      it.loss == Loss::WeightedFocal)
  {
    network.classWeights = { 0.5, 3.0, 1.25 };
    network.classWeights.resize(network.GetNumberOfClasses());
  }
  return network;
}

/** Label 9 where others have Ignored. */
struct NinesIgnored : ProceduralLabels
{
  using ProceduralLabels::ProceduralLabels;
  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    ProceduralLabels::Read(region, classes);
    std::replace(classes, classes + region.width * region.height, std::uint8_t{ Ignored }, std::uint8_t{ 9 });
  }
};

class StreamedGradient : public testing::TestWithParam<Case>
{
protected:
  NetworkDescription  network = MakeNetwork(GetParam());
  std::vector<double> parameters = MakeParameters(network);
  ProceduralPixels    pixels{ GetParam().size, 3, static_cast<unsigned>(network.channels) };
  ProceduralLabels    labels{ GetParam().size, 3, network.GetNumberOfClasses(), true };

  /** LibTorch's automatic differentiation of the whole image in double. */
  LossGradient
  Differentiate()
  {
    NetworkDescription graph = network;
    graph.graph = MakeChainGraph(network);
    const std::int64_t width = GetParam().size.width, height = GetParam().size.height;
    LabeledImage       image{ { width, height },
                        std::vector<std::uint8_t>(width * height * network.channels),
                        std::vector<std::uint8_t>(width * height) };
    pixels.Read({ 0, 0, width, height }, image.pixels.data());
    labels.Read({ 0, 0, width, height }, image.labels.data());
    const GraphResult result = ComputeReference(graph, parameters, image, at::kDouble);
    LossGradient      sum;
    sum.loss = result.loss;
    sum.weight = result.weight;
    sum.pixels = result.pixels;
    sum.gradient = result.gradient;
    return sum;
  }

  LossGradient
  Stream(Precision precision, int threads)
  {
    StreamedNetwork streamed(network, GetParam().tileSize, threads, { -1, precision });
    streamed.SetParameters(parameters);
    LossGradient sum;
    EXPECT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
    return sum;
  }
};

} // namespace

// The streamed gradient is the gradient: in double, by the graph of operations that a chain stands for, nothing is left
// but rounding.
TEST_P(StreamedGradient, EqualsAutogradOfTheWholeImageInDouble)
{
  const LossGradient whole = Differentiate();
  const LossGradient streamed = Stream(Precision::Double, 2);
  EXPECT_EQ(streamed.pixels, whole.pixels);
  EXPECT_NEAR(streamed.weight, whole.weight, 1e-12 * whole.weight);
  EXPECT_NEAR(streamed.loss, whole.loss, 1e-12 * whole.loss);
  EXPECT_LT(GetGreatestError(network, streamed, whole), 1e-12);
}

// In float, with our kernels, every tensor is within 1e-5 (the sums in float run over tiles of <= 1e5 pixels).
TEST_P(StreamedGradient, FloatIsCloseToDouble)
{
  const LossGradient whole = Differentiate();
  const LossGradient streamed = Stream(Precision::Float, 2);
  EXPECT_EQ(streamed.pixels, whole.pixels);
  EXPECT_NEAR(streamed.loss, whole.loss, 1e-6 * whole.loss);
  EXPECT_LT(GetGreatestError(network, streamed, whole), 1e-5);
}

TEST_P(StreamedGradient, HasTheSameBitsForAnyNumberOfThreads)
{
  const LossGradient one = Stream(Precision::Float, 1);
  for (const int threads : { 2, 4 })
  {
    const LossGradient several = Stream(Precision::Float, threads);
    EXPECT_EQ(one.loss, several.loss);
    EXPECT_EQ(one.gradient, several.gradient);
  }
}

TEST_P(StreamedGradient, EqualsFiniteDifferences)
{
  StreamedNetwork streamed(network, GetParam().tileSize, 2, { -1, Precision::Double });
  const auto      getLoss = [&](const std::vector<double> & at) {
    streamed.SetParameters(at);
    Score score;
    EXPECT_TRUE(streamed.ComputeScore(pixels, labels, score));
    return score.loss;
  };
  const LossGradient sum = Stream(Precision::Double, 2);
  for (const auto & place : GetParameterLayout(network))
  {
    for (const std::size_t i : { place.weight + place.numberOfWeights / 3, place.bias })
    {
      // Small steps: a ReLU that switches in between bends the loss. Central differences: error of second order.
      const double        h = 1e-6;
      std::vector<double> above = parameters, below = parameters;
      above[i] += h;
      below[i] -= h;
      const double difference = (getLoss(above) - getLoss(below)) / (2 * h);
      EXPECT_NEAR(sum.gradient[i], difference, 1e-4 * std::abs(difference) + 1e-2) << "parameter " << i;
    }
  }
}

// Kernels without a backward pass, against LibTorch in double: the loss, and the counts but for a pixel in a thousand
// whose logit is as near to the threshold as float is coarse.
TEST_P(StreamedGradient, ScoresAsTheReference)
{
  Score scores[2];
  for (const bool fused : { false, true })
  {
    StreamedNetwork streamed(network, GetParam().tileSize, 2, { -1, fused ? Precision::Float : Precision::Double });
    streamed.SetParameters(parameters);
    ASSERT_TRUE(streamed.ComputeScore(pixels, labels, scores[fused]));
  }
  EXPECT_EQ(scores[0].pixels, scores[1].pixels);
  EXPECT_EQ(scores[0].actual, scores[1].actual);
  EXPECT_NEAR(scores[0].loss, scores[1].loss, 1e-6 * scores[0].loss);
  for (std::size_t c = 0; c < scores[0].both.size(); ++c)
  {
    EXPECT_NEAR(scores[0].both[c], scores[1].both[c], 1e-3 * scores[0].pixels);
    EXPECT_NEAR(scores[0].predicted[c], scores[1].predicted[c], 1e-3 * scores[0].pixels);
  }
}

// Labels are probabilities at the threshold, or the greatest; asked for in parts they are the same.
TEST_P(StreamedGradient, LabelsFollowFromProbabilities)
{
  constexpr double          Threshold = 0.4;
  const std::int64_t        width = GetParam().size.width, height = GetParam().size.height;
  const int                 channels = network.GetNumberOfOutputChannels();
  StreamedNetwork           streamed(network, GetParam().tileSize, 2);
  std::vector<float>        probabilities(width * height * channels);
  std::vector<std::uint8_t> found(width * height, 99), part((width - 1) * (height - 2), 99);
  streamed.SetParameters(parameters);
  ASSERT_TRUE(streamed.Predict(pixels, { 0, 0, width, height }, probabilities.data()));
  ASSERT_TRUE(streamed.PredictLabels(pixels, { 0, 0, width, height }, Threshold, found.data()));
  ASSERT_TRUE(streamed.PredictLabels(pixels, { 1, 2, width - 1, height - 2 }, Threshold, part.data()));
  for (std::int64_t i = 0; i < width * height; ++i)
  {
    const auto first = probabilities.begin() + i * channels;
    const auto greatest = std::max_element(first, first + channels);
    const int  label = channels == 1 ? *first >= Threshold : static_cast<int>(greatest - first);
    const bool close = channels == 1
                         ? std::abs(*first - Threshold) < 1e-6
                         : std::count_if(first, first + channels, [&](float p) { return *greatest - p < 1e-6; }) > 1;
    ASSERT_TRUE(found[i] == label || close) << i;
    const std::int64_t x = i % width - 1, y = i / width - 2;
    if (x >= 0 && y >= 0)
    {
      ASSERT_EQ(part[y * (width - 1) + x], found[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes,
                         StreamedGradient,
                         testing::Values(Case{ true, { 700, 513 }, 256 },
                                         Case{ true, { 449, 33 }, 64 },
                                         Case{ true, { 5, 7 }, 256 },
                                         Case{ true, { 449, 133 }, 128, Loss::Weighted },
                                         Case{ true, { 449, 133 }, 128, Loss::Dice },
                                         Case{ true, { 449, 133 }, 128, Loss::WeightedDice },
                                         Case{ true, { 449, 133 }, 128, Loss::Both },
                                         Case{ true, { 449, 133 }, 128, Loss::WeightedBoth },
                                         Case{ true, { 449, 133 }, 128, Loss::Focal },
                                         Case{ true, { 449, 133 }, 128, Loss::WeightedFocal },
                                         Case{ false, { 131, 77 }, 36, Loss::Focal },
                                         Case{ false, { 131, 77 }, 36, Loss::WeightedFocal },
                                         Case{ false, { 131, 77 }, 36 },
                                         Case{ false, { 64, 100 }, 6 },
                                         Case{ false, { 131, 77 }, 36, Loss::Weighted },
                                         Case{ false, { 131, 77 }, 36, Loss::Dice },
                                         Case{ false, { 131, 77 }, 36, Loss::WeightedDice },
                                         Case{ false, { 131, 77 }, 36, Loss::Both },
                                         Case{ false, { 131, 77 }, 36, Loss::WeightedBoth }),
                         GetCaseName);

TEST(StreamedNetwork, LeavesTheIgnoredLabelOut)
{
  NetworkDescription network = MakeNetwork(true);
  const Size         size{ 300, 200 };
  ProceduralPixels   pixels(size, 3);
  ProceduralLabels   labels(size, 3, 2, true);
  NinesIgnored       nines(size, 3, 2, true);
  LossGradient       sums[2];
  for (const bool other : { false, true })
  {
    network.ignoredLabel = other ? 9 : LabelSource::Ignored;
    StreamedNetwork streamed(network, 128, 2);
    streamed.SetParameters(MakeParameters(network));
    ASSERT_TRUE(streamed.ComputeGradient(pixels, other ? nines : labels, sums[other]));
  }
  EXPECT_LT(sums[0].pixels, size.width * size.height);
  EXPECT_EQ(sums[0].pixels, sums[1].pixels);
  EXPECT_EQ(sums[0].gradient, sums[1].gradient);
}

TEST(StreamedNetwork, RefusesWhatDoesNotFit)
{
  StreamedNetwork streamed(MakeNetwork(true), 256, 1);
  streamed.SetParameters(MakeParameters(MakeNetwork(true)));
  ProceduralPixels gray({ 300, 300 }, 1), color({ 300, 300 }, 1, 3);
  ProceduralLabels labels({ 300, 300 }, 1), others({ 300, 301 }, 1), many({ 2000, 300 }, 1, 4);
  LossGradient     sum;
  EXPECT_THROW(streamed.ComputeGradient(color, labels, sum), std::invalid_argument);
  EXPECT_THROW(streamed.ComputeGradient(gray, others, sum), std::invalid_argument);
  ProceduralPixels wide({ 2000, 300 }, 1);
  EXPECT_THROW(streamed.ComputeGradient(wide, many, sum), std::runtime_error);
  // It works on after an error.
  EXPECT_TRUE(streamed.ComputeGradient(gray, labels, sum));
}

TEST(StreamedNetwork, PassesOnWhatASourceThrows)
{
  struct Broken : ProceduralPixels
  {
    using ProceduralPixels::ProceduralPixels;
    void
    Read(const Region & region, std::uint8_t * samples) override
    {
      if (region.y > 600)
      {
        throw std::out_of_range("the disk is gone");
      }
      ProceduralPixels::Read(region, samples);
    }
  };
  StreamedNetwork streamed(MakeNetwork(true), 256, 3);
  streamed.SetParameters(MakeParameters(MakeNetwork(true)));
  Broken           pixels({ 900, 900 }, 1);
  ProceduralLabels labels({ 900, 900 }, 1);
  LossGradient     sum;
  EXPECT_THROW(streamed.ComputeGradient(pixels, labels, sum), std::out_of_range);
}

TEST(StreamedNetwork, StopsWhenProgressSaysSo)
{
  StreamedNetwork streamed(MakeNetwork(true), 256, 3);
  streamed.SetParameters(MakeParameters(MakeNetwork(true)));
  ProceduralPixels pixels({ 900, 900 }, 1);
  ProceduralLabels labels({ 900, 900 }, 1);
  LossGradient     sum;
  int              calls = 0;
  EXPECT_FALSE(streamed.ComputeGradient(pixels, labels, sum, [&](double) { return ++calls < 3; }));
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Dropout in tiles is dropout of the whole image: autograd with the same mask.
#include "TestDevice.h"
#include "GraphCases.h"
#include "HalfEmpty.h"
#include "SyntheticSources.h"
#include "TemporaryFolder.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "gigapixelTrainer.h"

#include "execute/gigapixelDropoutMask.h"

#include <gtest/gtest.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr std::uint64_t Seed = 41;

/** Dropout of values and of channels, in place and not, in front of poolings and behind them. */
NetworkDescription
MakeDropoutNetwork(const std::string & loss = "cross-entropy", double p = 0.3)
{
  NetworkGraph     graph;
  const Attributes attributes{ { "p", p } };
  const auto       input = Append(graph, "input", {}, { { "channels", std::int64_t(1) } });
  const auto       first = Append(graph, "relu", { AppendConvolution(graph, input, 4, 3, 1) });
  const auto       dropped = Append(graph, "dropout", { first }, attributes); // first is read again below
  const auto       pooled = Append(graph, "max_pool2d", { dropped }, { { "kernel_size", Pair(2, 2) } });
  const auto       deep = Append(graph, "dropout2d", { AppendConvolution(graph, pooled, 6, 3, 1) }, attributes);
  const auto       up = Append(graph, "interpolate", { deep, first }, { { "mode", std::string("bilinear") } });
  const auto       both = Append(graph, "dropout", { Append(graph, "cat", { first, up }) }, attributes);
  AppendConvolution(graph, both, 1, 3, 1);
  graph.output = graph.operations.back().name;
  NetworkDescription network = MakeNetwork(graph);
  network.SetLoss(loss);
  return network;
}

int
FindDropout(const NetworkGraph & graph)
{
  const auto found = std::find_if(graph.operations.begin(), graph.operations.end(), [](const Operation & operation) {
    return operation.type == "dropout";
  });
  return static_cast<int>(found - graph.operations.begin());
}

} // namespace

TEST(DropoutMask, LeavesTheShareThatIsAskedFor)
{
  for (const double p : { 0.0, 0.1, 0.5, 0.9 })
  {
    const DropoutMask mask(Seed, 3, p);
    std::int64_t      kept = 0, pairs = 0;
    for (std::int64_t i = 0; i < 100000; ++i)
    {
      const bool keeps = mask.Keeps(i / 500, i % 500 / 4, i % 4);
      kept += keeps;
      pairs += keeps && mask.Keeps(i / 500, i % 500 / 4 + 1, i % 4);
    }
    // Five standard deviations of so many throws; neighbors are independent.
    EXPECT_NEAR(kept / 1e5, 1 - p, 5 * std::sqrt(p * (1 - p) / 1e5)) << p;
    EXPECT_NEAR(pairs / 1e5, (1 - p) * (1 - p), 5 * std::sqrt(0.25 / 1e5)) << p;
  }
}

TEST(DropoutMask, DiffersBySeedAndOperation)
{
  const DropoutMask one(Seed, 3, 0.5), otherSeed(Seed + 1, 3, 0.5), otherOperation(Seed, 4, 0.5);
  int               seeds = 0, operations = 0;
  for (std::int64_t i = 0; i < 10000; ++i)
  {
    seeds += one.Keeps(i, 5, 1) == otherSeed.Keeps(i, 5, 1);
    operations += one.Keeps(i, 5, 1) == otherOperation.Keeps(i, 5, 1);
  }
  EXPECT_NEAR(seeds, 5000, 250);
  EXPECT_NEAR(operations, 5000, 250);
}

TEST(Dropout, InTilesIsThatOfTheWholeImage)
{
  const NetworkDescription  network = MakeDropoutNetwork();
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const LabeledImage        image = MakeImage({ Width, Height }, 1, 2, 5);
  const GraphResult         reference = ComputeReference(network, parameters, image, at::kDouble, Seed);
  const std::pair<std::int64_t, std::int64_t> sides[] = { { Height, Width }, { 16, 12 }, { 5, 7 }, { 3, 2 } };
  ForEachOperators([&](GraphOperators) {
    for (const auto & [height, width] : sides)
    {
      const GraphResult result = ComputeInTiles(network, parameters, image, Precision::Double, { height, width }, Seed);
      const Difference  difference = Compare(network.graph, result, reference);
      EXPECT_LE(difference.loss, 1e-12) << "tiles of " << height << " x " << width;
      EXPECT_LE(difference.gradient, 1e-12) << difference.array << ", tiles of " << height << " x " << width;
      EXPECT_LE(difference.probability, 1e-7) << "tiles of " << height << " x " << width; // which are float
    }
  });
  const GraphResult whole = ComputeReference(network, parameters, image, at::kDouble);
  EXPECT_GT(Compare(network.graph, whole, reference).gradient, 1e-2); // something is dropped
}

TEST(Dropout, InSegmentsIsThatOfTheWholeImage)
{
  const NetworkDescription  network = MakeDropoutNetwork();
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const LabeledImage        image = MakeImage({ Width, Height }, 1, 2, 5);
  const GraphResult         reference = ComputeReference(network, parameters, image, at::kDouble, Seed);
  for (int kept = 2; kept + 2 < static_cast<int>(network.graph.operations.size()); ++kept)
  {
    const GraphResult result =
      ComputeInSegments(network, parameters, image, Precision::Double, { kept }, { 8, 11 }, 0, Seed);
    const Difference difference = Compare(network.graph, result, reference);
    EXPECT_LE(difference.loss, 1e-12) << kept;
    EXPECT_LE(difference.gradient, 1e-12) << difference.array << ", " << kept;
  }
}

// The first pass of Dice has the same masks; tiles of one color, which are not computed alike, each have their own.
TEST(Dropout, IsTheSameInAllPassesOfAStep)
{
  constexpr Size Whole{ 150, 131 };
  for (const char * loss : { "cross-entropy", "dice" })
  {
    const NetworkDescription         network = MakeDropoutNetwork(loss);
    const std::vector<double>        parameters = MakeParameters(network.graph, 3);
    HalfEmpty<ProceduralPixels, 240> pixels(Whole, 5);
    HalfEmpty<ProceduralLabels, 0>   labels(Whole, 5);
    LabeledImage                     image{ Whole, {}, {} };
    image.pixels.resize(Whole.width * Whole.height);
    image.labels.resize(Whole.width * Whole.height);
    pixels.Read({ 0, 0, Whole.width, Whole.height }, image.pixels.data());
    labels.Read({ 0, 0, Whole.width, Whole.height }, image.labels.data());
    const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble, Seed);
    StreamedNetwork   streamed(network, 32, 2, { -1, Precision::Double });
    streamed.SetParameters(parameters);
    streamed.SetMaskSeed(Seed);
    const GraphGeometry geometry(network.graph, { Whole.height, Whole.width });
    const std::string   dropped = network.graph.operations[geometry.GetAsRead(FindDropout(network.graph))].name;
    const std::vector<SegmentPlan> inSegments{ { dropped, 8 }, { network.graph.output, 32 } };
    for (const auto & segments : { std::vector<SegmentPlan>(), inSegments })
    {
      streamed.SetSegments(segments, "");
      LossGradient sum;
      ASSERT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
      EXPECT_NEAR(sum.loss, reference.loss, 1e-12 * reference.loss) << loss;
      GraphResult result;
      result.loss = sum.loss;
      result.gradient = sum.gradient;
      const Difference difference = Compare(network.graph, result, reference);
      EXPECT_LE(difference.gradient, 1e-11) << loss << ", " << difference.array << ", " << segments.size();
    }

    streamed.SetMaskSeed({});
    Score score;
    ASSERT_TRUE(streamed.ComputeScore(pixels, labels, score));
    const GraphResult whole = ComputeReference(network, parameters, image, at::kDouble);
    EXPECT_NEAR(score.loss, whole.loss, 1e-12 * whole.loss) << loss;
  }
}

TEST(Dropout, OfARunGoesOnBitForBit)
{
  TrainingOptions options;
  options.epochs = 2;
  options.threads = 2;
  options.tileSize = 64;
  const auto train = [&](const std::string & folder, double p, const Trainer::Observer & observer) {
    Trainer trainer(MakeDropoutNetwork("cross-entropy", p), options, folder);
    trainer.AddTrainingSample(MakeSample("a", { 150, 131 }, 5));
    trainer.AddTrainingSample(MakeSample("b", { 131, 150 }, 6));
    trainer.AddValidationSample(MakeSample("c", { 100, 100 }, 7));
    return trainer.Run(observer);
  };
  const TemporaryFolder straight("dropout-straight"), stopped("dropout-stopped"), without("dropout-without");
  EXPECT_TRUE(train(straight.path, 0.3, {}));
  EXPECT_TRUE(train(without.path, 0, {}));
  EXPECT_FALSE(train(stopped.path, 0.3, [](const TrainingProgress & progress) {
    return progress.epoch < 2 || progress.validating || progress.fractionOfStep < 1;
  }));
  options.resume = true;
  options.threads = 3;
  EXPECT_TRUE(train(stopped.path, 0.3, {}));
  const std::string last = "/last.safetensors";
  EXPECT_TRUE(ReadAll(straight.path + last) == ReadAll(stopped.path + last));
  const Model       dropped = Model::Load(straight.path + last), whole = Model::Load(without.path + last);
  const std::string name = dropped.network.GetParameters().front().name;
  EXPECT_NE(dropped.parameters.at(name).values, whole.parameters.at(name).values);
}

TEST(Dropout, RefusesSharesThatAreNone)
{
  for (const double p : { -0.1, 1.0 })
  {
    EXPECT_THROW(MakeDropoutNetwork("cross-entropy", p), std::invalid_argument);
  }
}

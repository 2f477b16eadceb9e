/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Networks that are graphs, over whole images: the same numbers for every way of dividing the work.
#include "SyntheticSources.h"
#include "TemporaryFolder.h"
#include "gigapixelInitialWeights.h"
#include "gigapixelPredictor.h"
#include "gigapixelStreamedNetwork.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr Size Odd{ 301, 237 };

NetworkDescription
LoadUNet(const std::string & loss = "cross-entropy")
{
  NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=2,channels=1");
  network.SetLoss(loss);
  return network;
}

std::vector<double>
MakeWeights(const NetworkDescription & network)
{
  return MakeInitialWeights(network, 3, { 0.7, 0.3 });
}

/** One value on the right half, as glass without noise, so that many tiles are of one color. */
template <typename TSource, std::uint8_t Value>
class HalfEmpty : public TSource
{
public:
  using TSource::TSource;
  void
  Read(const Region & region, std::uint8_t * values) override
  {
    TSource::Read(region, values);
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      for (std::int64_t x = std::max<std::int64_t>(0, this->GetSize().width / 2 - region.x); x < region.width; ++x)
      {
        values[y * region.width + x] = Value;
      }
    }
  }
};

using HalfEmptyPixels = HalfEmpty<ProceduralPixels, 240>;
using HalfEmptyLabels = HalfEmpty<ProceduralLabels, 0>;

template <typename TPixels = ProceduralPixels, typename TLabels = ProceduralLabels>
LossGradient
ComputeGradient(const NetworkDescription & network,
                std::int64_t               tileSize,
                int                        threads,
                Precision                  precision = Precision::Float,
                Size                       size = Odd)
{
  Device device;
  device.precision = precision;
  StreamedNetwork streamed(network, tileSize, threads, device);
  streamed.SetParameters(MakeWeights(network));
  TPixels      pixels(size, 5);
  TLabels      labels(size, 5);
  LossGradient sum;
  EXPECT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
  return sum;
}

double
GetDifference(const std::vector<double> & a, const std::vector<double> & b)
{
  double difference = 0, norm = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
  {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

} // namespace

TEST(GraphTraining, HasTheSameBitsForAnyNumberOfThreads)
{
  for (const char * loss : { "cross-entropy", "dice" })
  {
    const NetworkDescription network = LoadUNet(loss);
    const LossGradient       one = ComputeGradient(network, 32, 1);
    for (const int threads : { 2, 3 })
    {
      const LossGradient several = ComputeGradient(network, 32, threads);
      EXPECT_EQ(several.loss, one.loss);
      EXPECT_EQ(several.gradient, one.gradient);
    }
  }
}

TEST(GraphTraining, HasTheSameGradientForAnyTileSize)
{
  // In double only the order of sums differs.
  const NetworkDescription network = LoadUNet();
  const LossGradient       whole = ComputeGradient(network, 304, 1, Precision::Double);
  for (const std::int64_t tileSize : { 4, 36, 160 })
  {
    const LossGradient tiles = ComputeGradient(network, tileSize, 2, Precision::Double);
    EXPECT_NEAR(tiles.loss / whole.loss, 1, 1e-12);
    EXPECT_EQ(tiles.pixels, Odd.width * Odd.height);
    EXPECT_LT(GetDifference(tiles.gradient, whole.gradient), 1e-12) << tileSize;
  }
}

TEST(GraphTraining, CountsEqualTilesAsOftenAsThereAre)
{
  // The image in one piece has no equal tiles.
  const NetworkDescription network = LoadUNet();
  const Size               size{ 1024, 512 };
  const auto               compute = [&](std::int64_t tileSize, int threads) {
    return ComputeGradient<HalfEmptyPixels, HalfEmptyLabels>(network, tileSize, threads, Precision::Double, size);
  };
  const LossGradient whole = compute(1024, 1);
  const LossGradient tiles = compute(64, 2);
  EXPECT_NEAR(tiles.loss / whole.loss, 1, 1e-12);
  EXPECT_LT(GetDifference(tiles.gradient, whole.gradient), 1e-12);
  EXPECT_EQ(compute(64, 1).gradient, tiles.gradient);
}

TEST(GraphTraining, PredictsTheSameBitsForAnyDivision)
{
  const NetworkDescription network = LoadUNet();
  StreamedNetwork          streamed(network, 64, 2);
  streamed.SetParameters(MakeWeights(network));
  ProceduralPixels   pixels(Odd, 5);
  std::vector<float> whole(Odd.width * Odd.height);
  ASSERT_TRUE(streamed.Predict(pixels, { 0, 0, Odd.width, Odd.height }, whole.data()));
  for (const Region & region : { Region{ 0, 0, 301, 50 }, Region{ 17, 33, 130, 99 }, Region{ 300, 236, 1, 1 } })
  {
    std::vector<float> part(region.width * region.height);
    ASSERT_TRUE(streamed.Predict(pixels, region, part.data()));
    std::vector<std::uint8_t> labels(part.size());
    ASSERT_TRUE(streamed.PredictLabels(pixels, region, 0.5, labels.data()));
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(part.size()); ++i)
    {
      const std::int64_t y = region.y + i / region.width, x = region.x + i % region.width;
      ASSERT_EQ(part[i], whole[y * Odd.width + x]);
      ASSERT_TRUE(std::abs(part[i] - 0.5f) < 1e-6f || labels[i] == (part[i] >= 0.5f ? 1 : 0));
    }
  }
}

TEST(GraphTraining, GoesOnBitForBitAfterAnInterruption)
{
  const auto make = [](const TemporaryFolder & folder, bool resume, int threads) {
    TrainingOptions options;
    options.epochs = 2;
    options.threads = threads;
    options.tileSize = 64;
    options.resume = resume;
    auto trainer = std::make_unique<Trainer>(LoadUNet(), options, folder.path);
    trainer->AddTrainingSample(MakeSample("a", { 130, 97 }, 1));
    trainer->AddTrainingSample(MakeSample("b", { 90, 111 }, 2));
    trainer->AddValidationSample(MakeSample("v", { 100, 80 }, 3));
    return trainer;
  };
  const TemporaryFolder straight("graph-straight"), interrupted("graph-interrupted");
  EXPECT_TRUE(make(straight, false, 2)->Run());
  bool resume = false;
  while (!make(interrupted, resume, resume ? 1 : 2)->Run([](const TrainingProgress & progress) {
    return progress.fractionOfStep < 1 || progress.validating;
  }))
  {
    resume = true;
  }
  EXPECT_TRUE(resume);
  for (const char * name : { "/best.safetensors", "/last.safetensors", "/history.csv" })
  {
    EXPECT_EQ(ReadAll(straight.path + name), ReadAll(interrupted.path + name)) << name;
  }
}

TEST(GraphTraining, Learns)
{
  TrainingOptions options;
  options.epochs = 60;
  options.tileSize = 128;
  options.learningRate = 1e-2;
  const TemporaryFolder folder("graph-learns");
  Trainer               trainer(LoadUNet(), options, folder.path);
  trainer.AddTrainingSample(MakeSample("a", { 160, 160 }, 1));
  trainer.AddTrainingSample(MakeSample("b", { 160, 160 }, 2));
  trainer.AddValidationSample(MakeSample("v", { 160, 160 }, 4));
  double dice = 0;
  EXPECT_TRUE(trainer.Run([&](const TrainingProgress & progress) {
    dice = progress.epochDone ? progress.validationDice : dice;
    return true;
  }));
  EXPECT_GT(dice, 0.9);
  const Predictor predictor(Model::Load(folder.path));
  EXPECT_EQ(predictor.GetModel().tileSize, 128);
}

TEST(GraphTraining, RefusesWhatItCannotCompute)
{
  Device device;
  device.precision = Precision::BFloat16;
  EXPECT_THROW(StreamedNetwork(LoadUNet(), 64, 1, device), std::invalid_argument);
  StreamedNetwork     streamed(LoadUNet(), 64, 1);
  std::vector<double> weights = MakeWeights(LoadUNet());
  for (double & weight : weights)
  {
    weight *= 1e30;
  }
  streamed.SetParameters(weights);
  ProceduralPixels          pixels(Odd, 5);
  std::vector<std::uint8_t> labels(Odd.width * Odd.height);
  EXPECT_THROW(streamed.PredictLabels(pixels, { 0, 0, Odd.width, Odd.height }, 0.5, labels.data()), std::runtime_error);
}

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Training on volumes, against steps that are taken by hand with autograd's gradient of the whole volumes.
#include "RefusalCode.h"
#include "GraphFixture.h"
#include "MemorySources.h"
#include "RelativeDifference.h"
#include "TemporaryFolder.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelTrainer.h"

#include <gtest/gtest.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

const char * const NetworkName = "unet3d:base=2,depth=1,classes=3";

LabeledImage
MakeVolume(Size size, unsigned seed)
{
  LabeledImage                    volume = MakeImage(size, 1, 3, seed);
  std::mt19937                    engine(seed);
  std::normal_distribution<float> normal;
  volume.floats.resize(volume.pixels.size());
  std::generate(volume.floats.begin(), volume.floats.end(), [&] { return normal(engine); });
  return volume;
}

/** Two, of different sizes, neither of which is a multiple of anything. */
const std::vector<LabeledImage> &
GetVolumes()
{
  static const std::vector<LabeledImage> volumes{ MakeVolume({ 21, 18, 13 }, 1), MakeVolume({ 14, 25, 11 }, 2) };
  return volumes;
}

TrainingOptions
MakeVolumeOptions()
{
  TrainingOptions options;
  options.epochs = 3;
  options.optimizer = "sgd";
  options.momentum = 0;
  options.learningRate = 0.05;
  options.imagesPerStep = 2;
  options.augment = false;
  options.threads = 2;
  options.tileSize = 8;
  options.device.precision = Precision::Double;
  return options;
}

std::unique_ptr<Trainer>
MakeVolumeTrainer(const TrainingOptions & options, const std::string & folder = {}, bool square = true)
{
  auto trainer = std::make_unique<Trainer>(NetworkDescription::Load(NetworkName), options, folder);
  for (const LabeledImage & volume : GetVolumes())
  {
    Sample sample{ "volume", std::make_shared<MemoryPixels>(volume, 1), std::make_shared<MemoryLabels>(volume) };
    sample.square = square;
    trainer->AddTrainingSample(sample);
  }
  return trainer;
}

std::vector<double>
GetWeights(const Trainer & trainer)
{
  return ToArray(trainer.GetLastModel());
}

} // namespace

TEST(VolumeTraining, TakesTheStepsOfAutograd)
{
  const TrainingOptions options = MakeVolumeOptions();
  const auto            begun = MakeVolumeTrainer(options), done = MakeVolumeTrainer(options);
  ASSERT_FALSE(begun->Run([](const TrainingProgress &) { return false; }));
  std::vector<double> weights = GetWeights(*begun);
  const auto          first = weights;
  std::vector<double> losses;
  for (int step = 0; step < options.epochs; ++step)
  {
    std::vector<double> gradient(weights.size());
    losses.push_back(0);
    for (const LabeledImage & volume : GetVolumes())
    {
      const GraphResult result = ComputeReference(begun->GetLastModel().network, weights, volume, at::kDouble);
      losses.back() += result.loss / result.weight / 2;
      for (std::size_t i = 0; i < weights.size(); ++i)
      {
        gradient[i] += result.gradient[i] / result.weight / 2;
      }
    }
    for (std::size_t i = 0; i < weights.size(); ++i)
    {
      weights[i] -= options.learningRate * gradient[i];
    }
  }
  std::vector<double> told;
  ASSERT_TRUE(done->Run([&](const TrainingProgress & progress) {
    if (progress.epochDone)
    {
      told.push_back(progress.loss);
    }
    return true;
  }));
  ASSERT_EQ(told.size(), losses.size());
  for (std::size_t i = 0; i < told.size(); ++i)
  {
    EXPECT_NEAR(told[i], losses[i], 1e-7); // the reference began with the floats of a model
  }
  EXPECT_LT(GetRelativeDifference(GetWeights(*done), weights), 1e-7);
  EXPECT_GT(GetRelativeDifference(first, weights), 1e-3);
}

TEST(VolumeTraining, HasTheSameBitsForAnyNumberOfThreadsAndAfterAnInterruption)
{
  TrainingOptions options = MakeVolumeOptions();
  options.augment = true;
  options.jitter = 0.1;
  options.imagesPerStep = 1;
  options.device.precision = Precision::Float;
  const auto train = [&options](int threads, const std::string & folder = {}) {
    options.threads = threads;
    auto trainer = MakeVolumeTrainer(options, folder);
    EXPECT_TRUE(trainer->Run());
    return GetWeights(*trainer);
  };
  const auto            one = train(1);
  const TemporaryFolder folder("volumes");
  EXPECT_EQ(train(3), one);
  ASSERT_FALSE(MakeVolumeTrainer(options, folder.path)->Run([](const TrainingProgress & progress) {
    return progress.epoch < 2 || progress.fractionOfStep < 1;
  }));
  options.resume = true;
  EXPECT_EQ(train(2, folder.path), one);
}

TEST(VolumeTraining, TurnsOnlyWhatStaysOfItsKind)
{
  TrainingOptions options = MakeVolumeOptions();
  options.augment = true;
  options.epochs = 6;
  const auto train = [&options](bool square) {
    auto trainer = MakeVolumeTrainer(options, {}, square);
    EXPECT_TRUE(trainer->Run());
    return GetWeights(*trainer);
  };
  EXPECT_NE(train(true), train(false));
}

TEST(VolumeTraining, RefusesVolumesThatTheNetworkIsNotFor)
{
  const LabeledImage & volume = GetVolumes().front();
  const auto           find = [&volume](const char * network, const LabeledImage & labels) {
    Trainer trainer(NetworkDescription::Load(network), MakeVolumeOptions(), {});
    trainer.AddTrainingSample(
      { "v", std::make_shared<MemoryPixels>(volume, 1), std::make_shared<MemoryLabels>(labels) });
    return gigapixel_test::FindRefusal([&] { trainer.Run(); });
  };
  const Diagnostic ofImages = find("unet:base=2,depth=1,channels=1", volume);
  EXPECT_EQ(ofImages.code, "E-MODEL-INPUT");
  EXPECT_EQ(ofImages.file, "v");
  const Diagnostic smaller = find(NetworkName, MakeVolume({ 21, 18, 12 }, 1));
  EXPECT_EQ(smaller.code, "E-MASK-GRID");
  EXPECT_EQ(smaller.file, "v");
}

TEST(VolumeTraining, StopsWhileASampleIsMadeReady)
{
  const LabeledImage & volume = GetVolumes().front();
  Trainer              trainer(NetworkDescription::Load(NetworkName), MakeVolumeOptions(), {});
  Sample sample{ "volume", std::make_shared<MemoryPixels>(volume, 1), std::make_shared<MemoryLabels>(volume) };
  int    asked = 0, prepared = 0;
  sample.prepare = [&](const std::function<bool()> & goesOn) {
    ++prepared;
    return goesOn() && goesOn();
  };
  trainer.AddTrainingSample(sample);
  EXPECT_FALSE(trainer.Run([&asked](const TrainingProgress &) { return ++asked < 2; }));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(prepared, 1);
}

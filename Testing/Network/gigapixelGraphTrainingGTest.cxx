/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Networks that are graphs, over whole images: the same numbers for every way of dividing the work.
#include "RefusalCode.h"
#include "BFloat16.h"
#include "HalfEmpty.h"
#include "RelativeDifference.h"
#include "Sanitized.h"
#include "SyntheticSources.h"
#include "TemporaryFolder.h"
#include "execute/gigapixelTorchModule.h"
#include "model/gigapixelInitialWeights.h"
#include "gigapixelNetworkPresets.h"
#include "gigapixelPredictor.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "gigapixelWeightsFile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
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

} // namespace

TEST(GraphTraining, HasTheSameBitsForAnyNumberOfThreads)
{
  for (const char * loss : { "cross-entropy", "dice", "dice+cross-entropy", "focal" })
  {
    const NetworkDescription network = LoadUNet(loss);
    const LossGradient       one = ComputeGradient(network, 32, 1);
    for (const int threads : { 2, 3, 4 })
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
    EXPECT_LT(GetRelativeDifference(tiles.gradient, whole.gradient), 1e-12) << tileSize;
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
  EXPECT_LT(GetRelativeDifference(tiles.gradient, whole.gradient), 1e-12);
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

namespace
{

class OneClass : public ProceduralLabels
{
public:
  OneClass(Size size, int itsClass)
    : ProceduralLabels(size, 1)
    , m_Class(static_cast<std::uint8_t>(itsClass))
  {}

  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    std::fill_n(classes, region.width * region.height, m_Class);
  }

private:
  std::uint8_t m_Class;
};

/** Not by EXPECT_EQ, which would look for the difference between megabytes. */
bool
AreEqual(const std::string & file, const std::string & other)
{
  const std::string content = ReadAll(file);
  return !content.empty() && content == ReadAll(other);
}

/** Of more than a million parameters, whose checkpoint is not written after each step. */
std::unique_ptr<Trainer>
MakeLargeTrainer(const TrainingOptions & options, const std::string & folder, double weightOfClass1 = 1)
{
  NetworkDescription network = NetworkDescription::Load("unet:base=16,channels=1");
  EXPECT_GT(network.GetNumberOfParameters(), 1000000);
  network.classWeights = { 1, weightOfClass1 };
  auto       trainer = std::make_unique<Trainer>(network, options, folder);
  const Size size{ 64, 48 };
  trainer->AddTrainingSample(
    { "glass", std::make_shared<ProceduralPixels>(size, 1), std::make_shared<OneClass>(size, 0) });
  trainer->AddTrainingSample(
    { "object", std::make_shared<ProceduralPixels>(size, 2), std::make_shared<OneClass>(size, 1) });
  return trainer;
}

gigapixel::Diagnostic
GetRefusal(Trainer & trainer, const Trainer::Observer & observer = {})
{
  return gigapixel_test::FindRefusal([&] { trainer.Run(observer); });
}

TrainingOptions
MakeLargeOptions()
{
  TrainingOptions options;
  options.epochs = 1;
  options.threads = 1;
  options.tileSize = 64;
  return options;
}

} // namespace

TEST(GraphTraining, KeepsTheLastGoodStepOfALargeNetworkThatDiverged)
{
  const TemporaryFolder folder("graph-diverged");
  // No float holds what the class 1 weighs; the first sample of the epoch has none of it.
  TrainingOptions options = MakeLargeOptions();
  std::string     first;
  for (options.seed = 1; first != "glass"; ++options.seed)
  {
    MakeLargeTrainer(options, "")->Run([&](const TrainingProgress & progress) {
      first = progress.sample;
      return false;
    });
  }
  --options.seed;
  const auto one = MakeLargeTrainer(options, folder.path + "/one", 1e39);
  EXPECT_FALSE(one->Run([](const TrainingProgress & progress) { return progress.fractionOfStep < 1; }));
  const auto                  two = MakeLargeTrainer(options, folder.path + "/two", 1e39);
  const gigapixel::Diagnostic refusal = GetRefusal(*two);
  EXPECT_EQ(refusal.code, "E-NOT-FINITE");
  EXPECT_NE(refusal.why.find(folder.path + "/two/last.safetensors"), std::string::npos) << refusal.why;
  EXPECT_TRUE(AreEqual(folder.path + "/two/last.safetensors", folder.path + "/one/last.safetensors"));
  for (const auto & [name, parameter] : two->GetLastModel().parameters)
  {
    EXPECT_TRUE(parameter.values == one->GetLastModel().parameters.at(name).values) << name;
  }
  // A learning rate that makes the weights of no use: the first ones are kept.
  options.learningRate = 1e39;
  const auto rate = MakeLargeTrainer(options, folder.path + "/rate");
  EXPECT_EQ(GetRefusal(*rate).code, "E-NOT-FINITE");
  EXPECT_FALSE(std::filesystem::exists(folder.path + "/rate"));
  for (const auto & [name, parameter] : rate->GetLastModel().parameters)
  {
    const auto isFinite = [](float value) { return std::isfinite(value); };
    EXPECT_TRUE(std::all_of(parameter.values.begin(), parameter.values.end(), isFinite)) << name;
  }
}

TEST(GraphTraining, TakesTheNetworksLearningRateUnlessTheRunHasAnother)
{
  EXPECT_EQ(GetDefaultLearningRate(NetworkDescription::Load("remedios2023")), 3e-3);
  EXPECT_EQ(GetDefaultLearningRate(NetworkDescription::Load("resnet34-unet:classes=3")), 1e-4);
  NetworkDescription imported = LoadUNet();
  EXPECT_EQ(GetDefaultLearningRate(imported), 1e-3);
  EXPECT_EQ(GetDefaultLearningRate(NetworkDescription::FromJSON(imported.ToJSON())), 1e-3);
  imported.learningRate = 0; // whatever its name
  EXPECT_EQ(GetDefaultLearningRate(NetworkDescription::FromJSON(imported.ToJSON())), 1e-4);

  constexpr double      Other = 3e-3;
  const TemporaryFolder given("rate-given"), stopped("rate-stopped"), own("rate-own");
  const auto            train = [&](const std::string & folder, double rate, bool resume, bool stop) {
    TrainingOptions options;
    options.epochs = 2;
    options.tileSize = 64;
    options.learningRate = rate;
    options.resume = resume;
    Trainer trainer(LoadUNet(), options, folder);
    trainer.AddTrainingSample(MakeSample("a", { 90, 70 }, 1));
    trainer.Run([&](const TrainingProgress & progress) { return !stop || progress.fractionOfStep < 1; });
    return ReadAll(folder + "/last.safetensors");
  };
  const std::string straight = train(given.path, Other, false, false);
  train(stopped.path, Other, false, true);
  EXPECT_THROW(train(stopped.path, 1e-3, true, false), std::runtime_error);
  ASSERT_TRUE(train(stopped.path, 0, true, false) == straight);
  EXPECT_NE(train(own.path, 0, false, false).find("learning-rate\\\":0.001,"), std::string::npos);
}

TEST(GraphTraining, DrawsTheSameWeightsOnAnyNumberOfThreads)
{
  const NetworkDescription network = NetworkDescription::Load("resnet18-unet");
  const auto               one = MakeInitialWeights(network, 3, { 0.7, 0.3 });
  ASSERT_TRUE(one == MakeInitialWeights(network, 3, { 0.7, 0.3 }, 3));
  ASSERT_FALSE(one == MakeInitialWeights(network, 4, { 0.7, 0.3 }, 3));
}

/** Zhang, Dauphin, Ma, Fixup initialization (2019): what its algorithm 1 says of L branches of m convolutions. */
TEST(GraphTraining, WithoutNormsWeightsBeginAsFixupSays)
{
  struct Case
  {
    const char * name;
    double       branches;
    int          convolutions;
    std::int64_t parameters;
  };
  // torchvision's networks without their norms' factors and summands; the numbers of each block and two more.
  for (const Case & test : { Case{ "resnet18:norm=fixup", 8, 2, 11176512 - 9600 + 8 * 5 + 2 + 513 },
                             Case{ "resnet50:norm=fixup", 16, 3, 23508032 - 53120 + 16 * 7 + 2 + 2049 } })
  {
    const NetworkDescription  network = NetworkDescription::Load(test.name);
    const std::vector<double> values = MakeInitialWeights(network, 3, { 0.5, 0.5 });
    EXPECT_EQ(network.GetNumberOfParameters(), test.parameters);
    const std::string last = "conv" + std::to_string(test.convolutions) + ".weight";
    int               scaled = 0, zero = 0;
    auto              first = values.begin();
    for (const ParameterDescription & parameter : network.graph.GetParameters())
    {
      const auto        end = first + parameter.GetNumberOfValues();
      const std::string role = parameter.name.substr(parameter.name.rfind('.') + 1);
      const double      square = std::inner_product(first, end, first, 0.0) / static_cast<double>(end - first);
      const bool        inBlock = parameter.name.rfind("layer", 0) == 0;
      if (role == "weight" && (parameter.name == "fc.weight" || parameter.name.find('.' + last) != std::string::npos))
      {
        EXPECT_EQ(square, 0) << parameter.name;
        ++zero;
      }
      else if (role == "weight" && parameter.name.find(".conv") != std::string::npos)
      {
        const std::int64_t fanIn = parameter.GetNumberOfValues() / parameter.shape[0];
        const double       scale = std::pow(test.branches, -1.0 / (2 * test.convolutions - 2));
        EXPECT_NEAR(square * fanIn / (2 * scale * scale), 1, 0.06) << parameter.name;
        ++scaled;
      }
      else if (inBlock && role != "weight")
      {
        EXPECT_EQ(*first, role == "scale" ? 1 : 0) << parameter.name;
        EXPECT_EQ(end - first, 1) << parameter.name;
      }
      first = end;
    }
    EXPECT_EQ(zero, test.branches + 1);
    EXPECT_EQ(scaled, test.branches * (test.convolutions - 1));
  }
}

TEST(GraphTraining, BeginsWithTheWeightsOfARun)
{
  const TemporaryFolder folder("graph-weights");
  const auto            train =
    [&](const std::string & network, const std::string & weights, const std::string & run, bool partial = false) {
      TrainingOptions options;
      options.epochs = 1;
      options.tileSize = 64;
      options.weights = weights;
      options.takeWeights = TakeWeights;
      options.partialWeights = partial;
      auto trainer = std::make_unique<Trainer>(NetworkDescription::Load(network), options, run);
      trainer->AddTrainingSample(MakeSample("a", { 90, 70 }, 1));
      return trainer;
    };
  const std::string run = folder.File("run");
  EXPECT_TRUE(train("unet:base=2,depth=2,channels=1", "", run)->Run());
  const Model given = Model::Load(run);
  const auto  stopAtOnce = [](const TrainingProgress &) { return false; };

  const auto  same = train(run, run, "");
  std::string warnings;
  same->SetWarning([&](const Diagnostic & warning) { warnings += warning.code + ' ' + warning.file + '\n'; });
  EXPECT_FALSE(same->Run(stopAtOnce));
  EXPECT_EQ(warnings.find(run), std::string::npos) << warnings;
  for (const auto & [name, parameter] : same->GetLastModel().parameters)
  {
    EXPECT_TRUE(parameter.values == given.parameters.at(name).values) << name;
  }

  // Another head: what it has in common is taken, where that is asked for.
  const std::string wider = "unet:base=2,depth=2,channels=1,classes=3";
  EXPECT_EQ(GetRefusal(*train(wider, run, "")).code, "E-WEIGHTS-MISMATCH");
  const auto other = train(wider, run, "", true);
  other->SetWarning([&](const Diagnostic & warning) { warnings += warning.code + ' ' + warning.file + '\n'; });
  EXPECT_FALSE(other->Run(stopAtOnce));
  EXPECT_NE(warnings.find("W-TRAINING " + run), std::string::npos) << warnings;
  const Model & last = other->GetLastModel();
  EXPECT_TRUE(last.parameters.at("enc.0.0.weight").values == given.parameters.at("enc.0.0.weight").values);
  EXPECT_EQ(last.parameters.at("last.bias").values.size(), 3u);
  EXPECT_EQ(GetRefusal(*train("remedios2023", run, "")).code, "E-WEIGHTS-MISMATCH");
  EXPECT_EQ(GetRefusal(*train("remedios2023", folder.path, "")).code, "E-RUN-FORMAT");
}

TEST(GraphTraining, GoesOnWhereAnEpochsFilesCouldNotBeWritten)
{
  const TemporaryFolder folder("graph-unwritten");
  TrainingOptions       options = MakeLargeOptions();
  EXPECT_TRUE(MakeLargeTrainer(options, folder.path + "/straight")->Run());
  const std::string run = folder.path + "/run";
  const auto        trainer = MakeLargeTrainer(options, run);
  EXPECT_NE(GetRefusal(*trainer,
                       [&](const TrainingProgress &) {
                         std::filesystem::create_directories(run + "/history.csv/in-the-way");
                         return true;
                       })
              .code,
            "");
  std::filesystem::remove_all(run + "/history.csv");
  options.resume = true;
  EXPECT_TRUE(MakeLargeTrainer(options, run)->Run());
  for (const char * name : { "/best.safetensors", "/last.safetensors", "/history.csv" })
  {
    EXPECT_TRUE(AreEqual(run + name, folder.path + "/straight" + name)) << name;
  }
}

TEST(GraphTraining, BlamesTheLearningRateOnlyWhereItIsToBlame)
{
  // A pixel becomes more than a float holds.
  const NetworkDescription network = NetworkDescription::FromJSON(R"({ "name": "n", "operations": [
    { "name": "image", "type": "input", "channels": 1 },
    { "name": "a", "type": "mul", "inputs": ["image"], "other": 1e38 },
    { "name": "b", "type": "mul", "inputs": ["a"], "other": 1e3 },
    { "name": "x", "type": "conv2d", "inputs": ["b"], "out_channels": 1, "kernel_size": 3, "padding": 1 }],
    "output": "x" })");
  TrainingOptions          options;
  options.tileSize = 64;
  Trainer trainer(network, options, "");
  trainer.AddTrainingSample(MakeSample("a", { 60, 60 }, 1));
  const gigapixel::Diagnostic refusal = GetRefusal(trainer);
  EXPECT_EQ(refusal.code, "E-NOT-FINITE");
  EXPECT_EQ(refusal.remedy.find("learning rate"), std::string::npos) << refusal.remedy;
}

TEST(GraphTraining, NamesTheEpochWhereValidationDiverges)
{
  // Trained on black images whose factor is 0; the validation sample is beyond what a float holds.
  const NetworkDescription network = NetworkDescription::FromJSON(R"({ "name": "n", "operations": [
    { "name": "image", "type": "input", "channels": 1 },
    { "name": "a", "type": "mul", "inputs": ["image"], "other": 1e38 },
    { "name": "b", "type": "mul", "inputs": ["a"], "other": 1e3 },
    { "name": "x", "type": "conv2d", "inputs": ["b"], "out_channels": 1, "kernel_size": 3, "padding": 1 }],
    "output": "x", "input": { "channels": 1, "invert": false } })");
  struct Black : ProceduralPixels
  {
    using ProceduralPixels::ProceduralPixels;
    void
    Read(const Region & region, std::uint8_t * samples) override
    {
      std::fill_n(samples, region.width * region.height, std::uint8_t{ 0 });
    }
  };
  const TemporaryFolder folder("graph-validation");
  TrainingOptions       options;
  options.tileSize = 64;
  Trainer trainer(network, options, folder.path);
  trainer.AddTrainingSample(
    { "black", std::make_shared<Black>(Size{ 60, 60 }, 1), MakeSample("a", { 60, 60 }, 1).labels });
  trainer.AddValidationSample(MakeSample("v", { 60, 60 }, 1));
  const gigapixel::Diagnostic refusal = GetRefusal(trainer);
  EXPECT_EQ(refusal.code, "E-NOT-FINITE");
  EXPECT_NE(refusal.why.find("\"v\""), std::string::npos) << refusal.why;
  EXPECT_NE(refusal.why.find(folder.path + "/last.safetensors"), std::string::npos) << refusal.why;
}

TEST(GraphTraining, EndsForImagesOfAnySize)
{
  for (const char * name : { "unet:base=8,depth=3,channels=1", "remedios2023" })
  {
    for (const Size size : { Size{ 1, 1 }, Size{ 17, 33 }, Size{ 64, 64 } })
    {
      std::vector<float> ofOneThread;
      for (const int threads : { 1, 2 })
      {
        TrainingOptions options;
        options.epochs = 2;
        options.threads = threads;
        Trainer trainer(NetworkDescription::Load(name), options, "");
        trainer.AddTrainingSample(MakeSample("a", size, 1));
        if (size.width == 1 && name[0] == 'u') // as PyTorch: nothing is left of a pixel that is pooled
        {
          EXPECT_EQ(GetRefusal(trainer).code, "E-NETWORK-IMAGE-SIZE");
          EXPECT_EQ(GetRefusal(trainer).file, "a");
          continue;
        }
        EXPECT_TRUE(trainer.Run());
        const std::vector<float> & weights = trainer.GetLastModel().parameters.begin()->second.values;
        ofOneThread = threads == 1 ? weights : ofOneThread;
        EXPECT_TRUE(weights == ofOneThread) << name << ' ' << size.width;
      }
    }
  }
}

// Their gradients, in double, wait for each other.
TEST(GraphTraining, ThePlanCountsTheImagesOfAStep)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  struct Planned
  {
  };
  const NetworkDescription network = NetworkDescription::Load("unet:base=64,depth=3,channels=1");
  const auto               getPeak = [&](int imagesPerStep) {
    TrainingOptions options;
    options.epochs = 1;
    options.threads = 1;
    options.tileSize = 96;
    options.imagesPerStep = imagesPerStep;
    Trainer      trainer(network, options, "");
    std::int64_t peak = 0;
    trainer.SetPlanObserver([&](const MemoryPlan & plan) {
      peak = plan.peakBytes;
      throw Planned();
    });
    for (const char * name : { "a", "b", "c" })
    {
      trainer.AddTrainingSample(MakeSample(name, { 130, 110 }, 1));
    }
    EXPECT_THROW(trainer.Run(), Planned);
    return static_cast<double>(peak);
  };
  // The mean of those before waits for the next gradient, however many there are. What the process holds by then, some
  // pages more or less, is counted as well.
  const double one = getPeak(1), more = 8.0 * static_cast<double>(network.GetNumberOfParameters());
  for (const int images : { 2, 3, 100 })
  {
    EXPECT_NEAR(getPeak(images), one + more, more / 8) << images;
  }
}

TEST(GraphTraining, ABudgetNeverChangesTheResult)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  constexpr Size Image{ 330, 270 };
  for (const char * name : { "unet:base=4,depth=2,channels=1", "unet:base=16,depth=3,channels=1" })
  {
    const auto train = [&](std::int64_t memory) {
      TrainingOptions options;
      options.epochs = 1;
      options.threads = 4;
      options.tileSize = 96;
      options.memory = memory;
      Trainer trainer(NetworkDescription::Load(name), options, "");
      int     inFlight = 0;
      trainer.SetPlanObserver([&](const MemoryPlan & plan) { inFlight = plan.tilesInFlight; });
      trainer.AddTrainingSample(MakeSample("a", Image, 1));
      EXPECT_TRUE(trainer.Run());
      return std::make_pair(inFlight, trainer.GetLastModel().parameters);
    };
    PlannedRun one(NetworkDescription::Load(name), Image, Purpose::Training, {});
    one.threads = 1;
    one.tileSize = 96;
    const auto rich = train(0);
    const auto trainPoor = [&] {
      try
      {
        return train(MemoryPlan::Make(one).peakBytes + (8 << 20));
      }
      catch (const MemoryLimitError & error) // the allocator holds memory of the run before, which the plan counts
      {
        return train(error.least + (1 << 20));
      }
    };
    const auto poor = trainPoor();
    EXPECT_EQ(rich.first, 4);
    EXPECT_LT(poor.first, 4);
    for (const auto & [array, parameter] : rich.second)
    {
      EXPECT_EQ(parameter.values, poor.second.at(array).values) << name << ' ' << array;
    }
  }
}

class GraphLearning : public testing::TestWithParam<Precision>
{
};

TEST_P(GraphLearning, SegmentsWhatItHasSeen)
{
  TrainingOptions options;
  options.device.precision = GetParam();
  options.epochs = 60;
  options.tileSize = 128;
  options.learningRate = 1e-2;
  const TemporaryFolder folder("graph-learns-" + GetName(GetParam()));
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
  EXPECT_EQ(predictor.GetTileSize(), 128);
}

INSTANTIATE_TEST_SUITE_P(Precisions, GraphLearning, testing::ValuesIn(GetGraphPrecisions()), [](const auto & info) {
  return GetName(info.param);
});

/** What is said of a device that a network of operations is not computed on; empty: it is. */
gigapixel::Diagnostic
GetRefusal(const Device & device)
{
  return gigapixel_test::FindRefusal([&] { CheckDevice(LoadUNet(), device); });
}

TEST(GraphTraining, SaysWhyADeviceDoesNotComputeIt)
{
  EXPECT_EQ(GetRefusal({ -1, Precision::Float }).code, "");
  EXPECT_EQ(GetRefusal({ -1, Precision::TensorFloat32 }).code, "E-PRECISION");
  EXPECT_EQ(GetRefusal({ -1, Precision::TensorFloat32 }).value, "tf32");
  EXPECT_EQ(GetRefusal({ 0, Precision::Float16 }).code, "E-PRECISION");
  EXPECT_EQ(GetRefusal({ 0, Precision::Float, true }).code, "E-OPTION-APPLIES");
  std::string problem;
  const int   gpus = TorchModule::Get().countGpus(problem);
  EXPECT_EQ(problem.empty(), gpus > 0);
  const gigapixel::Diagnostic refusal = GetRefusal({ gpus, Precision::TensorFloat32 }); // one too many
  EXPECT_EQ(refusal.code, "E-DEVICE-MISSING");
  EXPECT_EQ(refusal.value, "cuda:" + std::to_string(gpus));
  EXPECT_TRUE(gpus > 0 || refusal.why.find(problem) != std::string::npos) << refusal.why;
}

TEST(GraphTraining, RefusesWhatItCannotCompute)
{
  Device device;
  device.precision = Precision::Float16;
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

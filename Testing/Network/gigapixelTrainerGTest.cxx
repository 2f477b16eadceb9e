/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "Sanitized.h"
#include "TrainerFixture.h"
#include "gigapixelWeightsFile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

TEST(Trainer, KeepsModelsHistoryAndBestWeights)
{
  const std::string folder = GetUninterrupted().path;
  const Model       best = Model::Load(folder);
  EXPECT_EQ(best.tileSize, 256);
  EXPECT_EQ(best.network.GetNumberOfParameters(), 4492);
  std::ifstream history(folder + "/history.csv");
  std::string   line;
  ASSERT_TRUE(std::getline(history, line));
  EXPECT_EQ(line, "epoch,training_loss,validation_loss,validation_dice,learning_rate");
  int lines = 0;
  while (std::getline(history, line))
  {
    EXPECT_EQ(line.rfind(std::to_string(++lines) + ",", 0), 0u);
  }
  EXPECT_EQ(lines, 2);
}

TEST(Trainer, BudgetNeverChangesTheResult)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  TrainingOptions options = MakeOptions();
  options.threads = 4;
  auto rich = MakeTrainer(options, "");
  EXPECT_TRUE(rich->Run());
  // Room for one tile in flight, beside what the process holds now.
  PlannedRun one(NetworkDescription::Load("remedios2023"), { 512, 512 }, Purpose::Training, {});
  one.threads = 1;
  one.tileSize = options.tileSize;
  options.memory = MemoryPlan::Make(one).peakBytes + (8 << 20);
  auto poor = MakeTrainer(options, "");
  EXPECT_TRUE(poor->Run());
  for (const auto & [name, parameter] : rich->GetLastModel().parameters)
  {
    EXPECT_EQ(parameter.values, poor->GetLastModel().parameters.at(name).values) << name;
  }
}

TEST(Trainer, AModelOfImagesInOnePieceIsUsedInTiles)
{
  TrainingOptions options = MakeOptions();
  options.tileSize = WholeImage;
  options.epochs = 1;
  auto trainer = MakeTrainer(options, "");
  EXPECT_TRUE(trainer->Run());
  EXPECT_EQ(trainer->GetBestModel().tileSize, 2048);
}

TEST(Trainer, RefusesTwoRunsInOneFolder)
{
  const TemporaryFolder folder("lock");
  TrainingOptions       options = MakeOptions();
  options.resume = true;
  gigapixel::Diagnostic refusal;
  MakeTrainer(options, folder.path)->Run([&](const TrainingProgress &) {
    refusal = GetRefusal(options, folder.path);
    return false;
  });
  EXPECT_EQ(refusal.code, "E-RUN-CONFLICT");
  EXPECT_EQ(refusal.file, folder.path);
}

TEST(Trainer, KeepsAHistoryOfSomebodyElse)
{
  const TemporaryFolder folder("history");
  TrainingOptions       options = MakeOptions();
  std::ofstream(folder.path + "/history.csv") << "my own";
  for (const bool resume : { false, true })
  {
    options.resume = resume;
    const gigapixel::Diagnostic refusal = GetRefusalAtOnce(options, folder.path);
    EXPECT_EQ(refusal.code, "E-OUTPUT-EXISTS");
    EXPECT_EQ(refusal.file, folder.path);
    EXPECT_EQ(ReadAll(folder.path + "/history.csv"), "my own");
  }
}

TEST(Trainer, RefusesAtOnceAFolderThatItCannotWriteTo)
{
  const TemporaryFolder folder("obstacle");
  TrainingOptions       options = MakeOptions();
  EXPECT_EQ(GetRefusal(options, folder.path, StopAfterStep).code, "");
  std::filesystem::create_directory(folder.path + "/best.safetensors");
  options.resume = true;
  gigapixel::Diagnostic refusal = GetRefusalAtOnce(options, folder.path);
  EXPECT_EQ(refusal.code, "E-RUN-CONFLICT");
  EXPECT_EQ(refusal.file, folder.path);
  const std::string system = "/proc/self/task"; // nobody can make files here, not even root
  if (std::filesystem::exists(system))
  {
    refusal = GetRefusalAtOnce(options, system);
    EXPECT_EQ(refusal.code, "E-OUTPUT-WRITE");
    EXPECT_EQ(refusal.file, system);
  }
}

TEST(Trainer, LeavesNoFolderWithoutAStep)
{
  const TemporaryFolder parent("nothing");
  const std::string     folder = parent.path + "/run";
  EXPECT_EQ(GetRefusalAtOnce(MakeOptions(), folder).code, "");
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(GetRefusalAtOnce(MakeOptions(), parent.path).code, "");
  EXPECT_TRUE(std::filesystem::exists(parent.path)); // it was there before
  EXPECT_EQ(GetRefusal(MakeOptions(), folder, StopAfterStep).code, "");
  EXPECT_TRUE(std::filesystem::exists(folder + "/last.safetensors"));
}

TEST(Trainer, RefusesWrongValidationLabelsAtOnce)
{
  const Size         size{ 128, 96 };
  const auto         pixels = std::make_shared<ProceduralPixels>(size, 1);
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  const auto         getRefusal = [&] {
    struct Sevens : ProceduralLabels
    {
      using ProceduralLabels::ProceduralLabels;
      void
      Read(const Region & region, std::uint8_t * classes) override
      {
        std::fill_n(classes, region.width * region.height, std::uint8_t{ 7 });
      }
    };
    Trainer trainer(network, MakeOptions(), "");
    trainer.AddTrainingSample(MakeSample("good", size, 1));
    trainer.AddValidationSample({ "sevens", pixels, std::make_shared<Sevens>(size, 1) });
    return gigapixel_test::FindRefusal([&] { trainer.Run([](const TrainingProgress &) { return false; }); });
  };
  EXPECT_EQ(getRefusal().code, "E-LABEL-VALUE");
  EXPECT_EQ(getRefusal().file, "sevens");
  EXPECT_EQ(getRefusal().value, "7");
  network.ignoredLabel = 7;
  EXPECT_EQ(getRefusal().code, "");
}

TEST(Trainer, SaysThatItDivergedAndKeepsTheLastGoodStep)
{
  const TemporaryFolder folder("diverged");
  TrainingOptions       options = MakeConstantOptions();
  options.learningRate = 1e30;
  gigapixel::Diagnostic refusal = GetRefusal(options, folder.path + "/never");
  EXPECT_EQ(refusal.code, "E-NOT-FINITE");
  EXPECT_FALSE(refusal.remedy.empty());
  EXPECT_FALSE(std::filesystem::exists(folder.path + "/never"));

  // The class 1 weighs more than a float holds. The first sample has none of it; what came of it stays.
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  network.classWeights = { 1, 1e39 };
  options = MakeConstantOptions();
  Trainer trainer(network, options, folder.path + "/run");
  trainer.AddTrainingSample(MakeSample("object", { 600, 410 }, 1));
  trainer.AddTrainingSample({ "glass", MakeSample("glass", { 600, 410 }, 2).pixels, MakeBackground({ 600, 410 }) });
  std::string last;
  try
  {
    trainer.Run([&](const TrainingProgress & progress) {
      last = progress.fractionOfStep >= 1 ? ReadAll(folder.path + "/run/last.safetensors") : last;
      return true;
    });
    FAIL();
  }
  catch (const std::runtime_error & error)
  {
    refusal = gigapixel::Diagnostic::Of(error);
  }
  EXPECT_EQ(refusal.code, "E-NOT-FINITE");
  EXPECT_NE(refusal.why.find("\"object\""), std::string::npos) << refusal.why;
  EXPECT_NE(refusal.why.find(folder.path + "/run/last.safetensors"), std::string::npos) << refusal.why;
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(ReadAll(folder.path + "/run/last.safetensors"), last);
}

TEST(Trainer, WarnsOfClassesThatTheMasksLack)
{
  constexpr Size image{ 600, 410 };
  const auto     sound = MakeSample("a", image, 1);
  const auto     warn = [&](const std::shared_ptr<LabelSource> & training,
                        const std::shared_ptr<LabelSource> & validation) {
    TrainingOptions options = MakeOptions();
    options.epochs = 1;
    Trainer     trainer(NetworkDescription::Load("remedios2023"), options, "");
    std::string warnings;
    trainer.AddTrainingSample({ "a", sound.pixels, training });
    trainer.AddValidationSample({ "b", sound.pixels, validation });
    trainer.SetWarning([&](const Diagnostic & warning) { warnings += warning.code + ' ' + warning.value + '\n'; });
    trainer.Run();
    return warnings;
  };
  const auto empty = MakeBackground(image), full = MakeUniformMask<1>(image);
  EXPECT_EQ(warn(sound.labels, sound.labels), "");
  EXPECT_EQ(warn(empty, sound.labels), "W-DOUBT-MASK-EMPTY 0\n"); // the share of the object
  EXPECT_EQ(warn(sound.labels, empty), "W-DOUBT-MASK-EMPTY 0\n");
  EXPECT_EQ(warn(full, sound.labels), "W-DOUBT-MASK-FULL 1\n");
  EXPECT_EQ(warn(sound.labels, full), "W-DOUBT-MASK-FULL 1\n");
}

TEST(Trainer, WarnsOfWhatIsFrozenAsItBeginsByChance)
{
  const auto network = NetworkDescription::Load("remedios2023");
  const auto warn = [&network](const std::vector<std::string> & freeze, const std::string & weights) {
    TrainingOptions options = MakeConstantOptions();
    options.epochs = 1;
    options.freeze = freeze;
    options.weights = weights;
    options.takeWeights = TakeWeights;
    Trainer     trainer(network, options, "");
    std::string warnings;
    trainer.AddTrainingSample(MakeSample("a", { 600, 410 }, 1));
    trainer.SetWarning([&](const Diagnostic & warning) { warnings += warning.code + ' ' + warning.value + '\n'; });
    trainer.Run();
    return warnings;
  };
  EXPECT_EQ(warn({}, ""), "");
  EXPECT_EQ(warn({ "L1" }, ""), "W-TRAINING \n");
  const TemporaryFolder folder("frozen");
  Trainer               first(network, MakeConstantOptions(), "");
  first.AddTrainingSample(MakeSample("a", { 600, 410 }, 1));
  first.Run();
  first.GetLastModel().Save(folder.File("model.safetensors"));
  EXPECT_EQ(warn({ "L1" }, folder.File("model.safetensors")), "");
  TrainingOptions unread = MakeConstantOptions();
  unread.weights = folder.File("model.safetensors"); // and nothing that reads the file
  Trainer trainer(network, unread, "");
  trainer.AddTrainingSample(MakeSample("a", { 600, 410 }, 1));
  EXPECT_REFUSAL(trainer.Run(), "E-OPTION-NEEDS");
}

TEST(Trainer, RefusesBadSamplesAndOptions)
{
  const NetworkDescription network = NetworkDescription::Load("remedios2023");
  Trainer                  none(network, MakeConstantOptions(), "");
  EXPECT_THROW(none.Run(), std::invalid_argument);

  const auto refuses = [&](const Sample & sample, const char * code) {
    Trainer trainer(network, MakeConstantOptions(), "");
    trainer.AddTrainingSample(sample);
    const Diagnostic refusal = gigapixel_test::FindRefusal([&] { trainer.Run(); });
    EXPECT_EQ(refusal.code, code) << refusal.why;
    EXPECT_EQ(refusal.file, sample.name);
  };
  const Sample good = MakeSample("good", { 100, 90 }, 1), other = MakeSample("other", { 100, 91 }, 1);
  refuses({ "sizes", good.pixels, other.labels }, "E-MASK-GRID");
  refuses({ "colors", std::make_shared<ProceduralPixels>(Size{ 100, 90 }, 1, 3), good.labels }, "E-MODEL-INPUT");
  const Size wide{ 2000, 300 };
  refuses({ "classes", std::make_shared<ProceduralPixels>(wide, 1), std::make_shared<ProceduralLabels>(wide, 1, 4) },
          "E-LABEL-VALUE");
  struct AllIgnored : ProceduralLabels
  {
    using ProceduralLabels::ProceduralLabels;
    void
    Read(const Region & region, std::uint8_t * classes) override
    {
      std::fill_n(classes, region.width * region.height, Ignored);
    }
  };
  refuses({ "ignored", good.pixels, std::make_shared<AllIgnored>(Size{ 100, 90 }, 1) }, "E-COHORT-LABELS");

  TrainingOptions tooSmall = MakeConstantOptions();
  tooSmall.memory = 1000000;
  Trainer trainer(network, tooSmall, "");
  trainer.AddTrainingSample(good);
  EXPECT_THROW(trainer.Run(), std::runtime_error);
}

// Weights of a run in tiles and with each image in one piece stay together.
TEST(Trainer, OnePieceAndTilesAgree)
{
  TrainingOptions options = MakeOptions();
  auto            streamed = MakeTrainer(options, "");
  options.tileSize = WholeImage;
  auto whole = MakeTrainer(options, "");
  EXPECT_TRUE(streamed->Run());
  EXPECT_TRUE(whole->Run());
  for (const auto & [name, parameter] : streamed->GetLastModel().parameters)
  {
    const auto & other = whole->GetLastModel().parameters.at(name).values;
    double       difference = 0, norm = 0;
    for (std::size_t i = 0; i < other.size(); ++i)
    {
      difference += std::pow(other[i] - parameter.values[i], 2);
      norm += std::pow(other[i], 2);
    }
    // Adam divides by the gradient's size: rounding of 1e-6 in a gradient near zero moves a weight by up to 1e-3 a
    // step.
    EXPECT_LT(std::sqrt(difference), 1e-3 * std::sqrt(norm) + 1e-4) << name;
  }
}

// Pixels that were read once make the same bits, turned and over several slides.
TEST(Trainer, SharedMemoryChangesNoBit)
{
  TrainingOptions options = MakeOptions();
  options.sharedMemory = true;
  auto shared = MakeTrainer(options, "");
  EXPECT_TRUE(shared->Run());
  const Model streamed = Model::Load(GetUninterrupted().path + "/last.safetensors");
  for (const auto & [name, parameter] : shared->GetLastModel().parameters)
  {
    EXPECT_EQ(parameter.values, streamed.parameters.at(name).values) << name;
  }
}

// Before the first tile: the classes of five samples are counted in 16 rows of blocks each, then the first band is
// read.
TEST(Trainer, ReportsAndStopsWhileItReadsAnImage)
{
  struct CountingRanks : Ranks
  {
    int reports{ 0 };
    void
    ReportProgress() override
    {
      ++reports;
    }
  };
  const auto      ranks = std::make_shared<CountingRanks>();
  TrainingOptions options = MakeOptions();
  options.sharedMemory = true;
  options.ranks = ranks;
  EXPECT_FALSE(MakeTrainer(options, "")->Run([](const TrainingProgress &) { return false; }));
  EXPECT_EQ(ranks->reports, 5 * 16 + 1);
}

TEST(Trainer, StopsEarlyAndLowersTheLearningRate)
{
  TrainingOptions options = MakeOptions();
  options.epochs = 40;
  options.learningRate = 1e-60; // below every float: nothing changes, no epoch is better than the first
  options.earlyStopping = 3;
  auto                trainer = MakeTrainer(options, "");
  std::vector<double> rates;
  EXPECT_TRUE(trainer->Run([&](const TrainingProgress & progress) {
    if (progress.epochDone)
    {
      rates.push_back(progress.learningRate);
    }
    return true;
  }));
  EXPECT_EQ(rates, (std::vector<double>{ 1e-60, 1e-60, 5e-61, 2.5e-61 }));
}

// Dice and specificity with the default options, seeds of no particular luck: see MakeInitialWeights() on why none
// can begin with a dead network. Calling everything tissue would give a Dice of 0.39.
TEST(Trainer, LearnsWithEverySeed)
{
  std::vector<Sample> samples;
  for (std::uint64_t i = 0; i < 4; ++i)
  {
    samples.push_back(MakeSample("t" + std::to_string(i), { 800, 700 }, 10 + i));
  }
  const Sample validation = MakeSample("v", { 1024, 1024 }, 99);
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
  {
    TrainingOptions options;
    options.epochs = 12;
    options.threads = 2;
    options.seed = seed;
    Trainer trainer(NetworkDescription::Load("remedios2023"), options, "");
    for (const Sample & sample : samples)
    {
      trainer.AddTrainingSample(sample);
    }
    trainer.AddValidationSample(validation);
    double dice = 0;
    trainer.Run([&](const TrainingProgress & progress) {
      dice = progress.epochDone ? progress.validationDice : dice;
      return true;
    });
    EXPECT_GT(dice, 0.95) << "seed " << seed;
  }
}

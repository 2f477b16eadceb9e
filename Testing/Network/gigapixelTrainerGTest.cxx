/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SyntheticSources.h"
#include "TemporaryFolder.h"
#include "gigapixelInitialWeights.h"
#include "gigapixelTrainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** For samples that need not be validated. */
TrainingOptions
MakeConstantOptions()
{
  TrainingOptions options;
  options.epochs = 2;
  options.threads = 2;
  options.tileSize = 256;
  return options;
}

TrainingOptions
MakeOptions()
{
  TrainingOptions options = MakeConstantOptions();
  options.learningRateSchedule = "plateau";
  options.learningRateDecay = 0.5;
  return options;
}

std::unique_ptr<Trainer>
MakeTrainer(const TrainingOptions & options, const std::string & folder)
{
  auto trainer = std::make_unique<Trainer>(NetworkDescription::Load("remedios2023"), options, folder);
  trainer->AddTrainingSample(MakeSample("a", { 600, 410 }, 1));
  trainer->AddTrainingSample(MakeSample("b", { 300, 700 }, 2));
  trainer->AddTrainingSample(MakeSample("c", { 512, 512 }, 3));
  trainer->AddValidationSample(MakeSample("v", { 500, 600 }, 4));
  trainer->AddValidationSample(MakeSample("w", { 300, 300 }, 5));
  return trainer;
}

std::shared_ptr<LabelSource>
MakeBackground(Size size)
{
  struct Background : ProceduralLabels
  {
    using ProceduralLabels::ProceduralLabels;
    void
    Read(const Region & region, std::uint8_t * classes) override
    {
      std::fill_n(classes, region.width * region.height, std::uint8_t{ 0 });
    }
  };
  return std::make_shared<Background>(size, 1);
}

/** The run that nobody disturbs. */
const TemporaryFolder &
GetUninterrupted()
{
  static const TemporaryFolder folder("uninterrupted");
  static const bool            done = MakeTrainer(MakeOptions(), folder.path)->Run();
  EXPECT_TRUE(done);
  return folder;
}

void
ExpectSameFiles(const std::string & a, const std::string & b)
{
  for (const char * name : { "/last.safetensors", "/best.safetensors", "/history.csv" })
  {
    EXPECT_EQ(ReadAll(a + name), ReadAll(b + name)) << name;
    EXPECT_FALSE(ReadAll(a + name).empty()) << name;
  }
}

std::string
GetRefusal(const TrainingOptions & options, const std::string & folder, const Trainer::Observer & observer = {})
{
  try
  {
    MakeTrainer(options, folder)->Run(observer);
  }
  catch (const std::exception & error)
  {
    return error.what();
  }
  return "";
}

/** That comes before anything is computed. */
std::string
GetRefusalAtOnce(const TrainingOptions & options, const std::string & folder)
{
  return GetRefusal(options, folder, [](const TrainingProgress &) { return false; });
}

bool
StopAfterStep(const TrainingProgress & progress)
{
  return progress.fractionOfStep < 1;
}

/** A checkpoint's header and its arrays, to damage them. */
struct Checkpoint
{
  explicit Checkpoint(const std::string & content)
  {
    std::uint64_t size = 0;
    std::memcpy(&size, content.data(), sizeof(size));
    header = content.substr(sizeof(size), size);
    data = content.substr(sizeof(size) + size);
  }

  /** \param value in the place of a number of the state */
  void
  SetNumber(const std::string & name, const std::string & value)
  {
    const std::string key = "\\\"" + name + "\\\":";
    const std::size_t begin = header.find(key) + key.size();
    header.replace(begin, header.find_first_of(",}", begin) - begin, value);
  }

  void
  Replace(const std::string & text, const std::string & by)
  {
    const std::size_t place = header.find(text);
    ASSERT_NE(place, std::string::npos) << text << " in " << header;
    header.replace(place, text.size(), by);
  }

  /** \param value in the place of the array's first one */
  void
  SetFirst(const std::string & array, double value)
  {
    const std::string key = "\"data_offsets\":[";
    const std::size_t place = header.find(key, header.find("\"" + array + "\"")) + key.size();
    std::memcpy(data.data() + std::stoul(header.substr(place)), &value, sizeof(value));
  }

  void
  Save(const std::string & path) const
  {
    const std::uint64_t size = header.size();
    std::ofstream       file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(&size), sizeof(size));
    file << header << data;
  }

  std::string header;
  std::string data;
};

} // namespace

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

// Stopped after the k-th report, whatever it is about (a tile, a step, a validation tile, an epoch), again and again.
class Interrupted : public testing::TestWithParam<int>
{
};

TEST_P(Interrupted, RunGoesOnBitForBit)
{
  const TemporaryFolder folder("interrupted");
  TrainingOptions       options = MakeOptions();
  options.resume = true;
  options.threads = GetParam() % 3 + 1;
  int runs = 0;
  for (bool done = false; !done && runs < 60; ++runs)
  {
    int reports = 0;
    done = MakeTrainer(options, folder.path)->Run([&](const TrainingProgress &) { return ++reports < GetParam(); });
  }
  EXPECT_GT(runs, 2);
  ExpectSameFiles(folder.path, GetUninterrupted().path);
}

INSTANTIATE_TEST_SUITE_P(Reports, Interrupted, testing::Values(17, 23), testing::PrintToStringParamName());

TEST(Trainer, ResumesAfterAnExceptionAndRemovesUnfinishedFiles)
{
  const TemporaryFolder folder("thrown");
  TrainingOptions       options = MakeOptions();
  int                   steps = 0;
  EXPECT_THROW(MakeTrainer(options, folder.path)->Run([&](const TrainingProgress & progress) -> bool {
    steps += progress.fractionOfStep == 1 && !progress.validating;
    return steps < 5 ? true : throw std::out_of_range("the power is gone");
  }),
               std::out_of_range);
  std::ofstream(folder.path + "/.last.safetensors.1-0.part") << "half";
  options.resume = true;
  options.threads = 4;
  options.memory = std::int64_t{ 1 } << 30;
  EXPECT_TRUE(MakeTrainer(options, folder.path)->Run());
  ExpectSameFiles(folder.path, GetUninterrupted().path);
  EXPECT_EQ(ReadAll(folder.path + "/.last.safetensors.1-0.part"), "");
}

TEST(Trainer, BudgetNeverChangesTheResult)
{
  TrainingOptions options = MakeOptions();
  options.threads = 4;
  auto rich = MakeTrainer(options, "");
  EXPECT_TRUE(rich->Run());
  // Room for one tile in flight, beside what the process holds now.
  options.memory =
    MemoryPlan::Make(NetworkDescription::Load("remedios2023"), { 512, 512 }, Purpose::Training, 0, 1, options.tileSize)
      .peakBytes +
    (8 << 20);
  auto poor = MakeTrainer(options, "");
  EXPECT_TRUE(poor->Run());
  for (const auto & [name, parameter] : rich->GetLastModel().parameters)
  {
    EXPECT_EQ(parameter.values, poor->GetLastModel().parameters.at(name).values) << name;
  }
}

TEST(Trainer, RefusesToResumeWithOtherSettings)
{
  const TemporaryFolder folder("settings");
  TrainingOptions       options = MakeOptions();
  MakeTrainer(options, folder.path)->Run([](const TrainingProgress & p) { return p.fractionOfStep < 1; });
  EXPECT_NE(GetRefusal(options, folder.path).find("already holds a training run"), std::string::npos);
  options.resume = true;
  options.seed = 2;
  EXPECT_NE(GetRefusal(options, folder.path).find("another seed (1 then, 2 now)"), std::string::npos);
  options = MakeOptions();
  options.resume = true;
  options.tileSize = 512;
  EXPECT_NE(GetRefusal(options, folder.path).find("another tile size"), std::string::npos);
  options.tileSize = 0; // takes the run's own
  options.epochs = 1;
  EXPECT_EQ(GetRefusal(options, folder.path), "");
}

/** Makes a checkpoint one of a version that kept a strategy, and the tile size of inference where images went through
 * the network whole. */
void
KeepStrategy(const std::string & folder, const std::string & strategy)
{
  const std::string file = folder + "/last.safetensors";
  Checkpoint        checkpoint(ReadAll(file));
  checkpoint.Replace("\\\"precision\\\":", "\\\"strategy\\\":\\\"" + strategy + "\\\",\\\"precision\\\":");
  if (strategy == "whole")
  {
    checkpoint.Replace("\\\"tile size\\\":\\\"image\\\"", "\\\"tile size\\\":2048");
  }
  checkpoint.Save(file);
}

TEST(Trainer, GoesOnWithRunsThatKeptAStrategy)
{
  for (const std::string strategy : { "streamed", "unified", "whole" })
  {
    const TemporaryFolder before(strategy), straight(strategy + "-straight");
    TrainingOptions       options = MakeOptions();
    options.tileSize = strategy == "whole" ? WholeImage : options.tileSize;
    EXPECT_TRUE(MakeTrainer(options, straight.path)->Run());
    EXPECT_FALSE(MakeTrainer(options, before.path)->Run(StopAfterStep));
    KeepStrategy(before.path, strategy);
    options.resume = true;
    options.tileSize = 1024;
    const std::string then = strategy == "whole" ? "\"image\" then" : "256 then";
    EXPECT_NE(GetRefusal(options, before.path).find(then), std::string::npos) << GetRefusal(options, before.path);
    options.tileSize = 0; // the run's own
    EXPECT_TRUE(MakeTrainer(options, before.path)->Run());
    ExpectSameFiles(before.path, straight.path);
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

TEST(Trainer, RefusesToResumeWithAnotherLoss)
{
  const TemporaryFolder folder("loss");
  TrainingOptions       options = MakeConstantOptions();
  NetworkDescription    network = NetworkDescription::Load("remedios2023");
  const auto            run = [&](const Trainer::Observer & observer) {
    Trainer trainer(network, options, folder.path);
    trainer.AddTrainingSample(MakeSample("a", { 128, 96 }, 1));
    return trainer.Run(observer);
  };
  network.SetLoss("dice");
  EXPECT_FALSE(run([](const TrainingProgress & p) { return p.fractionOfStep < 1; }));
  options.resume = true;
  network.classWeights = { 1, 2 };
  try
  {
    run({});
    ADD_FAILURE();
  }
  catch (const std::runtime_error & error)
  {
    EXPECT_NE(std::string(error.what()).find("cannot be resumed with another loss"), std::string::npos);
  }
  network.classWeights.clear();
  EXPECT_TRUE(run({}));
}

TEST(Trainer, RefusesTwoRunsInOneFolder)
{
  const TemporaryFolder folder("lock");
  TrainingOptions       options = MakeOptions();
  options.resume = true;
  std::string refusal;
  MakeTrainer(options, folder.path)->Run([&](const TrainingProgress &) {
    refusal = GetRefusal(options, folder.path);
    return false;
  });
  EXPECT_NE(refusal.find("in use by another training run"), std::string::npos) << refusal;
}

TEST(Trainer, KeepsAHistoryOfSomebodyElse)
{
  const TemporaryFolder folder("history");
  TrainingOptions       options = MakeOptions();
  std::ofstream(folder.path + "/history.csv") << "my own";
  for (const bool resume : { false, true })
  {
    options.resume = resume;
    const std::string refusal = GetRefusalAtOnce(options, folder.path);
    EXPECT_NE(refusal.find("already holds a history.csv but no training run"), std::string::npos) << refusal;
    EXPECT_EQ(ReadAll(folder.path + "/history.csv"), "my own");
  }
}

TEST(Trainer, RefusesAtOnceAFolderThatItCannotWriteTo)
{
  const TemporaryFolder folder("obstacle");
  TrainingOptions       options = MakeOptions();
  EXPECT_EQ(GetRefusal(options, folder.path, StopAfterStep), "");
  std::filesystem::create_directory(folder.path + "/best.safetensors");
  options.resume = true;
  std::string refusal = GetRefusalAtOnce(options, folder.path);
  EXPECT_NE(refusal.find("holds best.safetensors, which is no regular file"), std::string::npos) << refusal;
  const std::string system = "/proc/self/task"; // nobody can make files here, not even root
  if (std::filesystem::exists(system))
  {
    refusal = GetRefusalAtOnce(options, system);
    EXPECT_NE(refusal.find("run folder \"" + system + "\" cannot be written: "), std::string::npos) << refusal;
  }
}

TEST(Trainer, LeavesNoFolderWithoutAStep)
{
  const TemporaryFolder parent("nothing");
  const std::string     folder = parent.path + "/run";
  EXPECT_EQ(GetRefusalAtOnce(MakeOptions(), folder), "");
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(GetRefusalAtOnce(MakeOptions(), parent.path), "");
  EXPECT_TRUE(std::filesystem::exists(parent.path)); // it was there before
  EXPECT_EQ(GetRefusal(MakeOptions(), folder, StopAfterStep), "");
  EXPECT_TRUE(std::filesystem::exists(folder + "/last.safetensors"));
}

TEST(Trainer, RefusesAStateThatNoRunHas)
{
  const TemporaryFolder folder("state");
  TrainingOptions       options = MakeOptions();
  EXPECT_EQ(GetRefusal(options, folder.path, StopAfterStep), "");
  options.resume = true;
  EXPECT_EQ(GetRefusalAtOnce(options, folder.path), "");
  const std::string last = folder.path + "/last.safetensors";
  const Checkpoint  good(ReadAll(last));
  const auto        expectRefusal = [&](const Checkpoint & damaged, const std::string & what) {
    damaged.Save(last);
    const std::string refusal = GetRefusalAtOnce(options, folder.path);
    EXPECT_EQ(refusal.rfind("checkpoint \"" + last + "\" has a damaged state (", 0), 0u) << what << ": " << refusal;
    EXPECT_NE(refusal.find("begin anew in another folder"), std::string::npos) << what << ": " << refusal;
  };
  const std::pair<const char *, const char *> numbers[]{
    { "step", "4" },
    { "step", "1000000000" },
    { "step", "2147483648" },
    { "step", "-1" },
    { "step", "0" },
    { "epoch", "1" },
    { "epoch", "2147483648" },
    { "epoch", "1.5" },
    { "epoch", "0.0" },
    { "epoch", "null" },
    { "optimizer_steps", "0" },
    { "optimizer_steps", "1000000000" },
    { "optimizer_steps", "-1" },
    { "optimizer_steps", "9223372036854775808" },
    { "loss_sum", "-1" },
    { "loss_sum", "null" },
    { "loss_sum", "1e999" },
    { "learning_rate", "-1" },
    { "learning_rate", "1" },
    { "learning_rate", "NaN" },
    { "best_loss", "-1" },
    { "epochs_without_better", "1" },
    { "history", "[[1" },
  };
  for (const auto & [name, value] : numbers)
  {
    Checkpoint damaged = good;
    damaged.SetNumber(name, value);
    expectRefusal(damaged, std::string(name) + " = " + value);
  }
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const auto & [array, value] : { std::pair<const char *, double>{ "training.adam.first_moment", nan },
                                       { "training.adam.first_moment", -infinity },
                                       { "training.adam.second_moment", infinity },
                                       { "training.adam.second_moment", -1 } })
  {
    Checkpoint damaged = good;
    damaged.SetFirst(array, value);
    expectRefusal(damaged, std::string(array) + " = " + std::to_string(value));
  }
  good.Save(last);
  EXPECT_EQ(GetRefusal(options, folder.path), "");
  ExpectSameFiles(folder.path, GetUninterrupted().path);
}

TEST(Trainer, TellsNamesApartThatAreNotUTF8)
{
  const TemporaryFolder folder("names");
  const auto            run = [&](const std::string & name, bool resume) -> std::string {
    TrainingOptions options = MakeConstantOptions();
    options.resume = resume;
    Trainer trainer(NetworkDescription::Load("remedios2023"), options, folder.path);
    trainer.AddTrainingSample(MakeSample(name, { 128, 96 }, 1));
    try
    {
      trainer.Run(StopAfterStep);
    }
    catch (const std::exception & error)
    {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(run("M\xfcller", false), "");
  EXPECT_NE(run("M\xf6ller", true).find("other training samples"), std::string::npos);
  EXPECT_NE(run("M\xef\xbf\xbdller", true).find("other training samples"), std::string::npos); // U+FFFD
  EXPECT_EQ(run("M\xfcller", true), "");
}

TEST(Trainer, RefusesWrongValidationLabelsAtOnce)
{
  const Size         size{ 128, 96 };
  const auto         pixels = std::make_shared<ProceduralPixels>(size, 1);
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  const auto         getRefusal = [&]() -> std::string {
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
    try
    {
      trainer.Run([](const TrainingProgress &) { return false; });
    }
    catch (const std::exception & error)
    {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(getRefusal(),
            "sample \"sevens\": the labels hold the class 7, but the network tells only the classes 0 to "
            "1 apart");
  network.ignoredLabel = 7;
  EXPECT_EQ(getRefusal(), "");
}

TEST(Trainer, SaysThatItDivergedAndKeepsTheLastGoodStep)
{
  const TemporaryFolder folder("diverged");
  TrainingOptions       options = MakeConstantOptions();
  options.learningRate = 1e30;
  std::string refusal = GetRefusal(options, folder.path + "/never");
  EXPECT_NE(refusal.find("the training has diverged in epoch 1"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("smaller learning rate"), std::string::npos) << refusal;
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
    refusal = error.what();
  }
  EXPECT_NE(refusal.find("the loss of sample \"object\""), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("is kept in " + folder.path + "/run/last.safetensors"), std::string::npos) << refusal;
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(ReadAll(folder.path + "/run/last.safetensors"), last);
}

TEST(Trainer, ResumesByIdentityAndNotByName)
{
  const TemporaryFolder folder("identity");
  const auto            run = [&](const char * name, const char * identity, bool resume) -> std::string {
    TrainingOptions options = MakeConstantOptions();
    options.resume = resume;
    Trainer trainer(NetworkDescription::Load("remedios2023"), options, folder.path);
    Sample  sample = MakeSample(name, { 128, 96 }, 1);
    sample.identity = identity;
    trainer.AddTrainingSample(sample);
    try
    {
      trainer.Run(StopAfterStep);
    }
    catch (const std::exception & error)
    {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(run("/data/a.tif", "one", false), "");
  EXPECT_EQ(run("../link/a.tif", "one", true), "");
  const std::string refusal = run("../link/a.tif", "another", true);
  EXPECT_NE(refusal.find("other training samples (number 1, \"../link/a.tif\""), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("content of slide or mask"), std::string::npos) << refusal;
  EXPECT_EQ(run("../link/a.tif", "", true), ""); // whose content is not known
  EXPECT_NE(run("b.tif", "", true), "");
}

TEST(Trainer, WarnsOfClassesThatTheMasksLack)
{
  const auto warn = [](bool training, bool validation) {
    TrainingOptions options = MakeOptions();
    options.epochs = 1;
    Trainer     trainer(NetworkDescription::Load("remedios2023"), options, "");
    const auto  pixels = MakeSample("a", { 600, 410 }, 1);
    const auto  labels = MakeBackground({ 600, 410 });
    std::string warnings;
    trainer.AddTrainingSample({ "a", pixels.pixels, training ? pixels.labels : labels });
    trainer.AddValidationSample({ "b", pixels.pixels, validation ? pixels.labels : labels });
    trainer.SetWarning([&](const std::string & sentence) { warnings += sentence + '\n'; });
    trainer.Run();
    return warnings;
  };
  EXPECT_EQ(warn(true, true), "");
  EXPECT_EQ(warn(false, true).find("no pixel of the class 1 was found in the training masks"), 0u);
  EXPECT_EQ(warn(true, false).find("no pixel of the class 1 was found in the validation masks"), 0u);
}

// Each optimizer has its own moments in the checkpoint.
class WithOptimizer : public testing::TestWithParam<const char *>
{
};

TEST_P(WithOptimizer, RunGoesOnBitForBit)
{
  const TemporaryFolder straight(std::string(GetParam()) + "-straight"), stopped(std::string(GetParam()) + "-stopped");
  TrainingOptions       options = MakeOptions();
  options.optimizer = GetParam();
  options.weightDecay = 0.1;
  options.clipGradient = 0.01;
  options.freeze = { "L1", "L3.bias" };
  EXPECT_TRUE(MakeTrainer(options, straight.path)->Run());
  int steps = 0;
  EXPECT_FALSE(MakeTrainer(options, stopped.path)->Run([&](const TrainingProgress & progress) {
    steps += progress.fractionOfStep == 1 && !progress.validating;
    return steps < 4;
  }));
  options.resume = true;
  TrainingOptions other = options;
  other.weightDecay = 0.2;
  EXPECT_NE(GetRefusal(other, stopped.path).find("another optimizer"), std::string::npos);
  other = options;
  other.freeze = { "L1.weight" };
  EXPECT_NE(GetRefusal(other, stopped.path).find("other frozen arrays"), std::string::npos);
  other = options;
  other.clipGradient = 0.02;
  EXPECT_NE(GetRefusal(other, stopped.path).find("another clip gradient (0.01 then, 0.02 now)"), std::string::npos);
  other = options;
  other.optimizer = std::string(GetParam()) == "sgd" ? "adam" : "sgd";
  EXPECT_NE(GetRefusal(other, stopped.path).find("another optimizer"), std::string::npos);
  EXPECT_TRUE(MakeTrainer(options, stopped.path)->Run());
  ExpectSameFiles(stopped.path, straight.path);
}

// A schedule is a function of the step, so that nothing of it has to be kept; its epochs have to stay.
TEST(Trainer, GoesOnWithItsScheduleBitForBit)
{
  const TemporaryFolder straight("cosine-straight"), stopped("cosine-stopped");
  TrainingOptions       options = MakeOptions();
  options.learningRate = 3e-3;
  options.learningRateSchedule = "cosine";
  options.learningRateDecay = 1;
  options.warmup = 2;
  std::vector<double> rates;
  EXPECT_TRUE(MakeTrainer(options, straight.path)->Run([&](const TrainingProgress & progress) {
    if (progress.fractionOfStep == 1 && !progress.validating && !progress.epochDone)
    {
      rates.push_back(progress.learningRate);
    }
    return true;
  }));
  ASSERT_EQ(rates.size(), 6u);
  EXPECT_DOUBLE_EQ(rates[0], options.learningRate / 2);
  EXPECT_DOUBLE_EQ(rates[4], options.learningRate / 2);
  int steps = 0;
  EXPECT_FALSE(MakeTrainer(options, stopped.path)->Run([&](const TrainingProgress & progress) {
    steps += progress.fractionOfStep == 1 && !progress.validating;
    return steps < 5;
  }));
  options.resume = true;
  options.epochs = 3;
  EXPECT_NE(GetRefusal(options, stopped.path).find("another learning-rate schedule"), std::string::npos);
  options.epochs = 2;
  EXPECT_TRUE(MakeTrainer(options, stopped.path)->Run());
  ExpectSameFiles(stopped.path, straight.path);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, WithOptimizer, testing::Values("adam", "adamw", "sgd"));

/** Makes a checkpoint one of a version that had Adam only. */
void
LeaveOutWhatWasNoChoice(const std::string & folder)
{
  const std::string file = folder + "/last.safetensors";
  Checkpoint        checkpoint(ReadAll(file));
  checkpoint.Replace("optimizer_steps", "adam_steps");
  checkpoint.Replace("\\\"frozen\\\":[],", "");
  checkpoint.Replace("\\\"jitter\\\":0.0,", "");
  checkpoint.Replace("\\\"clip gradient\\\":0.0,", "");
  checkpoint.Replace(
    "\\\"learning-rate schedule\\\":{\\\"type\\\":\\\"plateau\\\",\\\"warmup\\\":0,\\\"patience\\\":0},", "");
  checkpoint.Replace("\\\"optimizer\\\":{\\\"type\\\":\\\"adam\\\",\\\"weight decay\\\":0.0},", "");
  checkpoint.Save(file);
}

TEST(Trainer, GoesOnWithRunsOfAdamOnly)
{
  const TemporaryFolder folder("adam-only");
  TrainingOptions       options = MakeOptions();
  EXPECT_FALSE(MakeTrainer(options, folder.path)->Run(StopAfterStep));
  LeaveOutWhatWasNoChoice(folder.path);
  options.resume = true;
  options.optimizer = "sgd";
  EXPECT_NE(GetRefusal(options, folder.path).find("another optimizer"), std::string::npos);
  options.optimizer = "adam";
  EXPECT_TRUE(MakeTrainer(options, folder.path)->Run());
  ExpectSameFiles(folder.path, GetUninterrupted().path);
}

TEST(Trainer, GoesOnWithMoreEpochs)
{
  const TemporaryFolder folder("more");
  TrainingOptions       options = MakeOptions();
  options.epochs = 1;
  EXPECT_TRUE(MakeTrainer(options, folder.path)->Run());
  options.epochs = 2;
  options.resume = true;
  EXPECT_TRUE(MakeTrainer(options, folder.path)->Run());
  ExpectSameFiles(folder.path, GetUninterrupted().path);
}

TEST(Trainer, RefusesBadSamplesAndOptions)
{
  const NetworkDescription network = NetworkDescription::Load("remedios2023");
  Trainer                  none(network, MakeConstantOptions(), "");
  EXPECT_THROW(none.Run(), std::invalid_argument);

  const auto refuses = [&](const Sample & sample, const char * expected) {
    Trainer trainer(network, MakeConstantOptions(), "");
    trainer.AddTrainingSample(sample);
    try
    {
      trainer.Run();
      ADD_FAILURE() << "not refused: " << expected;
    }
    catch (const std::exception & error)
    {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("\"" + sample.name + "\""), std::string::npos) << error.what();
    }
  };
  const Sample good = MakeSample("good", { 100, 90 }, 1), other = MakeSample("other", { 100, 91 }, 1);
  refuses({ "sizes", good.pixels, other.labels }, "another size (100 x 91) than the pixels (100 x 90)");
  refuses({ "colors", std::make_shared<ProceduralPixels>(Size{ 100, 90 }, 1, 3), good.labels }, "has 3 channels");
  const Size wide{ 2000, 300 };
  refuses({ "classes", std::make_shared<ProceduralPixels>(wide, 1), std::make_shared<ProceduralLabels>(wide, 1, 4) },
          "only the classes 0 to 1");
  struct AllIgnored : ProceduralLabels
  {
    using ProceduralLabels::ProceduralLabels;
    void
    Read(const Region & region, std::uint8_t * classes) override
    {
      std::fill_n(classes, region.width * region.height, Ignored);
    }
  };
  refuses({ "ignored", good.pixels, std::make_shared<AllIgnored>(Size{ 100, 90 }, 1) }, "no pixel that takes part");

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

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Runs that go on: bit for bit, and with nothing else than they began with.
#include "TrainerFixture.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

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

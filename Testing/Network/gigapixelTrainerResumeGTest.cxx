/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Runs that go on: bit for bit, and with nothing else than they began with.
#include "RefusalCode.h"
#include "TrainerFixture.h"
#include "gigapixelBegunRun.h"

#include <gtest/gtest.h>

#include <cstdio>
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
  EXPECT_EQ(GetRefusal(options, folder.path).code, "E-OUTPUT-EXISTS");
  EXPECT_EQ(GetRefusal(options, folder.path).file, folder.path);
  options.resume = true;
  options.seed = 2;
  EXPECT_EQ(GetRefusal(options, folder.path).code, "E-RUN-CONFLICT");
  EXPECT_EQ(GetRefusal(options, folder.path).value, "seed");
  options = MakeOptions();
  options.resume = true;
  options.tileSize = 512;
  EXPECT_EQ(GetRefusal(options, folder.path).code, "E-RUN-CONFLICT");
  EXPECT_EQ(GetRefusal(options, folder.path).value, "tile size");
  options.tileSize = 0; // takes the run's own
  options.epochs = 1;
  EXPECT_EQ(GetRefusal(options, folder.path).code, "");
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
    EXPECT_EQ(GetRefusal(options, before.path).code, "E-RUN-CONFLICT");
    EXPECT_EQ(GetRefusal(options, before.path).value, "tile size");
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
  const Diagnostic refusal = gigapixel_test::FindRefusal([&] { run({}); });
  EXPECT_EQ(refusal.code, "E-RUN-CONFLICT");
  EXPECT_EQ(refusal.value, "loss");
  network.classWeights.clear();
  EXPECT_TRUE(run({}));
}

TEST(Trainer, RefusesAStateThatNoRunHas)
{
  const TemporaryFolder folder("state");
  TrainingOptions       options = MakeOptions();
  EXPECT_EQ(GetRefusal(options, folder.path, StopAfterStep).code, "");
  options.resume = true;
  EXPECT_EQ(GetRefusalAtOnce(options, folder.path).code, "");
  const std::string last = folder.path + "/last.safetensors";
  const Checkpoint  good(ReadAll(last));
  const auto        expectRefusal = [&](const Checkpoint & damaged, const std::string & what) {
    damaged.Save(last);
    const gigapixel::Diagnostic refusal = GetRefusalAtOnce(options, folder.path);
    EXPECT_EQ(refusal.code, "E-RUN-FORMAT") << what << ": " << refusal.why;
    EXPECT_EQ(refusal.file, last) << what;
    EXPECT_FALSE(refusal.remedy.empty()) << what;
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
  EXPECT_EQ(GetRefusal(options, folder.path).code, "");
  ExpectSameFiles(folder.path, GetUninterrupted().path);
}

// A run of which one file is not as it was written: what is wrong with which one, how to go on, and nothing is changed.
class DamagedRun : public testing::TestWithParam<std::string>
{
protected:
  void
  SetUp() override
  {
    m_Options = MakeOptions();
    m_Options.epochs = 1;
    ASSERT_EQ(GetRefusal(m_Options, m_Folder.path).code, "");
    m_Options.epochs = 2;
    m_Options.resume = true;
    m_Content = ReadAll(GetFile());
    std::memcpy(&m_HeaderBytes, m_Content.data(), sizeof(m_HeaderBytes));
  }

  std::string
  GetFile() const
  {
    return m_Folder.path + '/' + GetParam();
  }

  void
  Write(const std::string & content) const
  {
    std::ofstream(GetFile(), std::ios::binary) << content;
  }

  void
  ExpectRefusal(const std::string & what) const
  {
    const gigapixel::Diagnostic refusal = GetRefusalAtOnce(m_Options, m_Folder.path);
    const std::string           other = GetParam() == "best.safetensors" ? "/last.safetensors" : "/best.safetensors";
    EXPECT_EQ(refusal.code.rfind("E-", 0), 0u) << what;
    EXPECT_NE(refusal.code, "E-OTHER") << what << ": " << refusal.why;
    EXPECT_EQ(refusal.file, GetFile()) << what;
    EXPECT_NE(refusal.remedy.find(m_Folder.path + other), std::string::npos) << refusal.remedy;
    EXPECT_EQ(refusal.GetText().find('\n'), std::string::npos) << refusal.GetText();
  }

  void
  ExpectRefusalOf(const std::string & text, const std::string & by) const
  {
    Checkpoint damaged(m_Content);
    damaged.Replace(text, by);
    damaged.Save(GetFile());
    ExpectRefusal(text);
  }

  const TemporaryFolder m_Folder{ "damaged-" + GetParam() };
  TrainingOptions       m_Options;
  std::string           m_Content;
  std::uint64_t         m_HeaderBytes{ 0 };
};

TEST_P(DamagedRun, IsToldWhereItIsCutShort)
{
  const std::size_t all = m_Content.size(), header = 8 + m_HeaderBytes;
  for (const std::size_t size : { std::size_t{ 0 },
                                  std::size_t{ 1 },
                                  std::size_t{ 8 },
                                  std::size_t{ 9 },
                                  std::size_t{ 100 },
                                  header / 2,
                                  header - 1,
                                  header,
                                  header + 1,
                                  (header + all) / 2,
                                  all - 8,
                                  all - 1 })
  {
    const std::string cut = m_Content.substr(0, size);
    Write(cut);
    ExpectRefusal(std::to_string(size) + " of " + std::to_string(all) + " bytes");
    ASSERT_TRUE(ReadAll(GetFile()) == cut);
  }
  Write(m_Content);
  EXPECT_EQ(GetRefusal(m_Options, m_Folder.path).code, "");
  ExpectSameFiles(m_Folder.path, GetUninterrupted().path);
}

TEST_P(DamagedRun, IsToldWhereArraysAreNotThoseOfTheRun)
{
  ExpectRefusalOf("\"F32\"", "\"I32\"");
  ExpectRefusalOf("\"F32\"", "\"F3\"");
  ExpectRefusalOf("\"L1.bias\"", "\"L9.bias\"");
  const std::size_t place = m_Content.find("\"shape\":[", m_Content.find("\"L1.bias\"")) + 8;
  const std::string shape = m_Content.substr(place, m_Content.find(']', place) + 1 - place);
  ExpectRefusalOf("\"shape\":" + shape, "\"shape\":[1," + shape.substr(1));
  const Model other = Model::Load("tissue-classes");
  other.Save(GetFile());
  ExpectRefusal("another model");
}

INSTANTIATE_TEST_SUITE_P(Files,
                         DamagedRun,
                         testing::Values("last.safetensors", "best.safetensors"),
                         [](const auto & info) { return info.param.substr(0, 4); });

// Of the checkpoint, one wrong byte of all that it tells in words is seen, also in a number that may have any value.
// (But not in the name of the hash, without which it is one of an earlier version.)
using DamagedCheckpoint = DamagedRun;

TEST_P(DamagedCheckpoint, IsToldWhereAByteOfItsHeaderIsAnother)
{
  const std::string key = "training.hash";
  const std::size_t name = m_Content.find(key);
  for (std::size_t place = 8; place < 8 + m_HeaderBytes; place += 37)
  {
    if (place >= name && place < name + key.size())
    {
      continue;
    }
    std::string damaged = m_Content;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    Write(damaged);
    ExpectRefusal("byte " + std::to_string(place));
  }
  ExpectRefusalOf("training.adam.second_moment", "training.adam.third_moment");
  ExpectRefusalOf("training.settings", "training.setting");
  ExpectRefusalOf("training.state", "training.stat");
  ExpectRefusalOf("\"F64\"", "\"I64\"");
}

INSTANTIATE_TEST_SUITE_P(File, DamagedCheckpoint, testing::Values("last.safetensors"), [](const auto &) {
  return "last";
});

TEST(Trainer, RefusesARunThatLacksAFile)
{
  const TemporaryFolder folder("lacking");
  TrainingOptions       options = MakeOptions();
  options.epochs = 1;
  ASSERT_EQ(GetRefusal(options, folder.path).code, "");
  options.epochs = 2;
  options.resume = true;
  const std::string best = folder.path + "/best.safetensors", last = folder.path + "/last.safetensors";
  const std::string content = ReadAll(best);
  ASSERT_EQ(std::remove(best.c_str()), 0);
  gigapixel::Diagnostic refusal = GetRefusalAtOnce(options, folder.path);
  EXPECT_EQ(refusal.file, best);
  EXPECT_NE(refusal.remedy.find("last.safetensors"), std::string::npos) << refusal.remedy;
  std::ofstream(best, std::ios::binary) << content;
  ASSERT_EQ(std::remove(last.c_str()), 0);
  refusal = GetRefusalAtOnce(options, folder.path);
  EXPECT_EQ(refusal.code, "E-RUN-FORMAT");
  EXPECT_EQ(refusal.file, folder.path);
  EXPECT_NE(refusal.remedy.find("--weights \"" + folder.path + "\""), std::string::npos) << refusal.remedy;
}

// What a run began with is in the header of its checkpoint: its arrays, which may be gigabytes, are not read for it.
TEST(BegunRun, ReadsTheHeaderAlone)
{
  const TemporaryFolder folder("header");
  EXPECT_FALSE(BegunRun::Find(folder.path));
  MakeTrainer(MakeOptions(), folder.path)->Run(StopAfterStep);
  const std::string last = folder.path + "/last.safetensors", content = ReadAll(last);
  std::uint64_t     header = 0;
  std::memcpy(&header, content.data(), sizeof(header));
  std::ofstream(last, std::ios::binary) << content.substr(0, 8 + header);
  const auto begun = BegunRun::Find(folder.path);
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->network.ToJSON(), NetworkDescription::Load("remedios2023").ToJSON());
  EXPECT_EQ(begun->precision, "fp32");
  for (const std::uint64_t size : { std::uint64_t{ 0 }, std::uint64_t{ 8 }, header / 2, header })
  {
    std::ofstream(last, std::ios::binary) << content.substr(0, size);
    const Diagnostic refusal = gigapixel_test::FindRefusal([&] { BegunRun::Find(folder.path); });
    EXPECT_NE(refusal.code, "") << size;
    EXPECT_EQ(refusal.file, last) << size;
    EXPECT_FALSE(refusal.remedy.empty()) << size;
  }
  Checkpoint damaged(content);
  damaged.Replace("\\\"precision\\\":\\\"fp32", "\\\"precision\\\":\\\"fp23");
  damaged.Save(last);
  EXPECT_THROW(BegunRun::Find(folder.path), std::runtime_error);
}

TEST(Trainer, TellsNamesApartThatAreNotUTF8)
{
  const TemporaryFolder folder("names");
  const auto            run = [&](const std::string & name, bool resume) {
    TrainingOptions options = MakeConstantOptions();
    options.resume = resume;
    Trainer trainer(NetworkDescription::Load("remedios2023"), options, folder.path);
    trainer.AddTrainingSample(MakeSample(name, { 128, 96 }, 1));
    return gigapixel_test::FindRefusal([&] { trainer.Run(StopAfterStep); });
  };
  EXPECT_EQ(run("M\xfcller", false).code, "");
  EXPECT_EQ(run("M\xf6ller", true).value, "training samples");
  EXPECT_EQ(run("M\xef\xbf\xbdller", true).value, "training samples"); // U+FFFD
  EXPECT_EQ(run("M\xfcller", true).code, "");
}

TEST(Trainer, ResumesByIdentityAndNotByName)
{
  const TemporaryFolder folder("identity");
  const auto            run = [&](const char * name, const char * identity, bool resume) {
    TrainingOptions options = MakeConstantOptions();
    options.resume = resume;
    Trainer trainer(NetworkDescription::Load("remedios2023"), options, folder.path);
    Sample  sample = MakeSample(name, { 128, 96 }, 1);
    sample.identity = identity;
    trainer.AddTrainingSample(sample);
    return gigapixel_test::FindRefusal([&] { trainer.Run(StopAfterStep); });
  };
  EXPECT_EQ(run("/data/a.tif", "one", false).code, "");
  EXPECT_EQ(run("../link/a.tif", "one", true).code, "");
  const Diagnostic refusal = run("../link/a.tif", "another", true);
  EXPECT_EQ(refusal.code, "E-RUN-CONFLICT");
  EXPECT_EQ(refusal.value, "training samples");
  EXPECT_NE(refusal.why.find("../link/a.tif"), std::string::npos) << refusal.why;
  EXPECT_EQ(run("../link/a.tif", "", true).code, ""); // whose content is not known
  EXPECT_NE(run("b.tif", "", true).code, "");
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
  EXPECT_EQ(GetRefusal(other, stopped.path).code, "E-RUN-CONFLICT");
  EXPECT_EQ(GetRefusal(other, stopped.path).value, "weight-decay");
  other = options;
  other.freeze = { "L1.weight" };
  EXPECT_EQ(GetRefusal(other, stopped.path).code, "E-RUN-CONFLICT");
  EXPECT_EQ(GetRefusal(other, stopped.path).value, "freeze");
  other = options;
  other.clipGradient = 0.02;
  EXPECT_EQ(GetRefusal(other, stopped.path).code, "E-RUN-CONFLICT");
  EXPECT_EQ(GetRefusal(other, stopped.path).value, "clip-gradient");
  other = options;
  other.optimizer = std::string(GetParam()) == "sgd" ? "adam" : "sgd";
  EXPECT_EQ(GetRefusal(other, stopped.path).code, "E-RUN-CONFLICT");
  EXPECT_EQ(GetRefusal(other, stopped.path).value, "optimizer");
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
  EXPECT_EQ(GetRefusal(options, stopped.path).code, "E-RUN-CONFLICT");
  EXPECT_EQ(GetRefusal(options, stopped.path).value, "epochs");
  options.epochs = 2;
  EXPECT_TRUE(MakeTrainer(options, stopped.path)->Run());
  ExpectSameFiles(stopped.path, straight.path);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, WithOptimizer, testing::Values("adam", "adamw", "sgd", "lion"));

/** Makes a checkpoint one of a version that had Adam only. */
void
LeaveOutWhatWasNoChoice(const std::string & folder)
{
  const std::string file = folder + "/last.safetensors";
  Checkpoint        checkpoint(ReadAll(file));
  checkpoint.Replace("optimizer_steps", "adam_steps");
  checkpoint.Replace("\\\"calibrate\\\":0,\\\"freeze\\\":[],\\\"optimizer\\\":\\\"adam\\\",", "");
  checkpoint.Replace("\\\"learning-rate\\\"", "\\\"learning rate\\\"");
  checkpoint.Replace(
    "\\\"weight-decay\\\":0.0,\\\"clip-gradient\\\":0.0,\\\"learning-rate-schedule\\\":\\\"plateau\\\",", "");
  checkpoint.Replace("\\\"learning-rate-decay\\\"", "\\\"learning-rate decay\\\"");
  checkpoint.Replace("\\\"plateau-patience\\\":0,\\\"warmup\\\":0,\\\"images-per-step\\\"", "\\\"images per step\\\"");
  checkpoint.Replace("\\\"jitter\\\":0.0,\\\"balance\\\":false,", "");
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
  EXPECT_EQ(GetRefusal(options, folder.path).code, "E-RUN-CONFLICT");
  EXPECT_EQ(GetRefusal(options, folder.path).value, "optimizer");
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

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TrainerFixture_h
#define TrainerFixture_h

#include "RefusalCode.h"
#include "SyntheticSources.h"
#include "TemporaryFolder.h"
#include "gigapixelTrainer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

namespace gigapixel
{
namespace test
{

/** For samples that need not be validated. */
inline TrainingOptions
MakeConstantOptions()
{
  TrainingOptions options;
  options.epochs = 2;
  options.threads = 2;
  options.tileSize = 256;
  return options;
}

inline TrainingOptions
MakeOptions()
{
  TrainingOptions options = MakeConstantOptions();
  options.learningRateSchedule = "plateau";
  options.learningRateDecay = 0.5;
  return options;
}

inline std::unique_ptr<Trainer>
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

/** A mask that has one class everywhere. */
template <std::uint8_t VClass>
std::shared_ptr<LabelSource>
MakeUniformMask(Size size)
{
  struct UniformMask : ProceduralLabels
  {
    using ProceduralLabels::ProceduralLabels;
    void
    Read(const Region & region, std::uint8_t * classes) override
    {
      std::fill_n(classes, region.width * region.height, VClass);
    }
  };
  return std::make_shared<UniformMask>(size, 1);
}

inline std::shared_ptr<LabelSource>
MakeBackground(Size size)
{
  return MakeUniformMask<0>(size);
}

/** The run that nobody disturbs. */
inline const TemporaryFolder &
GetUninterrupted()
{
  static const TemporaryFolder folder("uninterrupted");
  static const bool            done = MakeTrainer(MakeOptions(), folder.path)->Run();
  EXPECT_TRUE(done);
  return folder;
}

inline void
ExpectSameFiles(const std::string & a, const std::string & b)
{
  for (const char * name : { "/last.safetensors", "/best.safetensors", "/history.csv" })
  {
    EXPECT_EQ(ReadAll(a + name), ReadAll(b + name)) << name;
    EXPECT_FALSE(ReadAll(a + name).empty()) << name;
  }
}

inline gigapixel::Diagnostic
GetRefusal(const TrainingOptions & options, const std::string & folder, const Trainer::Observer & observer = {})
{
  return gigapixel_test::FindRefusal([&] { MakeTrainer(options, folder)->Run(observer); });
}

/** That comes before anything is computed. */
inline gigapixel::Diagnostic
GetRefusalAtOnce(const TrainingOptions & options, const std::string & folder)
{
  return GetRefusal(options, folder, [](const TrainingProgress &) { return false; });
}

inline bool
StopAfterStep(const TrainingProgress & progress)
{
  return progress.fractionOfStep < 1;
}

/** A checkpoint's header and its arrays, to damage them: as of earlier versions, which wrote no hash of its texts, so
 * that what else is looked at is tested. */
struct Checkpoint
{
  explicit Checkpoint(const std::string & content)
  {
    std::uint64_t size = 0;
    std::memcpy(&size, content.data(), sizeof(size));
    header = content.substr(sizeof(size), size);
    data = content.substr(sizeof(size) + size);
    const std::string key = "\"training.hash\":\"";
    if (const std::size_t begin = header.find(key); begin != std::string::npos)
    {
      header.erase(begin, header.find(',', begin) + 1 - begin);
    }
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

} // namespace test
} // namespace gigapixel

#endif

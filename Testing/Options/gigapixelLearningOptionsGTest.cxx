/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelComputingOptions.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelLearningOptions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>
#include <type_traits>

namespace
{

using namespace gigapixel;

const Option &
Find(const std::string & name)
{
  for (const LearningOption & entry : GetLearningOptionTable())
  {
    if (entry.option.name == name)
    {
      return entry.option;
    }
  }
  throw std::out_of_range(name);
}

std::string
GetRefusedOption(const LearningOptions & options, const std::string & code = "E-OPTION-VALUE")
{
  try
  {
    CheckRanges(options);
  }
  catch (const InvalidArgument & refusal)
  {
    EXPECT_EQ(refusal.GetDiagnostic().code, code);
    return refusal.GetDiagnostic().option;
  }
  return {};
}

/** Names of options whose default the help says as another text than the code has as a value. */
template <typename TOptions>
std::vector<std::string>
FindOtherDefaults(const std::vector<OptionEntry<TOptions>> & table)
{
  const TOptions           defaults;
  std::vector<std::string> others;
  VisitOptions(table, [&](const Option & option, auto member) {
    const auto & value = defaults.*member;
    using Value = std::decay_t<decltype(value)>;
    bool isSame = true;
    if constexpr (std::is_same_v<Value, bool>)
    {
      isSame = value == option.TurnsOff();
    }
    else if constexpr (std::is_same_v<Value, std::string>)
    {
      isSame = value == option.defaultValue;
    }
    else if constexpr (std::is_arithmetic_v<Value>)
    {
      Value told{ value };
      std::istringstream(option.defaultValue) >> told;
      isSame = option.defaultValue.empty() || told == value;
    }
    if (!isSame)
    {
      others.push_back(option.name);
    }
  });
  return others;
}

TEST(LearningOptions, SayTheDefaultThatTheyHave)
{
  EXPECT_EQ(FindOtherDefaults(GetLearningOptionTable()), std::vector<std::string>());
}

TEST(ComputingOptions, SayTheDefaultThatTheyHave)
{
  EXPECT_EQ(FindOtherDefaults(GetComputingOptionTable()), std::vector<std::string>());
}

TEST(ComputingOptions, AreThoseOfTheFilters)
{
  std::vector<std::string> names;
  for (const ComputingOption & entry : GetComputingOptionTable())
  {
    names.push_back(entry.option.name + ' ' + entry.option.property);
  }
  const std::vector<std::string> expected{ "device Device",      "precision Precision",
                                           "tile-size TileSize", "shared-memory SharedMemory",
                                           "memory MemoryLimit", "scratch ScratchFolder" };
  EXPECT_EQ(names, expected);
}

TEST(LearningOptions, AreOfOneNameAndExplainedInALine)
{
  std::set<std::string> names;
  for (const LearningOption & entry : GetLearningOptionTable())
  {
    const Option & option = entry.option;
    EXPECT_TRUE(names.insert(option.GetSettingName()).second) << option.name;
    EXPECT_FALSE(option.group.empty()) << option.name;
    const std::string & help = option.description;
    EXPECT_LT(std::count(help.begin(), help.end(), ' '), 15) << help;
    EXPECT_EQ(help.back(), '.') << help;
    for (const auto & [other, value] :
         { std::pair(option.needs, option.neededValue), std::pair(option.decidesWith, option.decidingValue) })
    {
      if (!value.empty())
      {
        const auto & choices = Find(other).choices;
        EXPECT_NE(std::find(choices.begin(), choices.end(), value), choices.end()) << option.name;
      }
    }
  }
}

TEST(LearningOptions, AreHeldToTheirRanges)
{
  EXPECT_EQ(GetRefusedOption({}), "");
  const auto refuse = [](auto member, auto value) {
    LearningOptions options;
    options.*member = value;
    return GetRefusedOption(options);
  };
  EXPECT_EQ(refuse(&LearningOptions::epochs, 0), "--epochs");
  EXPECT_EQ(refuse(&LearningOptions::imagesPerStep, 0), "--images-per-step");
  LearningOptions momentum;
  momentum.momentum = 0.5;
  EXPECT_EQ(GetRefusedOption(momentum, "E-OPTION-NEEDS"), "--momentum"); // of sgd
  momentum.optimizer = "sgd";
  EXPECT_EQ(GetRefusedOption(momentum), "");
  momentum.momentum = 1.0;
  EXPECT_EQ(GetRefusedOption(momentum), "--momentum");
  EXPECT_EQ(refuse(&LearningOptions::jitter, 1.0), "--jitter");
  EXPECT_EQ(refuse(&LearningOptions::clipGradient, -1.0), "--clip-gradient");
  EXPECT_EQ(refuse(&LearningOptions::clipGradient, std::numeric_limits<double>::quiet_NaN()), "--clip-gradient");
  EXPECT_EQ(refuse(&LearningOptions::optimizer, std::string("rprop")), "--optimizer");
  EXPECT_EQ(refuse(&LearningOptions::learningRate, -1.0), "--learning-rate");
  EXPECT_EQ(refuse(&LearningOptions::learningRate, 1e30), ""); // its range is there for slips at a keyboard
  EXPECT_EQ(refuse(&LearningOptions::augment, false), "");
  EXPECT_EQ(refuse(&LearningOptions::balance, true), "");
  EXPECT_EQ(refuse(&LearningOptions::seed, std::numeric_limits<std::uint64_t>::max()), "");
}

TEST(LearningOptions, DecideOnBitsWhereTheyAreInUse)
{
  LearningOptions options;
  EXPECT_FALSE(IsInUse(Find("momentum"), options));
  EXPECT_FALSE(DecidesOnBits(Find("momentum"), options));
  options.optimizer = "sgd";
  EXPECT_TRUE(DecidesOnBits(Find("momentum"), options));
  EXPECT_TRUE(IsInUse(Find("epochs"), options));
  EXPECT_FALSE(DecidesOnBits(Find("epochs"), options));
  options.learningRateSchedule = "cosine";
  EXPECT_TRUE(DecidesOnBits(Find("epochs"), options));
  EXPECT_FALSE(DecidesOnBits(Find("early-stopping"), options));
  EXPECT_EQ(Find("no-augmentation").GetSettingName(), "augmentation");
}

} // namespace

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelClassificationOptions.h"
#include "gigapixelComputingOptions.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelLearningOptions.h"
#include "gigapixelLossOptions.h"
#include "gigapixelPatchOptions.h"
#include "gigapixelSegmentationOptions.h"
#include "gigapixelSlideOptions.h"

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
  for (const LearningOption & entry : GetOptionTable<LearningOptions>())
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
FindOtherDefaults()
{
  const TOptions           defaults;
  std::vector<std::string> others;
  VisitOptions<TOptions>([&](const Option & option, auto member) {
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
  EXPECT_EQ(FindOtherDefaults<LearningOptions>(), std::vector<std::string>());
}

TEST(ComputingOptions, SayTheDefaultThatTheyHave)
{
  EXPECT_EQ(FindOtherDefaults<ComputingOptions>(), std::vector<std::string>());
}

// Get of a filter has its default from the list, the help from the option; both are the same.
TEST(OptionTables, SayTheDefaultThatTheyHave)
{
#define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                               \
  EXPECT_TRUE((option).defaultValue.empty() || (option).defaultValue == FormatOption<type>(otherwise)) << #Name;
#include "gigapixelPatchOptionList.h"
#define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                               \
  EXPECT_TRUE((option).defaultValue.empty() || (option).defaultValue == FormatOption<type>(otherwise)) << #Name;
#include "gigapixelSegmentationOptionList.h"
  EXPECT_EQ(FindOtherDefaults<PatchOptions>(), std::vector<std::string>());
  EXPECT_EQ(FindOtherDefaults<SegmentationOptions>(), std::vector<std::string>());
  EXPECT_EQ(FindOtherDefaults<SlideOptions>(), std::vector<std::string>());
  EXPECT_EQ(FindOtherDefaults<ClassificationOptions>(), std::vector<std::string>());
}

template <typename TOptions>
std::string
GetRefusal(const TOptions & options)
{
  try
  {
    CheckOptions(options);
  }
  catch (const InvalidArgument & refusal)
  {
    return refusal.GetDiagnostic().code + ' ' + refusal.GetDiagnostic().option;
  }
  return {};
}

TEST(OptionTables, HoldOptionsThatMayBeUnsetToTheirRanges)
{
  EXPECT_EQ(GetRefusal(SegmentationOptions{}), "");
  EXPECT_EQ(GetRefusal(SegmentationOptions{ 0.3 }), "");
  EXPECT_EQ(GetRefusal(SegmentationOptions{ 1.5 }), "E-OPTION-VALUE --threshold");
  PatchOptions patches;
  patches.blending = "gaussian"; // its default, but given
  EXPECT_EQ(GetRefusal(patches), "E-OPTION-NEEDS --blending");
  patches.slidingWindow = true;
  EXPECT_EQ(GetRefusal(patches), "");
  patches.blending = "mean";
  EXPECT_EQ(GetRefusal(patches), "E-OPTION-VALUE --blending");
  patches = { true, 0 };
  EXPECT_EQ(GetRefusal(patches), "E-OPTION-VALUE --patch");
}

TEST(OptionTables, KnowWhatIsOfSlidesOnly)
{
  EXPECT_EQ(FindOptionOfSlides(SlideOptions{}), "");
  SlideOptions slides;
  slides.tissue = "masks";
  EXPECT_EQ(FindOptionOfSlides(slides), "--tissue");
  EXPECT_EQ(FindOptionOfSlides(SegmentationOptions{ 0.3, false }), "");
  EXPECT_EQ(FindOptionOfSlides(SegmentationOptions{ 0.3, true }), "--fill-holes");
}

TEST(SlideContent, TellsWhatASlidesReaderAloneGives)
{
  SlideOptions options;
  options.level = 2;
  options.tissue = "masks";
  options.levelZeroMicronsPerPixel = 0.5; // may be stated of any image
  EXPECT_FALSE(options.IsChosen());
  options.plane = "max";
  const SlideContent plane = options;
  EXPECT_TRUE(plane.IsChosen());
  options.channels = { "DAPI" };
  options.window = "auto";
  EXPECT_TRUE(plane != static_cast<const SlideContent &>(options));
  EXPECT_TRUE(options.OfImage() == plane);
}

// What is made of it says so, but for options that results name in their own words.
TEST(OptionTables, DescribeWhatDecidesOnTheResult)
{
  EXPECT_EQ(DescribeOptions(SegmentationOptions{ 0.3, true }), " threshold=0.3 fill-holes=on");
  EXPECT_EQ(DescribeOptions(SegmentationOptions{ 0.3, true }, { "threshold" }), " fill-holes=on");
  LearningOptions learning;
  EXPECT_EQ(DescribeOptions(learning), "");
  learning.epochs = 3;
  learning.freeze = { "a", "b" };
  learning.earlyStopping = 2; // decides nothing
  EXPECT_EQ(DescribeOptions(learning), " freeze=a,b epochs=3");
  EXPECT_EQ(DescribeOptions(LossOptions{}), "");
  EXPECT_EQ(DescribeOptions(LossOptions{ "dice", { 1, 2.5 }, 7 }), " loss=dice class-weights=1,2.5 ignored-label=7");
}

TEST(ComputingOptions, AreThoseOfTheFilters)
{
  std::vector<std::string> names;
  for (const ComputingOption & entry : GetOptionTable<ComputingOptions>())
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
  for (const LearningOption & entry : GetOptionTable<LearningOptions>())
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

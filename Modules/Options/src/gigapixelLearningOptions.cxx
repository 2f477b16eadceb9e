/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLearningOptions.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <type_traits>

namespace gigapixel
{
namespace
{

template <typename TValue>
[[noreturn]] void
RefuseValue(const Option & option, const TValue & value, const std::string & range)
{
  std::ostringstream given;
  given.imbue(std::locale::classic());
  given.precision(16);
  given << value;
  throw InvalidArgument(
    Diagnostic("E-OPTION-VALUE", option.GetDisplayName() + " is " + given.str() + ", and has to be " + range)
      .OfOption(option.GetDisplayName(), given.str()));
}

std::vector<std::string>
GetOptimizerNames()
{
  std::vector<std::string> names;
  for (const OptimizerDescription & optimizer : GetOptimizers())
  {
    names.push_back(optimizer.name);
  }
  return names;
}

std::string
DescribeOptimizers()
{
  std::string text;
  for (const OptimizerDescription & optimizer : GetOptimizers())
  {
    text += optimizer.text.empty() ? "" : (text.empty() ? "" : "; ") + optimizer.name + " is " + optimizer.text;
  }
  return text + '.';
}

std::string
DescribeWeightDecay()
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  for (const OptimizerDescription & optimizer : GetOptimizers())
  {
    if (optimizer.weightDecay > 0)
    {
      text << optimizer.weightDecay << " for " << optimizer.name << ", ";
    }
  }
  return text.str() + "else 0.";
}

} // namespace

const std::vector<OptimizerDescription> &
GetOptimizers()
{
  static const std::vector<OptimizerDescription> optimizers{
#define GIGAPIXEL_OPTIMIZER(Name, name, weightDecay, description) { name, weightDecay, description },
#include "gigapixelOptimizerList.h"
  };
  return optimizers;
}

const std::vector<std::string> &
GetLossNames()
{
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{
#define GIGAPIXEL_LOSS(Name, file, option, least, most) option,
#include "gigapixelLossList.h"
    };
    all.erase(std::unique(all.begin(), all.end()), all.end()); // of one name stand together
    return all;
  }();
  return names;
}

const std::vector<LearningOption> &
GetLearningOptionTable()
{
  static const std::vector<LearningOption> table{
#define GIGAPIXEL_LEARNING_OPTION(type, Name, member, value, option) { option, #Name, &LearningOptions::member },
#include "gigapixelLearningOptionList.h"
  };
  return table;
}

std::string
GetText(const LearningOptions & options, const std::string & name)
{
  std::string text;
  VisitLearningOptions([&](const Option & option, auto member) {
    if constexpr (std::is_same_v<decltype(member), std::string LearningOptions::*>)
    {
      text = option.name == name ? options.*member : text;
    }
  });
  return text;
}

bool
IsInUse(const Option & option, const LearningOptions & options)
{
  const std::string other = option.needs.empty() ? std::string() : GetText(options, option.needs);
  return option.needs.empty() || (option.neededValue.empty() ? !other.empty() : other == option.neededValue);
}

bool
DecidesOnBits(const Option & option, const LearningOptions & options)
{
  return option.effect == OptionEffect::Bits && IsInUse(option, options) &&
         (option.decidesWith.empty() || GetText(options, option.decidesWith) == option.decidingValue);
}

void
CheckRanges(const LearningOptions & options)
{
  const LearningOptions defaults;
  VisitLearningOptions([&](const Option & option, auto member) {
    const auto & value = options.*member;
    using Value = std::decay_t<decltype(value)>;
    if (value == defaults.*member)
    {
      return;
    }
    if (!IsInUse(option, options))
    {
      const std::string wanted = option.needs + (option.neededValue.empty() ? "" : ' ' + option.neededValue);
      throw InvalidArgument(
        Diagnostic("E-OPTION-NEEDS", option.GetDisplayName() + " is of --" + wanted).OfOption(option.GetDisplayName()));
    }
    if constexpr (std::is_same_v<Value, std::string>)
    {
      const auto & choices = option.choices;
      if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end())
      {
        RefuseValue(option, value, JoinWithOr(choices));
      }
    }
    // Any 64 bits are a seed; the shell takes those that are exact as a number of JSON.
    else if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool> &&
                       !std::is_same_v<Value, std::uint64_t>)
    {
      const auto number = static_cast<double>(value);
      if (option.isRangeForSlips && !(number > 0 && std::isfinite(number)))
      {
        RefuseValue(option, value, "above 0");
      }
      if (!option.isRangeForSlips && !(number >= option.minimum.value() && number <= option.maximum.value()))
      {
        RefuseValue(option, value, option.GetRange());
      }
    }
  });
}

} // namespace gigapixel

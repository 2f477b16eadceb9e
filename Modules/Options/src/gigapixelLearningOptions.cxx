/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLearningOptions.h"
#include "gigapixelLossOptions.h"

#include <algorithm>
#include <sstream>

namespace gigapixel
{
namespace
{

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

/** "network" and the names of all losses. */
std::vector<std::string>
NameLosses()
{
  std::vector<std::string> names = GetLossNames();
  names.insert(names.begin(), "network");
  return names;
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

template <>
const std::vector<LearningOption> &
GetOptionTable<LearningOptions>()
{
  static const std::vector<LearningOption> table{
#define GIGAPIXEL_LEARNING_OPTION(type, Name, member, value, option) { option, #Name, &LearningOptions::member },
#include "gigapixelLearningOptionList.h"
  };
  return table;
}

template <>
const std::vector<OptionEntry<LossOptions>> &
GetOptionTable<LossOptions>()
{
  static const std::vector<OptionEntry<LossOptions>> table{
#define GIGAPIXEL_LOSS_OPTION(type, Name, member, value, option) { option, #Name, &LossOptions::member },
#include "gigapixelLossOptionList.h"
  };
  return table;
}

std::string
GetText(const LearningOptions & options, const std::string & name)
{
  return GetOptionText(options, name);
}

bool
IsInUse(const Option & option, const LearningOptions & options)
{
  return IsOptionInUse(option, options);
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
  CheckOptions(options);
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOptionTable.h"

#include "gigapixelClassificationOptions.h"
#include "gigapixelComputingOptions.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelPatchOptions.h"
#include "gigapixelSegmentationOptions.h"
#include "gigapixelSlideOptions.h"

#include <algorithm>
#include <cmath>

namespace gigapixel
{
namespace
{
[[noreturn]] void
RefuseValue(const Option & option, const std::string & value, const std::string & range)
{
  throw InvalidArgument(
    Diagnostic("E-OPTION-VALUE", option.GetDisplayName() + " is " + value + ", and has to be " + range)
      .OfOption(option.GetDisplayName(), value));
}

/** An option of the type Interval. */
Option
OptionInterval(const std::string & name, const std::string & placeholder, const std::string & text)
{
  return { name, OptionType::Interval, placeholder, text };
}

template <typename TOptions, typename TValue>
constexpr bool
IsOptionalMember(TValue TOptions::*)
{
  return IsOptional<TValue>;
}

template <typename... TOptions>
bool
IsOptionalInAny(const std::string & property)
{
  bool       isOptional = false;
  const auto look = [&](const Option & option, auto member) {
    isOptional = isOptional || (option.property == property && IsOptionalMember(member));
  };
  (VisitOptions<TOptions>(look), ...);
  return isOptional;
}
} // namespace

void
CheckOption(const Option & option, double value)
{
  if (option.isRangeForSlips && !(value > 0 && std::isfinite(value)))
  {
    RefuseValue(option, FormatOption(value), "above 0");
  }
  if (!option.isRangeForSlips && !(value >= option.minimum.value() && value <= option.maximum.value()))
  {
    RefuseValue(option, FormatOption(value), option.GetRange());
  }
}

void
CheckOption(const Option & option, const std::string & value)
{
  const auto & choices = option.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end())
  {
    RefuseValue(option, value, JoinWithOr(choices));
  }
}

void
RefuseWithoutNeeded(const Option & option)
{
  const std::string wanted = option.needs + (option.neededValue.empty() ? "" : ' ' + option.neededValue);
  throw InvalidArgument(
    Diagnostic("E-OPTION-NEEDS", option.GetDisplayName() + " is of --" + wanted).OfOption(option.GetDisplayName()));
}

template <>
const std::vector<OptionEntry<ComputingOptions>> &
GetOptionTable<ComputingOptions>()
{
  static const std::vector<OptionEntry<ComputingOptions>> table{
#define GIGAPIXEL_COMPUTING_OPTION(type, Name, member, value, option) { option, #Name, &ComputingOptions::member },
#include "gigapixelComputingOptionList.h"
  };
  return table;
}

template <>
const std::vector<OptionEntry<PatchOptions>> &
GetOptionTable<PatchOptions>()
{
  static const std::vector<OptionEntry<PatchOptions>> table{
#define GIGAPIXEL_PATCH_OPTION(type, Name, member, value, option) { option, #Name, &PatchOptions::member },
#include "gigapixelPatchOptionList.h"
  };
  return table;
}

template <>
const std::vector<OptionEntry<SlideOptions>> &
GetOptionTable<SlideOptions>()
{
  static const std::vector<OptionEntry<SlideOptions>> table{
#define GIGAPIXEL_SLIDE_OPTION(type, Name, member, value, option) { option, #Name, &SlideOptions::member },
#include "gigapixelSlideOptionList.h"
  };
  return table;
}

template <>
const std::vector<OptionEntry<SegmentationOptions>> &
GetOptionTable<SegmentationOptions>()
{
  static const std::vector<OptionEntry<SegmentationOptions>> table{
#define GIGAPIXEL_SEGMENTATION_OPTION(type, Name, member, value, option)                                               \
  { option, #Name, &SegmentationOptions::member },
#include "gigapixelSegmentationOptionList.h"
  };
  return table;
}

template <>
const std::vector<OptionEntry<ClassificationOptions>> &
GetOptionTable<ClassificationOptions>()
{
  static const std::vector<OptionEntry<ClassificationOptions>> table{
#define GIGAPIXEL_CLASSIFICATION_OPTION(type, Name, member, value, option)                                             \
  { option, #Name, &ClassificationOptions::member },
#include "gigapixelClassificationOptionList.h"
  };
  return table;
}

bool
MayBeUnset(const Option & option)
{
  return !option.property.empty() && IsOptionalInAny<PatchOptions, SegmentationOptions, SlideOptions>(option.property);
}

} // namespace gigapixel

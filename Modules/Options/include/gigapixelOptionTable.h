/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOptionTable_h
#define gigapixelOptionTable_h

#include "gigapixelJoinNames.h"
#include "gigapixelOption.h"
#include "gigapixelPrintable.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace gigapixel
{

/** Whether a value says, too, that none was given. */
template <typename TValue>
inline constexpr bool IsOptional = false;
template <typename TValue>
inline constexpr bool IsOptional<std::optional<TValue>> = true;

/** An entry of a table of options: what the option is, and the member of \a TOptions that keeps its value. */
template <typename TOptions>
struct OptionEntry
{
  Option option; ///< name, type, range and help
  std::variant<bool                        TOptions::*,
               int                         TOptions::*,
               std::int64_t                TOptions::*,
               std::uint64_t               TOptions::*,
               double                      TOptions::*,
               std::string                 TOptions::*,
               std::vector<std::string>    TOptions::*,
               std::vector<double>         TOptions::*,
               std::optional<std::int64_t> TOptions::*,
               std::optional<unsigned int> TOptions::*,
               std::optional<double>       TOptions::*,
               std::optional<std::string>  TOptions::*>
    member; ///< where the value is kept; optional where it matters whether one was given

  /** \param property name of the filter's Set and Get \param keeper where the value is kept */
  OptionEntry(const Option & given, const std::string & property, decltype(member) keeper)
    : option(given)
    , member(keeper)
  {
    option.property = property;
  }
};

/** The table of a list of options: its entries in their order. Each list has one. */
template <typename TOptions>
const std::vector<OptionEntry<TOptions>> & GetOptionTable();

/** Calls visitor(option, member) for each entry, where options.*member is its value. */
template <typename TOptions, typename TVisitor>
void
VisitOptions(const std::vector<OptionEntry<TOptions>> & table, const TVisitor & visitor)
{
  for (const OptionEntry<TOptions> & entry : table)
  {
    std::visit([&](auto member) { visitor(entry.option, member); }, entry.member);
  }
}

/** The same for the table of \a TOptions. */
template <typename TOptions, typename TVisitor>
void
VisitOptions(const TVisitor & visitor)
{
  VisitOptions(GetOptionTable<TOptions>(), visitor);
}

/** A value as messages and results say it; of a switch "on" or nothing, empty where none is given. */
template <typename TValue>
std::string
FormatOption(const TValue & value)
{
  if constexpr (std::is_same_v<TValue, bool>)
  {
    return value ? "on" : "";
  }
  else if constexpr (std::is_floating_point_v<TValue>)
  {
    return FormatShortest(value);
  }
  else if constexpr (std::is_arithmetic_v<TValue>)
  {
    return std::to_string(value);
  }
  else if constexpr (std::is_same_v<TValue, std::string>)
  {
    return value;
  }
  else if constexpr (IsOptional<TValue>)
  {
    return value ? FormatOption(*value) : std::string();
  }
  else if constexpr (std::is_same_v<TValue, std::vector<double>>)
  {
    std::vector<std::string> numbers;
    std::transform(value.begin(), value.end(), std::back_inserter(numbers), &FormatOption<double>);
    return JoinNames(numbers, ",");
  }
  else
  {
    return JoinNames(value, ",");
  }
}

/** The value of an option by its name, see FormatOption(). */
template <typename TOptions>
std::string
GetOptionText(const TOptions & options, const std::string & name)
{
  std::string text;
  VisitOptions<TOptions>(
    [&](const Option & option, auto member) { text = option.name == name ? FormatOption(options.*member) : text; });
  return text;
}

/** Whether the option has a meaning beside the others: not the momentum of an optimizer that has none. */
template <typename TOptions>
bool
IsOptionInUse(const Option & option, const TOptions & options)
{
  const std::string other = option.needs.empty() ? std::string() : GetOptionText(options, option.needs);
  return option.needs.empty() || (option.neededValue.empty() ? !other.empty() : other == option.neededValue);
}

/** \throw std::invalid_argument the value is not in the option's range */
GigapixelOptions_EXPORT void CheckOption(const Option & option, double value);

/** \throw std::invalid_argument the value is none of the option's choices */
GigapixelOptions_EXPORT void CheckOption(const Option & option, const std::string & value);

/** \throw std::invalid_argument the option has no meaning beside the others */
[[noreturn]] GigapixelOptions_EXPORT void RefuseWithoutNeeded(const Option & option);

/** \throw std::invalid_argument names the first option whose value is not in its range, none of its choices, or without
 * a meaning beside the others. The value that holds without the option is always right. */
template <typename TOptions>
void
CheckOptions(const TOptions & options)
{
  const TOptions defaults;
  VisitOptions<TOptions>([&](const Option & option, auto member) {
    const auto & value = options.*member;
    using Value = std::decay_t<decltype(value)>;
    if (value == defaults.*member)
    {
      return;
    }
    if (!IsOptionInUse(option, options))
    {
      RefuseWithoutNeeded(option);
    }
    // Any 64 bits are a seed; the shell takes those that are exact as a number of JSON.
    if constexpr (std::is_same_v<Value, std::string>)
    {
      CheckOption(option, value);
    }
    else if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool> &&
                       !std::is_same_v<Value, std::uint64_t>)
    {
      CheckOption(option, static_cast<double>(value));
    }
    else if constexpr (std::is_same_v<Value, std::optional<std::string>>)
    {
      CheckOption(option, *value);
    }
    else if constexpr (IsOptional<Value>)
    {
      CheckOption(option, static_cast<double>(*value));
    }
  });
}

/** The first option of a kind that is not as it is without; empty: there is none. */
template <typename TOptions, typename TKind>
std::string
FindGivenOption(const TOptions & options, const TKind & isOfKind)
{
  const TOptions defaults;
  std::string    found;
  VisitOptions<TOptions>([&](const Option & option, auto member) {
    if (found.empty() && isOfKind(option) && !(options.*member == defaults.*member))
    {
      found = option.GetDisplayName();
    }
  });
  return found;
}

/** Likewise of those that are for slides only. */
template <typename TOptions>
std::string
FindOptionOfSlides(const TOptions & options)
{
  return FindGivenOption(options, [](const Option & option) { return option.scope >= OptionScope::Slides; });
}

/** Likewise of those that change whole masks. */
template <typename TOptions>
std::string
FindOptionOfMasks(const TOptions & options)
{
  return FindGivenOption(options, [](const Option & option) { return option.scope == OptionScope::Masks; });
}

/** " name=value" of each option that decides on the result and is not as it is without.
 * \param without names of those that results tell in words of their own */
template <typename TOptions>
std::string
DescribeOptions(const TOptions & options, const std::vector<std::string> & without = {})
{
  const TOptions defaults;
  std::string    text;
  VisitOptions<TOptions>([&](const Option & option, auto member) {
    const bool isNamed = std::find(without.begin(), without.end(), option.name) != without.end();
    if (option.effect == OptionEffect::Bits && !isNamed && !(options.*member == defaults.*member))
    {
      text += ' ' + option.name + '=' + FormatOption(options.*member);
    }
  });
  return text;
}

/** Whether it matters that a value was given: without one the default holds, or what depends on other things. */
GigapixelOptions_EXPORT bool MayBeUnset(const Option & option);

} // namespace gigapixel

#endif

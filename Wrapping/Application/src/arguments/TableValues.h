/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TableValues_h
#define TableValues_h

#include "gigapixelArgumentValues.h"
#include "gigapixelOptionTable.h"
#include "gigapixelSlideOptions.h"

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace gigapixel::application
{

/** What is given of an option; without it \a value stays. */
template <typename TValue>
void
TakeOption(const ArgumentValues & values, const Option & option, TValue & value)
{
  using Texts = std::vector<std::string>;
  if constexpr (std::is_same_v<TValue, bool>)
  {
    value = values.Has(option.name) != option.TurnsOff();
  }
  else if (values.Has(option.name))
  {
    if constexpr (std::is_same_v<TValue, Texts>)
    {
      value = values.GetTexts(option.name);
    }
    else if constexpr (std::is_same_v<TValue, std::string>)
    {
      value = values.GetText(option.name);
    }
    else if constexpr (std::is_same_v<TValue, double>)
    {
      value = values.GetNumber(option.name);
    }
    else
    {
      value = static_cast<TValue>(option.type == OptionType::Memory ? values.GetMemory(option.name)
                                                                    : values.GetInteger(option.name));
    }
  }
}

/** Likewise of an option of which it matters whether it is given. */
template <typename TValue>
void
TakeOption(const ArgumentValues & values, const Option & option, std::optional<TValue> & value)
{
  if (values.IsGiven(option.name))
  {
    TakeOption(values, option, value.emplace());
  }
}

/** The options of a table, as far as the command has them. */
template <typename TOptions>
TOptions
GetOptions(const ArgumentValues & values)
{
  TOptions options;
  VisitOptions<TOptions>([&](const Option & option, auto member) {
    if (values.GetCommand().Find(option.name))
    {
      TakeOption(values, option, options.*member);
    }
  });
  return options;
}

/** The options of slides that the command was given. */
GigapixelApplication_EXPORT SlideOptions GetSlideOptions(const ArgumentValues & values);

} // namespace gigapixel::application

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TableValues_h
#define TableValues_h

#include "gigapixelArgumentValues.h"
#include "gigapixelOptionTable.h"
#include "gigapixelSlideOptions.h"

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace gigapixel::application
{

/** What is given of an option; without it \a value stays. \param name of the option, as the front end has it */
template <typename TValue>
void
TakeOption(const ArgumentValues & values, const std::string & name, const Option & option, TValue & value)
{
  using Texts = std::vector<std::string>;
  if constexpr (std::is_same_v<TValue, bool>)
  {
    value = values.Has(name) != option.TurnsOff();
  }
  else if (values.Has(name))
  {
    if constexpr (std::is_same_v<TValue, Texts>)
    {
      value = values.GetTexts(name);
    }
    else if constexpr (std::is_same_v<TValue, std::string>)
    {
      value = values.GetText(name);
    }
    else if constexpr (std::is_same_v<TValue, std::vector<double>>)
    {
      value = values.GetNumbers(name);
    }
    else if constexpr (std::is_same_v<TValue, double>)
    {
      value = values.GetNumber(name);
    }
    else
    {
      value = static_cast<TValue>(option.type == OptionType::Memory ? values.GetMemory(name) : values.GetInteger(name));
    }
  }
}

/** Likewise of an option of which it matters whether it is given. */
template <typename TValue>
void
TakeOption(const ArgumentValues &  values,
           const std::string &     name,
           const Option &          option,
           std::optional<TValue> & value)
{
  if (values.IsGiven(name))
  {
    TakeOption(values, name, option, value.emplace());
  }
}

/** How a front end names an option of a table. */
using NamingOptions = std::function<std::string(const std::string & name)>;

/** The options of a table, as far as the command has them. \param rename null: they have the names of the table */
template <typename TOptions>
TOptions
GetOptions(const ArgumentValues & values, const NamingOptions & rename = {})
{
  TOptions options;
  VisitOptions<TOptions>([&](const Option & option, auto member) {
    const std::string name = rename ? rename(option.name) : option.name;
    if (values.GetCommand().Find(name))
    {
      TakeOption(values, name, option, options.*member);
    }
  });
  return options;
}

/** The options of slides that the command was given. */
GigapixelApplication_EXPORT SlideOptions GetSlideOptions(const ArgumentValues & values,
                                                         const NamingOptions &  rename = {});

} // namespace gigapixel::application

#endif

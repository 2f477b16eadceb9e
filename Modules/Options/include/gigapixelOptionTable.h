/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOptionTable_h
#define gigapixelOptionTable_h

#include "gigapixelOption.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace gigapixel
{

/** An entry of a table of options: what the option is, and the member of \a TOptions that keeps its value. */
template <typename TOptions>
struct OptionEntry
{
  Option option; ///< name, type, range and help
  std::variant<bool                     TOptions::*,
               int                      TOptions::*,
               std::int64_t             TOptions::*,
               std::uint64_t            TOptions::*,
               double                   TOptions::*,
               std::string              TOptions::*,
               std::vector<std::string> TOptions::*>
    member; ///< where the value is kept

  /** \param property name of the filter's Set and Get \param keeper where the value is kept */
  OptionEntry(const Option & given, const std::string & property, decltype(member) keeper)
    : option(given)
    , member(keeper)
  {
    option.property = property;
  }
};

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

} // namespace gigapixel

#endif

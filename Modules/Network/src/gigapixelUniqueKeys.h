/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelUniqueKeys_h
#define gigapixelUniqueKeys_h

#include "gigapixelPrintable.h"

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gigapixel
{

/** JSON that says one thing alone: no object of it has a key twice, of which RFC 8259 does not say which one counts,
 * and nothing stands behind it. \param deepest that objects and lists may lie in each other \throw
 * std::invalid_argument says what is wrong \throw TJson::exception it is no JSON */
template <typename TJson>
TJson
ParseUniqueKeys(std::string_view text, int deepest)
{
  if (text.find('\0') != std::string_view::npos) // where the parser would end
  {
    throw std::invalid_argument("it holds a byte 0, which no JSON does");
  }
  std::vector<std::set<std::string>> keys; // of the objects that are open
  return TJson::parse(text, [&](int depth, typename TJson::parse_event_t event, const TJson & parsed) {
    if (depth > deepest)
    {
      throw std::invalid_argument("it is nested deeper than " + std::to_string(deepest) + " levels");
    }
    if (event == TJson::parse_event_t::object_start)
    {
      keys.emplace_back();
    }
    else if (event == TJson::parse_event_t::object_end)
    {
      keys.pop_back();
    }
    else if (event == TJson::parse_event_t::key && !keys.back().insert(parsed.template get<std::string>()).second)
    {
      throw std::invalid_argument("it has the key \"" +
                                  GetPrintable(parsed.template get<std::string>()).substr(0, 200) +
                                  "\" twice in one place");
    }
    return true;
  });
}

} // namespace gigapixel

#endif

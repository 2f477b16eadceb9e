/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelJSONValues_h
#define gigapixelJSONValues_h

#include "graph/gigapixelRefuseNetwork.h"
#include "gigapixelJoinNames.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/** Values of a network's JSON, and the sentences that refuse others. */
namespace gigapixel::jsonvalues
{

using Json = nlohmann::ordered_json;

/** Only known keys: a misspelt one would otherwise silently mean its default. */
inline void
CheckKeys(const Json & object, const std::string & where, std::initializer_list<const char *> known)
{
  if (!object.is_object())
  {
    Refuse(where + " must be a JSON object");
  }
  for (const auto & item : object.items())
  {
    if (std::none_of(known.begin(), known.end(), [&](const char * key) { return item.key() == key; }))
    {
      Refuse(where + " has the unknown key \"" + item.key() + "\" (known: " + JoinNames(known) + ")");
    }
  }
}

inline constexpr std::size_t MostBytesShown = 80; ///< of a value that is refused

inline std::string
Show(const Json & value)
{
  const std::string text = value.dump();
  return text.size() <= MostBytesShown ? text : text.substr(0, MostBytesShown) + " ...";
}

template <typename T>
bool
HasType(const Json & value)
{
  if constexpr (std::is_same_v<T, std::string>)
  {
    return value.is_string();
  }
  else if constexpr (std::is_same_v<T, bool>)
  {
    return value.is_boolean();
  }
  else
  {
    return value.is_number_integer() && value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() <= 65536;
  }
}

template <typename T>
T
Get(const Json & object, const std::string & where, const char * key)
{
  if (!object.contains(key))
  {
    Refuse(where + " lacks the key \"" + key + "\"");
  }
  if (!HasType<T>(object.at(key)))
  {
    const char * wanted = std::is_same_v<T, std::string> ? "a string"
                          : std::is_same_v<T, bool>      ? "true or false"
                                                         : "a whole number from 0 to 65536";
    Refuse(where + ": \"" + key + "\" must be " + wanted + ", not " + Show(object.at(key)));
  }
  return object.at(key).get<T>();
}

template <typename T>
T
Get(const Json & object, const std::string & where, const char * key, const T & defaultValue)
{
  return object.contains(key) ? Get<T>(object, where, key) : defaultValue;
}

inline std::vector<double>
ReadNumbers(const Json & json, const char * key)
{
  const Json & numbers = json.at(key);
  const auto   isNumber = [](const Json & number) { return number.is_number(); };
  if (!numbers.is_array() || numbers.size() > 65536 || !std::all_of(numbers.begin(), numbers.end(), isNumber))
  {
    Refuse("\"input\": \"" + std::string(key) + "\" must be a list of numbers, one for each channel");
  }
  return numbers.get<std::vector<double>>();
}

inline double
ReadNumber(const Json & json, const std::string & where, const char * key)
{
  if (!json.contains(key) || !json.at(key).is_number())
  {
    Refuse(where + " lacks the number \"" + key + "\"");
  }
  return json.at(key).get<double>();
}

} // namespace gigapixel::jsonvalues

#endif

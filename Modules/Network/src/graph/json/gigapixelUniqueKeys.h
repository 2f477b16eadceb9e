/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelUniqueKeys_h
#define gigapixelUniqueKeys_h

#include "gigapixelDiagnostic.h"
#include "gigapixelPrintable.h"

#include <nlohmann/json.hpp>

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gigapixel
{

/** \class UniqueKeys
 * \brief Goes over a text before it is kept. The parser's callbacks would do as well, but it then looks through all
 * that it has of an object each time that one inside it ends, which takes the square of their number. */
template <typename TJson>
class UniqueKeys : public nlohmann::json_sax<TJson>
{
public:
  using Text = typename TJson::string_t;

  explicit UniqueKeys(std::size_t deepest)
    : m_Deepest(deepest)
  {}

  bool
  null() override
  {
    return true;
  }

  bool
  boolean(bool) override
  {
    return true;
  }

  bool number_integer(typename TJson::number_integer_t) override { return true; }

  bool number_unsigned(typename TJson::number_unsigned_t) override { return true; }

  bool
  number_float(typename TJson::number_float_t, const Text &) override
  {
    return true;
  }

  bool
  string(Text &) override
  {
    return true;
  }

  bool
  binary(typename TJson::binary_t &) override
  {
    return true;
  }

  bool
  start_object(std::size_t) override
  {
    return Open();
  }

  bool
  key(Text & name) override
  {
    if (!m_Keys.back().insert(name).second)
    {
      throw InvalidArgument(Diagnostic(
        "E-NETWORK-FORMAT", "it has the key \"" + GetPrintable(name.substr(0, 200)) + "\" twice in one place"));
    }
    return true;
  }

  bool
  end_object() override
  {
    return Close();
  }

  bool
  start_array(std::size_t) override
  {
    return Open();
  }

  bool
  end_array() override
  {
    return Close();
  }

  /** Whoever parses the text then says it. */
  bool
  parse_error(std::size_t, const std::string &, const typename TJson::exception &) override
  {
    return false;
  }

private:
  bool
  Open()
  {
    if (m_Keys.size() == m_Deepest)
    {
      throw InvalidArgument(
        Diagnostic("E-NETWORK-FORMAT", "it is nested deeper than " + std::to_string(m_Deepest) + " levels"));
    }
    m_Keys.emplace_back();
    return true;
  }

  bool
  Close()
  {
    m_Keys.pop_back();
    return true;
  }

  const std::size_t           m_Deepest;
  std::vector<std::set<Text>> m_Keys; ///< of the objects and lists that are open
};

/** JSON that says one thing alone: no object of it has a key twice, of which RFC 8259 does not say which one counts,
 * and nothing stands behind it. \param deepest that objects and lists may lie in each other \throw
 * std::invalid_argument says what is wrong \throw TJson::exception it is no JSON */
template <typename TJson>
TJson
ParseUniqueKeys(std::string_view text, std::size_t deepest)
{
  if (text.find('\0') != std::string_view::npos) // where the parser would end
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-FORMAT", "it holds a byte 0, which no JSON does"));
  }
  UniqueKeys<TJson> keys(deepest);
  TJson::sax_parse(text, &keys);
  return TJson::parse(text);
}

} // namespace gigapixel

#endif

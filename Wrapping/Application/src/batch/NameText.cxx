/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NameText.h"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cstdio>

namespace gigapixel::application
{
namespace
{
const std::string Start = "bytes:";

bool
IsUTF8(const std::string & text)
{
  using Json = nlohmann::json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>() == text;
}
} // namespace

std::string
ToNameText(const std::string & name)
{
  if (name.rfind(Start, 0) != 0 && IsUTF8(name))
  {
    return name;
  }
  std::string text = Start;
  for (const char character : name)
  {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x80 || character == '%')
    {
      std::array<char, 4> code{};
      std::snprintf(code.data(), code.size(), "%%%02X", byte);
      text += code.data();
    }
    else
    {
      text += character;
    }
  }
  return text;
}

std::string
FromNameText(const std::string & text)
{
  if (text.rfind(Start, 0) != 0)
  {
    return text;
  }
  std::string name;
  for (std::size_t i = Start.size(); i < text.size(); ++i)
  {
    unsigned           byte = 0;
    const char * const begin = text.data() + i + 1;
    const bool         isCode =
      text[i] == '%' && i + 2 < text.size() && std::from_chars(begin, begin + 2, byte, 16).ptr == begin + 2;
    name += isCode ? static_cast<char>(byte) : text[i];
    i += isCode ? 2 : 0;
  }
  return name;
}

} // namespace gigapixel::application

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DiagnosticJSON.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gigapixel::application
{
namespace
{

using JSON = nlohmann::ordered_json;

JSON
KnownOrNull(const std::string & text)
{
  return text.empty() ? JSON() : JSON(text);
}

std::string
ReadText(const JSON & json, const char * name)
{
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace

JSON
ToJSON(const Diagnostic & diagnostic)
{
  return { { "code", diagnostic.code },
           { "file", KnownOrNull(diagnostic.file) },
           { "option", KnownOrNull(diagnostic.option) },
           { "value", KnownOrNull(diagnostic.value) },
           { "why", diagnostic.why },
           { "do", KnownOrNull(diagnostic.remedy) } };
}

JSON
ToJSON(const std::vector<Diagnostic> & diagnostics)
{
  auto list = JSON::array();
  for (const Diagnostic & diagnostic : diagnostics)
  {
    list.push_back(ToJSON(diagnostic));
  }
  return list;
}

Diagnostic
ParseDiagnostic(const JSON & json)
{
  return Diagnostic(ReadText(json, "code"), ReadText(json, "why"), ReadText(json, "do"))
    .OfFile(ReadText(json, "file"))
    .OfOption(ReadText(json, "option"), ReadText(json, "value"));
}

} // namespace gigapixel::application

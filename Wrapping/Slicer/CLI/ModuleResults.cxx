/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ModuleResults.h"

#include "gigapixelDiagnostic.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace gigapixel::slicer
{

void
WriteResults(const Module & module, const ArgumentValues & values, const nlohmann::ordered_json & result)
{
  if (!values.Has("returnparameterfile"))
  {
    return;
  }
  const std::string name = values.GetText("returnparameterfile");
  std::ofstream     file(name);
  for (const ModuleResult & each : module.results)
  {
    const auto found = result.find(each.key.empty() ? each.name : each.key);
    if (found != result.end() && !found->is_null())
    {
      const bool isText = found->is_string();
      file << each.name << " = " << (isText ? found->get<std::string>() : found->dump()) << '\n';
    }
  }
  file.close();
  if (!file)
  {
    throw Refusal(Diagnostic("E-OUTPUT-WRITE", "the results cannot be written to " + name).OfFile(name));
  }
}

} // namespace gigapixel::slicer

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DiagnosticJSON_h
#define DiagnosticJSON_h

#include "GigapixelCommandLineExport.h"

#include "gigapixelDiagnostic.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace gigapixel::commandline
{

/** {"code", "file", "option", "value", "why", "do"}: an error or a warning as --json prints it. Fields that do not
 * apply are null. */
GigapixelCommandLine_EXPORT nlohmann::ordered_json ToJSON(const Diagnostic & diagnostic);

GigapixelCommandLine_EXPORT nlohmann::ordered_json ToJSON(const std::vector<Diagnostic> & diagnostics);

/** The reverse of ToJSON(). */
GigapixelCommandLine_EXPORT Diagnostic ParseDiagnostic(const nlohmann::ordered_json & json);

} // namespace gigapixel::commandline

#endif

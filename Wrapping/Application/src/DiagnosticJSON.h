/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DiagnosticJSON_h
#define DiagnosticJSON_h

#include "GigapixelApplicationExport.h"

#include "gigapixelDiagnostic.h"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace gigapixel::application
{

/** {"code", "file", "option", "value", "why", "do"}: an error or a warning as --json prints it. Fields that do not
 * apply are null. */
GigapixelApplication_EXPORT nlohmann::ordered_json ToJSON(const Diagnostic & diagnostic);

GigapixelApplication_EXPORT nlohmann::ordered_json ToJSON(const std::vector<Diagnostic> & diagnostics);

/** The reverse of ToJSON(). */
GigapixelApplication_EXPORT Diagnostic ParseDiagnostic(const nlohmann::ordered_json & json);

} // namespace gigapixel::application

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ModuleResults_h
#define ModuleResults_h

#include "Module.h"

#include <nlohmann/json_fwd.hpp>

namespace gigapixel::slicer
{

/** Writes the module's results to --returnparameterfile, a line `name = value` for each that is known; nothing without
 * that file. Lists are written as JSON. \throw Refusal the file cannot be written */
void WriteResults(const Module & module, const ArgumentValues & values, const nlohmann::ordered_json & result);

} // namespace gigapixel::slicer

#endif

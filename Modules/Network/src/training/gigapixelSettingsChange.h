/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSettingsChange_h
#define gigapixelSettingsChange_h

#include <nlohmann/json.hpp>

#include <string>

namespace gigapixel
{

/** The first of a run's settings that decides on its bits and is another one now, and in what it differs: "another seed
 * (7 then, 8 now)"; empty: none. First weights are left to KeepFirstWeights(). \param now may be a part of the settings
 */
std::string FindSettingsChange(const nlohmann::ordered_json & before, const nlohmann::ordered_json & now);

} // namespace gigapixel

#endif

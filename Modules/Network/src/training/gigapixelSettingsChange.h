/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSettingsChange_h
#define gigapixelSettingsChange_h

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace gigapixel
{

/** One of a run's settings that is another one now. */
struct SettingsChange
{
  std::string setting;  ///< "seed"
  std::string sentence; ///< "another seed (7 then, 8 now)"
};

/** The first of a run's settings that decides on its bits and is another one now. First weights are left to
 * KeepFirstWeights(). \param now may be a part of the settings */
std::optional<SettingsChange> FindSettingsChange(const nlohmann::ordered_json & before,
                                                 const nlohmann::ordered_json & now);

} // namespace gigapixel

#endif

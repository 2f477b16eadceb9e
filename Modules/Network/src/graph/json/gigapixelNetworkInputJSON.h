/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNetworkInputJSON_h
#define gigapixelNetworkInputJSON_h

#include "gigapixelNetworkDescription.h"

#include <nlohmann/json_fwd.hpp>

namespace gigapixel
{

/** A network's "input", whose layers or operations are there. \throw std::invalid_argument */
void ReadInput(const nlohmann::ordered_json & json, NetworkDescription & network);

nlohmann::ordered_json WriteInput(const NetworkDescription & network);

/** A network's "patches". \throw std::invalid_argument */
void ReadPatches(const nlohmann::ordered_json & json, VolumePatches & patches);

nlohmann::ordered_json WritePatches(const VolumePatches & patches);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelChosenPatches_h
#define gigapixelChosenPatches_h

#include "gigapixelPatchOptions.h"
#include "gigapixelPatches.h"
#include "gigapixelVolumePatches.h"

#include <optional>

namespace gigapixel
{

/** As the options say; none without a sliding window. */
GigapixelNetwork_EXPORT std::optional<Patches> ChoosePatches(const PatchOptions & options);

/** As the options say, and as the network was trained where they say nothing; none without a sliding window.
 * \throw std::invalid_argument no size is known, or the network was trained without mirrored patches */
GigapixelNetwork_EXPORT std::optional<VolumePatches> ChooseVolumePatches(const PatchOptions &       options,
                                                                         const NetworkDescription & network);

/** The options that say the same as the patches. */
GigapixelNetwork_EXPORT PatchOptions ToOptions(const Patches & patches);

} // namespace gigapixel

#endif

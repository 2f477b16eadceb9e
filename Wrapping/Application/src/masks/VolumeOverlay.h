/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef VolumeOverlay_h
#define VolumeOverlay_h

#include "gigapixelArgumentValues.h"
#include "gigapixelSession.h"

namespace gigapixel::application
{

/** overlay, of a volume and its labels: three slices that are perpendicular to each other, side by side. */
int RunVolumeOverlay(const ArgumentValues & values, const Session & session);

} // namespace gigapixel::application

#endif

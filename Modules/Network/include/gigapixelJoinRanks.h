/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelJoinRanks_h
#define gigapixelJoinRanks_h

#include "GigapixelNetworkExport.h"
#include "gigapixelLaunch.h"
#include "gigapixelRanks.h"

#include <memory>

namespace gigapixel
{

/** Meets the others: all of them are there when it returns. Loads the part of the engine that holds LibTorch's c10d,
 * unless this process is alone.
 * \throw std::runtime_error names the ranks that did not come within a minute */
GigapixelNetwork_EXPORT std::shared_ptr<Ranks> JoinRanks(const Launch & launch);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelMachinePace_h
#define gigapixelMachinePace_h

#include "gigapixelMemoryPlan.h"

namespace gigapixel
{

/** How many seconds a core of this machine takes for each second of MemoryPlan::coreSeconds, which are those of another
 * machine: measured with this network, whose weights are drawn, on a picture of noise in one tile. It takes a second
 * or two. Plans do not depend on it, and so no result.
 * \throw std::runtime_error the network cannot be computed here, for instance because LibTorch is missing */
GigapixelNetwork_EXPORT double MeasureMachinePace(const NetworkDescription & network,
                                                  Purpose                    purpose,
                                                  Precision                  precision);

} // namespace gigapixel

#endif

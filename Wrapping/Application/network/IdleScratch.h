/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef IdleScratch_h
#define IdleScratch_h

#include "gigapixelArgumentValues.h"
#include "gigapixelMemoryPlan.h"

namespace gigapixel::application
{

/** Said where --scratch is given and no plan keeps maps: the option was meant to change something. */
constexpr const char * IdleScratch =
  "--scratch changes nothing here: no maps are kept while the network goes over the image, "
  "and its folder is not used";

inline bool
IsScratchIdle(const ArgumentValues & values, const MemoryPlan & plan)
{
  return values.Has("scratch") && plan.keptBytes == 0;
}

} // namespace gigapixel::application

#endif

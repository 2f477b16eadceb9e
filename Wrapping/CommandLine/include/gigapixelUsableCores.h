/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelUsableCores_h
#define gigapixelUsableCores_h

#include "GigapixelCommandLineExport.h"

namespace gigapixel::commandline
{

/** Cores that this process may use: fewer than the machine's under taskset, batch systems, containers. */
GigapixelCommandLine_EXPORT int CountUsableCores();

} // namespace gigapixel::commandline

#endif

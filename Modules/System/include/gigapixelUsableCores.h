/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelUsableCores_h
#define gigapixelUsableCores_h

#include "GigapixelSystemExport.h"

#include <string>

namespace gigapixel
{

/** Cores that this process may use: fewer than the machine's under taskset, batch systems and containers, whose limits
 * of CPU time are of control groups of versions 1 and 2. A part of a core counts as one.
 * \param root where proc/ and sys/ lie, with a slash at its end: another one than "/" only in tests */
GigapixelSystem_EXPORT int CountUsableCores(const std::string & root = "/");

/** Threads for a filter that has so many work units: no more than there are threads, and than usable cores where nobody
 * has set a number. \param most threads that there are */
GigapixelSystem_EXPORT int CountThreads(unsigned workUnits, unsigned most);

} // namespace gigapixel

#endif

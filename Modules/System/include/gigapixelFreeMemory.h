/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFreeMemory_h
#define gigapixelFreeMemory_h

#include "GigapixelSystemExport.h"

#include <cstdint>
#include <string>

namespace gigapixel
{

/** Bytes that this process can take without the machine swapping: the kernel's MemAvailable, or what limits of this
 * process leave where that is less: those of the control groups (container, batch system) that it is in, of versions 1
 * and 2, and `ulimit -v`. Files that the kernel merely keeps in memory count as free: it gives them up on demand.
 * 0 = not known.
 * \param root where proc/ and sys/ lie, with a slash at its end: another one than "/" only in tests */
GigapixelSystem_EXPORT std::uint64_t GetFreeMemory(const std::string & root = "/");

/** The least of these limits, whatever is used of it; the greatest number: there is none. */
GigapixelSystem_EXPORT std::uint64_t GetMemoryLimit(const std::string & root = "/");

} // namespace gigapixel

#endif

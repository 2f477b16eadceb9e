/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFreeMemory_h
#define gigapixelFreeMemory_h

#include "GigapixelSystemExport.h"

#include <cstdint>
#include <string>

namespace gigapixel
{

/** Bytes that this process can take without the machine swapping: the kernel's MemAvailable, or what the control groups
 * (container, batch system) that the process is in leave of their limits where that is less. Files that the kernel
 * merely keeps in memory count as free: it gives them up on demand. 0 = not known.
 * \param root where proc/ and sys/ lie, with a slash at its end: another one than "/" only in tests */
GigapixelSystem_EXPORT std::uint64_t GetFreeMemory(const std::string & root = "/");

} // namespace gigapixel

#endif

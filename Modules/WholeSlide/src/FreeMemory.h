/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef FreeMemory_h
#define FreeMemory_h

#include <cstdint>

namespace gigapixel
{

/** Bytes that this process can take without the machine swapping: the kernel's MemAvailable, or the limit of the
 * control group (container) where that is less; 0 = not known. */
std::uint64_t GetFreeMemory();

} // namespace gigapixel

#endif

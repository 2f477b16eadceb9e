/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelProcessMemory_h
#define gigapixelProcessMemory_h

#include "GigapixelSystemExport.h"

#include <cstdint>

namespace gigapixel
{

/** What the process holds already: LibTorch's libraries if they were loaded, and pixels that the caller keeps. */
GigapixelSystem_EXPORT std::int64_t GetResidentBytes();

/** Of the whole machine. */
GigapixelSystem_EXPORT std::int64_t GetMachineBytes();

} // namespace gigapixel

#endif

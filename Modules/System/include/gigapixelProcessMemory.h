/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelProcessMemory_h
#define gigapixelProcessMemory_h

#include "GigapixelSystemExport.h"

#include <cstdint>
#include <string>

namespace gigapixel
{

/** What the process holds already, whoever asked for it. */
GigapixelSystem_EXPORT std::int64_t GetResidentBytes();

/** Whether this process has loaded a library of this name ("libtorch_cpu"), of whatever version, for whomever. */
GigapixelSystem_EXPORT bool IsLibraryLoaded(const std::string & name);

/** The handle of such a library for dlsym(); null: it is not loaded. */
GigapixelSystem_EXPORT void * FindLoadedLibrary(const std::string & name);

/** The memory of the whole machine, or what a limit of this process leaves of it: see GetMemoryLimit(). */
GigapixelSystem_EXPORT std::int64_t GetMachineBytes();

} // namespace gigapixel

#endif

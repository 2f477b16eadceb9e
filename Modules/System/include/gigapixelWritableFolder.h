/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWritableFolder_h
#define gigapixelWritableFolder_h

#include "GigapixelSystemExport.h"

#include <cstdint>
#include <string>

namespace gigapixel
{

/** A file in a folder that has no name from the beginning, where the file system has such files, else as soon as it is
 * there: it is gone when it is closed, or the process ends in any way.
 * \return its descriptor, for reading and writing; -1: there is none, and errno says why */
GigapixelSystem_EXPORT int OpenNamelessFile(const std::string & folder);

/** Why no file can be made in a folder, in the system's words; empty: one can. A file is tried, since permissions tell
 * root too much, and nothing of file systems that are read-only. */
GigapixelSystem_EXPORT std::string FindObstacleToWriting(const std::string & folder);

/** Refuses a folder for temporary files before anything is computed.
 * \param bytes that they will take; 0: not known
 * \throw std::runtime_error it is not there, cannot be written into, or has less room */
GigapixelSystem_EXPORT void CheckScratchFolder(const std::string & folder, std::int64_t bytes);

} // namespace gigapixel

#endif

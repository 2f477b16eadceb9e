/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef FileStamp_h
#define FileStamp_h

#include <cstdint>
#include <string>
#include <tuple>

namespace gigapixel
{

/** A file as it is now: path, inode, size, and seconds and nanoseconds of its last change. A file that was replaced or
 * rewritten has another one. */
using FileStamp = std::tuple<std::string, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;

/** Throws SlideError where nothing can be opened by this path, or no file. */
FileStamp GetFileStamp(const std::string & path);

} // namespace gigapixel

#endif

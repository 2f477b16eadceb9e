/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef FileStamp_h
#define FileStamp_h

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gigapixel
{

/** A slide's file as it is now, and those beside it that it consists of: of each its path, device, inode, size, and
 * seconds and nanoseconds of its last change. A slide of which one was replaced, rewritten, added or taken away has
 * another stamp. */
using FileStamp =
  std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>>;

/** Throws SlideError where nothing can be opened by this path, or no file. */
FileStamp GetFileStamp(const std::string & path);

} // namespace gigapixel

#endif

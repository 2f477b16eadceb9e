/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFormatCount_h
#define gigapixelFormatCount_h

#include <cstdint>
#include <string>

namespace gigapixel
{

/** "1 tile", "2 tiles". \param noun in the singular, with a plural in -s */
inline std::string
FormatCount(std::uint64_t count, const std::string & noun)
{
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

} // namespace gigapixel

#endif

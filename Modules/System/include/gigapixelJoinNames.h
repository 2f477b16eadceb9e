/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelJoinNames_h
#define gigapixelJoinNames_h

#include <string>

namespace gigapixel
{

/** "a, b, c" of any range of names. */
template <typename TNames>
std::string
JoinNames(const TNames & names, const char * separator = ", ")
{
  std::string text;
  for (const auto & name : names)
  {
    text += text.empty() ? "" : separator;
    text += name;
  }
  return text;
}

} // namespace gigapixel

#endif

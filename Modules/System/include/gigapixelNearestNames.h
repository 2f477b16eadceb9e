/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNearestNames_h
#define gigapixelNearestNames_h

#include "GigapixelSystemExport.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** Letters to change, add or take away to make one word of the other (Levenshtein). */
GigapixelSystem_EXPORT std::size_t GetEditDistance(const std::string & a, const std::string & b);

/** The so many names that are nearest to a word, the nearest first. */
GigapixelSystem_EXPORT std::vector<std::string> FindNearestNames(const std::string &      word,
                                                                 std::vector<std::string> names,
                                                                 std::size_t              number);

} // namespace gigapixel

#endif

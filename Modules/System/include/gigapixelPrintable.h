/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPrintable_h
#define gigapixelPrintable_h

#include "GigapixelSystemExport.h"

#include <cstddef>
#include <string>

namespace gigapixel
{

/** Of a text that is shown: a path is at most as long. */
constexpr std::size_t MostPrintableBytes = 4096;

/** The text with "\xNN" for each byte that is of a control character, also of those that turn the direction of a text,
 * or not part of valid UTF-8: what comes from a file may be shown in a message, but must neither move a terminal's
 * cursor nor be more than Python takes for a text. Of more than `MostPrintableBytes` the middle is left out (" ... "):
 * a name in a damaged file may have megabytes. */
GigapixelSystem_EXPORT std::string GetPrintable(const std::string & text);

/** Where a text is no JSON, and why: what nlohmann's exception says, without its number and name. */
GigapixelSystem_EXPORT std::string GetPrintableReason(const std::string & what);

/** The shortest text that reads back as the same number, whatever the locale: "0.3". */
GigapixelSystem_EXPORT std::string FormatShortest(double number);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelUTF16_h
#define gigapixelUTF16_h

#include "GigapixelSystemExport.h"

#include <string>

namespace gigapixel
{

/** The text as UTF-8. Halves of characters that lack the other one are U+FFFD, and a byte order mark in front is left
 * out. \param text two bytes for each unit \param bigEndian the higher byte comes first */
GigapixelSystem_EXPORT std::string DecodeUTF16(const std::string & text, bool bigEndian);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNumberText_h
#define gigapixelNumberText_h

#include "GigapixelSystemExport.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gigapixel
{

/** The whole text as a finite number; nothing where it is none. Independent of the locale. */
GigapixelSystem_EXPORT std::optional<double> ReadNumber(const std::string & text);

/** The whole text as a whole number; nothing where it is none, or has more than 18 digits. */
GigapixelSystem_EXPORT std::optional<std::int64_t> ReadInteger(const std::string & text);

/** A number for people, with this many digits behind the point. */
GigapixelSystem_EXPORT std::string FormatNumber(double value, int digits);

} // namespace gigapixel

#endif

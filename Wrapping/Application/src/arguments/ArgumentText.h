/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ArgumentText_h
#define ArgumentText_h

#include "GigapixelApplicationExport.h"

#include "gigapixelArgument.h"
#include "gigapixelNumberText.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** Whole numbers between any of these separators; empty where one is none. */
GigapixelApplication_EXPORT std::vector<std::int64_t> ReadIntegers(const std::string & text,
                                                                   const std::string & separators);

/** Numbers between commas; nothing where one is none. */
GigapixelApplication_EXPORT std::optional<std::vector<double>> ReadNumbers(const std::string & text);

/** \throw UsageError unless the text is a value of the argument's type and range. */
void CheckValue(const Argument & argument, const std::string & value);

bool EndsWith(const std::string & text, const std::string & ending);

} // namespace gigapixel::application

#endif

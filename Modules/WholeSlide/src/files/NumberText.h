/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef NumberText_h
#define NumberText_h

#include <string>

namespace gigapixel
{

/** The number that a text begins with, whatever the locale. Decimals stand behind a point or, where there is no point,
 * behind a single comma: "1,234" is 1.234. Marks of thousands are not read ("1,234.5", "1.234,5").
 * \return 0 for none */
double ToNumber(const std::string & text);

/** With 17 significant digits, fewer where the others are zeros. */
std::string ToText(double value);

} // namespace gigapixel

#endif

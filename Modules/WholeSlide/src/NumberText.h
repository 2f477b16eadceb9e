/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef NumberText_h
#define NumberText_h

#include <string>

namespace gigapixel
{

/** The number that a text begins with, its decimals behind a point whatever the locale; 0 for none. */
double ToNumber(const std::string & text);

/** With 17 significant digits, fewer where the others are zeros. */
std::string ToText(double value);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNumberText.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iomanip>
#include <locale>
#include <sstream>

namespace gigapixel
{

std::optional<double>
ReadNumber(const std::string & text)
{
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double value = 0;
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) || !(stream >> value) || !stream.eof() ||
      !std::isfinite(value))
  {
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t>
ReadInteger(const std::string & text)
{
  const std::size_t firstDigit = !text.empty() && (text.front() == '-' || text.front() == '+') ? 1 : 0;
  const bool        digits = std::all_of(text.begin() + static_cast<std::ptrdiff_t>(firstDigit),
                                  text.end(),
                                  [](unsigned char c) { return std::isdigit(c); });
  if (!digits || text.size() == firstDigit || text.size() > 18 + firstDigit)
  {
    return std::nullopt;
  }
  return std::stoll(text);
}

std::string
FormatNumber(double value, int digits)
{
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

} // namespace gigapixel

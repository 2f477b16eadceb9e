/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NumberText.h"

#include <locale>
#include <sstream>

namespace gigapixel
{

double
ToNumber(const std::string & text)
{
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double value = 0.0;
  stream >> value;
  return stream ? value : 0.0;
}

std::string
ToText(double value)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  text << value;
  return text.str();
}

} // namespace gigapixel

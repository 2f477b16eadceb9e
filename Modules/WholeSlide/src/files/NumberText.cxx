/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NumberText.h"

#include <locale>
#include <sstream>

namespace gigapixel
{

double
ToNumber(const std::string & text)
{
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const std::size_t end = begin == std::string::npos ? begin : text.find_first_not_of("0123456789+-.,eE", begin);
  std::string       number = begin == std::string::npos ? std::string() : text.substr(begin, end - begin);
  const std::size_t comma = number.find(',');
  const std::size_t last = number.find_last_of(",.");
  if (comma != std::string::npos && comma + 1 < number.size())
  {
    if (last != comma || number.find('.') != std::string::npos)
    {
      return 0.0; // marks of thousands, or several numbers
    }
    number[comma] = '.';
  }
  std::istringstream stream(number);
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

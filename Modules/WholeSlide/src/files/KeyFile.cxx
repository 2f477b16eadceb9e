/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "KeyFile.h"

#include "NumberText.h"

#include "gigapixelDiagnostic.h"

#include <fstream>
#include <sstream>

namespace gigapixel
{
namespace
{

double
GetNumber(const KeyFile & values, const std::string & key)
{
  const auto found = values.find(key);
  return found == values.end() ? 0.0 : ToNumber(found->second);
}

[[noreturn]] void
Refuse(const std::string & number, const char * what)
{
  throw Refusal(Diagnostic("E-SLIDE-FORMAT", "it states " + number + ' ' + what + ", more than a slide has"));
}

} // namespace

KeyFile
ReadKeyFile(const std::filesystem::path & path)
{
  constexpr std::size_t largest = std::size_t{ 1 } << 20; // OpenSlide reads no larger one
  std::string           text(largest, ' ');
  std::ifstream         file(path, std::ios::binary);
  file.read(&text[0], static_cast<std::streamsize>(largest));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const std::string  byteOrderMark = "\xEF\xBB\xBF"; // of Unicode, before the first group
  std::istringstream lines(text.rfind(byteOrderMark, 0) == 0 ? text.substr(byteOrderMark.size()) : text);
  KeyFile            values;
  std::string        group;
  for (std::string line; std::getline(lines, line);)
  {
    line.erase(line.find_last_not_of('\r') + 1); // of lines that Windows ends
    const std::size_t equals = line.find('=');
    if (line[0] == '[')
    {
      group = line.substr(1, line.find(']') - 1);
    }
    else if (equals != std::string::npos && equals > 0)
    {
      const std::string key = line.substr(0, line.find_last_not_of(" \t", equals - 1) + 1);
      values[group + '/' + key] = line.substr(equals + 1);
    }
  }
  return values;
}

void
CheckStatedNumber(const KeyFile & values, const std::string & key, double most, const char * what)
{
  const double number = GetNumber(values, key);
  if (number > most)
  {
    Refuse(ToText(number), what);
  }
}

void
CheckStatedProduct(const KeyFile &     values,
                   const std::string & first,
                   const std::string & second,
                   double              most,
                   const char *        what)
{
  const double numbers[] = { GetNumber(values, first), GetNumber(values, second) };
  if (numbers[0] * numbers[1] > most)
  {
    Refuse(ToText(numbers[0]) + " x " + ToText(numbers[1]), what);
  }
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "KeyFile.h"

#include <fstream>
#include <sstream>

namespace gigapixel
{

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

} // namespace gigapixel

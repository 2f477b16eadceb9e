/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPixelFiles.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <utility>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

std::string
Trim(const std::string & text)
{
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/** A format like "plane%03d.raw 1 9 1", as the name of files. */
struct NumberedName
{
  std::string start;
  std::size_t width{ 0 }; ///< digits at least
  std::string end;
};

/** Nothing where it is none, or has more digits than a name. */
std::optional<NumberedName>
ReadNumberedName(const std::string & format)
{
  constexpr std::size_t longest = 255;
  const std::size_t     begin = format.find('%');
  const std::size_t     type = begin == std::string::npos ? begin : format.find_first_not_of("0123456789", begin + 1);
  if (type == std::string::npos || std::string("diu").find(format[type]) == std::string::npos)
  {
    return std::nullopt;
  }
  NumberedName name{ format.substr(0, begin), 0, format.substr(type + 1) };
  name.end.erase(std::min(name.end.size(), name.end.find_first_of(" \t\r\v\f")));
  for (std::size_t i = begin + 1; i < type && name.width <= longest; ++i)
  {
    name.width = 10 * name.width + static_cast<std::size_t>(format[i] - '0');
  }
  return name.width > longest ? std::nullopt : std::optional<NumberedName>(name);
}

/** The files that are there of those that such a format makes, whatever their numbers. */
std::vector<fs::path>
FindNumbered(const fs::path & pattern)
{
  std::vector<fs::path> files;
  const auto            name = ReadNumberedName(pattern.filename().string());
  if (!name)
  {
    return files;
  }
  const auto & [start, width, end] = *name;
  const auto isNumber = [&, width = width](const std::string & digits) {
    const bool isPadded = digits.size() == width || digits == "0" || digits.front() != '0';
    return digits.size() >= width && isPadded && digits.find_first_not_of("0123456789") == std::string::npos;
  };
  std::error_code error;
  for (const fs::directory_entry & entry : fs::directory_iterator(pattern.parent_path(), error))
  {
    const std::string file = entry.path().filename().string();
    const bool        isLonger = file.size() > start.size() + end.size();
    if (isLonger && file.compare(0, start.size(), start) == 0 &&
        file.compare(file.size() - end.size(), end.size(), end) == 0 &&
        isNumber(file.substr(start.size(), file.size() - start.size() - end.size())))
    {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool
IsNRRD(std::istream & stream)
{
  std::array<char, 4> start{};
  const bool          is = stream.read(start.data(), start.size()) && std::string(start.data(), start.size()) == "NRRD";
  stream.clear();
  stream.seekg(0);
  return is;
}

/** \return key and value of a line; no key: it is something else, like a comment */
std::pair<std::string, std::string>
SplitField(const std::string & line, bool isMetaImage)
{
  const std::size_t separator = line.find_first_of(isMetaImage ? "=:" : ":");
  if (separator == std::string::npos || line.front() == '#')
  {
    return {};
  }
  std::string key = Trim(line.substr(0, separator));
  if (!isMetaImage)
  {
    std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
    key = key == "datafile" ? "data file" : key; // two names of one field
  }
  return { std::move(key), Trim(line.substr(separator + 1)) };
}

/** What a name in a header leads to. MetaIO also takes a file that was compressed afterwards. */
std::vector<fs::path>
FindFiles(const fs::path & header, const std::string & name, bool isMetaImage)
{
  const fs::path path = fs::absolute(header).parent_path() / name;
  if (name.find('%') != std::string::npos)
  {
    return FindNumbered(path);
  }
  std::error_code error;
  for (const char * const ending : { ".gz", ".Z" })
  {
    if (isMetaImage && !fs::exists(path, error) && fs::exists(path.string() + ending, error))
    {
      return { path.string() + ending };
    }
  }
  return { path };
}

constexpr std::size_t MostNRRDBytes = 500; // NrrdIO repeats lines and names in messages that may have about 1000

std::string
DescribeLength(const std::string & what, std::size_t bytes, std::size_t most)
{
  return what + " has " + std::to_string(bytes) + " bytes, and at most " + std::to_string(most) +
         " are read: shorten it";
}

/** But for those that may say anything; lines of a list of files are none of them.
 * \return what is wrong with the line; empty: nothing */
std::string
FindTroubleOfLine(const std::string & line, int number, bool isMetaImage)
{
  const std::size_t colon = line.find(':');
  const bool        isPair = colon != std::string::npos && line.compare(colon, 2, ":=") == 0;
  const bool        mayBeLong = isPair || line.front() == '#' || line.rfind("content:", 0) == 0;
  return isMetaImage || line.size() <= MostNRRDBytes || mayBeLong
           ? std::string()
           : DescribeLength("line " + std::to_string(number) + " of its header", line.size(), MostNRRDBytes);
}

bool
IsLocal(const std::string & name)
{
  return name == "LOCAL" || name == "Local" || name == "local";
}
} // namespace

std::optional<PixelHeader>
ReadPixelHeader(const fs::path & file)
{
  constexpr int     longest = 65536; // lines: other files may be anything, and a list may name a file for each slice
  const std::string ending = file.extension().string();
  std::ifstream     stream(file, std::ios::binary);
  PixelHeader       header;
  header.isMetaImage = ending == ".mha" || ending == ".mhd";
  if (!header.isMetaImage && !IsNRRD(stream))
  {
    return std::nullopt;
  }
  if (!header.isMetaImage && file.string().size() > MostNRRDBytes)
  {
    header.trouble = DescribeLength("its path, as it is named here,", file.string().size(), MostNRRDBytes);
  }
  const std::string pixels = header.isMetaImage ? "ElementDataFile" : "data file";
  bool              isList = false;
  std::string       line;
  for (int i = 0; std::getline(stream, line); ++i)
  {
    if (i == longest)
    {
      header.trouble =
        "its header has more than " + std::to_string(longest) + " lines: get it again from where it came";
      break;
    }
    header.bytes += line.size() + 1;
    if (header.trouble.empty())
    {
      header.trouble = FindTroubleOfLine(line, i + 1, header.isMetaImage);
    }
    const bool isEmpty = Trim(line).empty();
    if (isEmpty && (isList || !header.isMetaImage))
    {
      break;
    }
    const auto [key, value] =
      isEmpty || isList ? std::pair<std::string, std::string>() : SplitField(line, header.isMetaImage);
    if (!key.empty())
    {
      header.fields.emplace(key, value);
    }
    const bool namesFiles = key == pixels && !IsLocal(value);
    if (namesFiles && value.rfind("LIST", 0) == 0)
    {
      isList = true;
    }
    else if (namesFiles || (isList && !isEmpty))
    {
      const auto found = FindFiles(file, isList ? Trim(line) : value, header.isMetaImage);
      header.files.insert(header.files.end(), found.begin(), found.end());
    }
    if (header.isMetaImage && key == pixels && !isList)
    {
      break;
    }
  }
  return header;
}

} // namespace gigapixel

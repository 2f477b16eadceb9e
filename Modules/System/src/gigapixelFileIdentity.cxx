/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFileIdentity.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

void
AddSamples(const fs::path & path, std::uintmax_t size, std::uint64_t & hash)
{
  constexpr std::uintmax_t sample = 1 << 16;
  constexpr std::uintmax_t samples = 16;
  std::ifstream            file(path, std::ios::binary);
  std::string              bytes(sample, '\0');
  for (std::uintmax_t i = 0; i < samples; ++i)
  {
    file.clear();
    file.seekg(static_cast<std::streamoff>(size <= sample ? 0 : (size - sample) * i / (samples - 1)));
    file.read(bytes.data(), sample);
    for (std::streamsize b = 0; b < file.gcount(); ++b)
    {
      hash = (hash ^ static_cast<unsigned char>(bytes[static_cast<std::size_t>(b)])) * 0x100000001b3u;
    }
  }
}

std::string
Trim(const std::string & text)
{
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/** The files whose names begin so, for a name like "plane%03d.raw 1 9 1". */
std::vector<fs::path>
FindNumbered(const fs::path & pattern)
{
  const std::string     name = pattern.filename().string();
  const std::string     start = name.substr(0, name.find('%'));
  std::vector<fs::path> files;
  std::error_code       error;
  for (const fs::directory_entry & entry : fs::directory_iterator(pattern.parent_path(), error))
  {
    if (entry.path().filename().string().rfind(start, 0) == 0)
    {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/** The files that the header of a MetaImage ("ElementDataFile = NAME", its last line) or NRRD ("data file: NAME", up to
 * an empty line) says to hold its pixels. NAME is LIST where one name follows per line. */
std::vector<fs::path>
FindPixelFiles(const fs::path & header)
{
  constexpr int         longest = 4096; // lines: other files may be anything
  std::vector<fs::path> files;
  const bool            isMeta = header.extension() == ".mhd";
  std::ifstream         stream(header, std::ios::binary);
  bool                  isList = false;
  std::string           line;
  for (int i = 0; i < longest && (isMeta || header.extension() == ".nhdr") && std::getline(stream, line); ++i)
  {
    const std::size_t separator = line.find(isMeta ? '=' : ':');
    const std::string key = separator == std::string::npos ? std::string() : Trim(line.substr(0, separator));
    const bool        isField = key == "ElementDataFile" || key == "data file" || key == "datafile";
    const std::string name = Trim(isField && !isList ? line.substr(separator + 1) : line);
    if (isList ? name.empty() : !isField)
    {
      continue;
    }
    if (!isList && name.rfind("LIST", 0) == 0)
    {
      isList = true;
      continue;
    }
    const fs::path path = fs::absolute(header).parent_path() / name;
    const auto     numbered = name.find('%') == std::string::npos ? std::vector<fs::path>{ path } : FindNumbered(path);
    files.insert(files.end(), numbered.begin(), numbered.end());
  }
  return files;
}
} // namespace

std::string
IdentifyFile(const std::string & fileName)
{
  std::error_code      error;
  const std::uintmax_t size = fs::file_size(fileName, error);
  if (error)
  {
    throw std::runtime_error(fileName + " cannot be read: " + error.message());
  }
  std::uint64_t hash = 0xcbf29ce484222325u;
  AddSamples(fileName, size, hash);
  std::vector<fs::path> others = FindPixelFiles(fileName);
  others.push_back(fs::path(fileName).replace_extension() / "Slidedat.ini");
  for (const fs::path & other : others)
  {
    const std::uintmax_t otherSize = fs::file_size(other, error);
    if (!error)
    {
      AddSamples(other, otherSize, hash);
    }
  }
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "bytes=" << size << " hash=" << std::hex << hash;
  return text.str();
}

} // namespace gigapixel

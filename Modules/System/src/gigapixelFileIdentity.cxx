/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFileIdentity.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

[[noreturn]] void
Refuse(const fs::path & path, const std::string & reason)
{
  throw std::runtime_error(path.string() + " cannot be read: " + reason);
}

/** FNV-1a of what is added to it. */
class Hash
{
public:
  /** \throw std::runtime_error there are no `size` bytes that can be read */
  void
  AddAll(const fs::path & path, std::uintmax_t size)
  {
    std::ifstream file(path, std::ios::binary);
    for (std::uintmax_t at = 0; at == 0 || at < size; at += Piece)
    {
      AddPiece(file, path, std::min(Piece, size - at));
    }
  }

  /** 16 pieces of 64 KiB from the first byte to the last. */
  void
  AddSamples(const fs::path & path, std::uintmax_t size)
  {
    constexpr std::uintmax_t samples = 16;
    std::ifstream            file(path, std::ios::binary);
    for (std::uintmax_t i = 0; i < samples; ++i)
    {
      file.seekg(static_cast<std::streamoff>(size <= Piece ? 0 : (size - Piece) * i / (samples - 1)));
      AddPiece(file, path, std::min(Piece, size));
    }
  }

  std::uint64_t
  Get() const
  {
    return m_Value;
  }

private:
  static constexpr std::uintmax_t Piece = 1 << 16;

  void
  AddPiece(std::ifstream & file, const fs::path & path, std::uintmax_t count)
  {
    // One byte is asked for where there are none, so that a file that gives an error is not taken for an empty one.
    file.read(m_Bytes.data(), static_cast<std::streamsize>(std::max<std::uintmax_t>(count, 1)));
    if (!file.is_open() || file.bad() || static_cast<std::uintmax_t>(file.gcount()) < count)
    {
      Refuse(path, "it cannot be opened, or not to its end");
    }
    file.clear();
    for (std::size_t b = 0; b < count; ++b)
    {
      m_Value = (m_Value ^ static_cast<unsigned char>(m_Bytes[b])) * 0x100000001b3u;
    }
  }

  std::uint64_t m_Value{ 0xcbf29ce484222325u };
  std::string   m_Bytes = std::string(Piece, '\0');
};

std::string
Trim(const std::string & text)
{
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/** The files that are there of those that a format like "plane%03d.raw 1 9 1" makes, whatever their numbers. */
std::vector<fs::path>
FindNumbered(const fs::path & pattern)
{
  static const std::regex format(R"(([^%]*)%(0?\d*)[diu](\S*).*)");
  const std::string       name = pattern.filename().string();
  std::smatch             parts;
  std::vector<fs::path>   files;
  if (!std::regex_match(name, parts, format))
  {
    return files;
  }
  const std::string start = parts.str(1);
  const std::string end = parts.str(3);
  const std::size_t width = parts.length(2) > 0 ? std::stoul(parts.str(2)) : 0;
  const auto        isNumber = [&](const std::string & digits) {
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
/** What belongs to the file and is there. */
std::vector<fs::path>
FindOthers(const fs::path & file)
{
  std::vector<fs::path> others = FindPixelFiles(file);
  if (file.extension() == ".mrxs")
  {
    others.push_back(fs::path(file).replace_extension() / "Slidedat.ini");
  }
  const auto isMissing = [](const fs::path & other) {
    std::error_code error;
    return fs::status(other, error).type() == fs::file_type::not_found;
  };
  others.erase(std::remove_if(others.begin(), others.end(), isMissing), others.end());
  return others;
}

std::uintmax_t
GetSize(const fs::path & path)
{
  std::error_code      error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error)
  {
    Refuse(path, error.message());
  }
  return size;
}
} // namespace

std::string
IdentifyFile(const std::string & fileName, HashedBytes bytes)
{
  const std::uintmax_t size = GetSize(fileName);
  Hash                 hash;
  bytes == HashedBytes::All ? hash.AddAll(fileName, size) : hash.AddSamples(fileName, size);
  for (const fs::path & other : FindOthers(fileName))
  {
    hash.AddAll(other, GetSize(other));
  }
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "bytes=" << size << " hash=" << std::hex << hash.Get();
  return text.str();
}

} // namespace gigapixel

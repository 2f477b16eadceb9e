/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelHiddenFile.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <unistd.h>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

/** Of processes that are no more. */
void
RemoveLeft(const fs::path & folder, const std::string & start, const std::string & ending)
{
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
  {
    const std::string name = entry->path().filename().string();
    if (name.rfind(start, 0) == 0 && name.size() > start.size() + ending.size())
    {
      const long process = std::strtol(name.c_str() + start.size(), nullptr, 10);
      if (process > 0 && ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH)
      {
        std::error_code ignored;
        fs::remove(entry->path(), ignored);
      }
    }
  }
}

} // namespace

HiddenFile::HiddenFile(const std::string & target)
{
  const fs::path path = fs::absolute(target);
  // Of names like a.b.nii.gz the format's ending begins at .nii.
  const std::string name = path.filename().string();
  const std::size_t gzip = name.rfind(".nii.gz");
  const std::string ending = gzip == std::string::npos ? path.extension().string() : name.substr(gzip);
  const std::string start = '.' + name + ".writing-";
  RemoveLeft(path.parent_path(), start, ending);
  m_Name = (path.parent_path() / (start + std::to_string(::getpid()) + ending)).string();
}

HiddenFile::~HiddenFile()
{
  std::error_code error;
  fs::remove(m_Name, error);
}

void
HiddenFile::CopyInto(AtomicFile & output) const
{
  std::ifstream     stream(m_Name, std::ios::binary);
  std::vector<char> piece(1 << 20);
  while (stream.read(piece.data(), static_cast<std::streamsize>(piece.size())), stream.gcount() > 0)
  {
    output.Append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
}

} // namespace gigapixel

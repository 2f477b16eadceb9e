/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelRunFolder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace gigapixel
{

RunFolder::RunFolder(const std::string & path, bool resume)
  : m_Path(path)
{
  std::error_code error;
  std::filesystem::create_directories(path, error);
  m_Descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (m_Descriptor < 0)
  {
    throw std::runtime_error("run folder \"" + path + "\" cannot be made or opened: " + std::strerror(errno));
  }
  std::string refused;
  // The lock is on the folder itself and ends with the process, however that ends.
  if (flock(m_Descriptor, LOCK_EX | LOCK_NB) != 0)
  {
    refused = errno == EWOULDBLOCK ? "is in use by another training run that is still going on"
                                   : std::string("cannot be locked: ") + std::strerror(errno);
  }
  else if (!resume && HoldsRun())
  {
    refused = "already holds a training run: resume it, or choose another folder";
  }
  else if (resume && HoldsRun() && !HoldsCheckpoint())
  {
    refused = "holds best.safetensors but no last.safetensors to go on from: choose another folder";
  }
  if (!refused.empty())
  {
    close(m_Descriptor);
    throw std::runtime_error("run folder \"" + path + "\" " + refused);
  }
  RemoveUnfinishedFiles();
}

RunFolder::~RunFolder()
{
  close(m_Descriptor);
}

bool
RunFolder::HoldsRun() const
{
  return HoldsCheckpoint() || std::filesystem::exists(GetBestFile());
}

bool
RunFolder::HoldsCheckpoint() const
{
  return std::filesystem::exists(GetLastFile());
}

void
RunFolder::RemoveUnfinishedFiles() const
{
  // A run that was killed while it wrote leaves its temporary file; nobody else writes here now.
  std::error_code error;
  for (const auto & entry : std::filesystem::directory_iterator(m_Path, error))
  {
    if (entry.path().filename().string().find(".safetensors.part-") != std::string::npos ||
        entry.path().filename().string().find("history.csv.part-") != std::string::npos)
    {
      std::filesystem::remove(entry.path(), error);
    }
  }
}

} // namespace gigapixel

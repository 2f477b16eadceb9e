/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWritableFolder.h"

#include "gigapixelDiagnostic.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

namespace gigapixel
{

int
OpenNamelessFile(const std::string & folder)
{
#ifdef O_TMPFILE
  // It never has a name, so that nothing is left of it, whenever the process is killed.
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) // of file systems and kernels that have none
  {
    return nameless;
  }
#endif
  std::string name = (std::filesystem::path(folder) / ".gigapixel-XXXXXX").string();
  const int   descriptor = ::mkstemp(name.data());
  if (descriptor >= 0)
  {
    ::unlink(name.c_str()); // at once: what is killed in between leaves an empty file
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
  return descriptor;
}

std::string
FindObstacleToWriting(const std::string & folder)
{
  const int file = OpenNamelessFile(folder);
  if (file < 0)
  {
    return std::strerror(errno);
  }
  ::close(file);
  return {};
}

void
CheckScratchFolder(const std::string & folder, std::int64_t bytes)
{
  const auto refuse = [&folder](const char * code, const std::string & what, const std::string & remedy) {
    throw Refusal(Diagnostic(code, "the scratch folder \"" + folder + "\" " + what, remedy).OfFile(folder));
  };
  std::error_code error;
  if (!std::filesystem::exists(folder, error))
  {
    refuse("E-FILE-MISSING", "is not there", "make it first, or choose another one");
  }
  if (!std::filesystem::is_directory(folder, error))
  {
    refuse("E-FILE-KIND", "is a file", "choose a folder");
  }
  if (const std::string obstacle = FindObstacleToWriting(folder); !obstacle.empty())
  {
    refuse("E-OUTPUT-WRITE", "cannot be written into: " + obstacle, "choose another one");
  }
  constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;
  const auto             space = std::filesystem::space(folder, error);
  if (!error && space.available < static_cast<std::uintmax_t>(bytes))
  {
    refuse("E-DISK-FULL",
           "has " + std::to_string(space.available / MiB) + " MiB left, and maps of the network take " +
             std::to_string(bytes / MiB + 1) + " MiB",
           "make room there or choose another one");
  }
}

} // namespace gigapixel

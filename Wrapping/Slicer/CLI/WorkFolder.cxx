/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "WorkFolder.h"

#include "gigapixelDiagnostic.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace gigapixel::slicer
{
namespace
{
/** The janitor's own life: no file of ours stays open in it, so that nobody who waits for the end of our output waits
 * for the janitor. */
[[noreturn]] void
WaitAndSweep(int pipe, const std::function<void()> & sweep)
{
  setsid();
  for (int file = 0; file < 1024; ++file)
  {
    if (file != pipe)
    {
      close(file);
    }
  }
  char byte = 0;
  while (read(pipe, &byte, 1) < 0 && errno == EINTR)
  {}
  sweep();
  _exit(0);
}

std::string
MakeFolder(const std::string & output)
{
  const fs::path path(output);
  std::string    name = (path.parent_path() / ('.' + path.filename().string() + ".XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr)
  {
    throw Refusal(Diagnostic("E-OUTPUT-WRITE", output + " cannot be written: " + std::strerror(errno)).OfFile(output));
  }
  return name;
}

void
RemoveFolder(const std::string & folder)
{
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}
} // namespace

Janitor::Janitor(const std::function<void()> & sweep)
{
  int ends[2];
  if (pipe(ends) != 0)
  {
    throw Refusal(Diagnostic("E-OTHER", std::string("no pipe can be made: ") + std::strerror(errno)));
  }
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  const pid_t child = fork();
  if (child == 0)
  {
    // A grandchild belongs to nobody: who kills this process with all its children does not reach it.
    if (fork() == 0)
    {
      WaitAndSweep(ends[0], sweep);
    }
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  close(ends[0]);
  m_Pipe = ends[1];
}

Janitor::~Janitor()
{
  close(m_Pipe);
}

WorkFolder::WorkFolder(const std::string & output)
  : m_Output(output)
  , m_Folder(MakeFolder(output))
  , m_Janitor([folder = m_Folder] { RemoveFolder(folder); })
{}

WorkFolder::~WorkFolder()
{
  RemoveFolder(m_Folder);
}

std::string
WorkFolder::GetPath(const std::string & ending) const
{
  return m_Folder + "/output" + ending;
}

void
WorkFolder::Publish(const std::string & ending) const
{
  fs::rename(GetPath(ending), m_Output);
}

} // namespace gigapixel::slicer

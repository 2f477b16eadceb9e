/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideProbe.h"

#include "FileStamp.h"
#include "OpenSlideLibrary.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <mutex>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char ** environ; // NOLINT(readability-redundant-declaration): POSIX has it declared by who uses it

namespace gigapixel
{
namespace
{

using Clock = std::chrono::steady_clock;

/** What one run of the program came to. */
struct Run
{
  bool        isOver = false; // false: not started
  bool        isLate = false; // it was ended, because it took too long
  int         status = 0;     // waitpid()'s; 0 where somebody else has waited for the process
  std::string output;         // the end of it
};

/** The end of what is written into the pipe until its other side is closed, and whether that was before the deadline.
 */
bool
ReadUntil(Clock::time_point deadline, int pipe, std::string & output)
{
  constexpr std::size_t kept = 16384;
  char                  bytes[kept];
  while (true)
  {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd     waiting{ pipe, POLLIN, 0 };
    const int  ready = poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready == 0)
    {
      return false;
    }
    const ssize_t count = ready > 0 ? read(pipe, bytes, sizeof(bytes)) : -1;
    if (count == 0 || (count < 0 && errno != EINTR))
    {
      return true;
    }
    output.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    output.erase(0, output.size() - std::min(output.size(), kept));
  }
}

/** Starts the program with both outputs into the pipe, in a process group of its own: an interruption from the keyboard
 * is for us, and no crash of the program. */
bool
Start(const std::string & library, const std::string & path, int pipe, pid_t & process)
{
  const std::string program = OpenSlideProbe::GetProgram();
  char * const      words[] = {
         const_cast<char *>(program.c_str()), const_cast<char *>(library.c_str()), const_cast<char *>(path.c_str()), nullptr
  };
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t          attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe, STDERR_FILENO);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  for (const int limit : { SIGXCPU, SIGALRM })
  {
    sigaddset(&signals, limit);
  }
  posix_spawnattr_setsigdefault(&attributes, &signals);
  const int error = posix_spawn(&process, program.c_str(), &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0;
}

Run
Try(const std::string & path)
{
  Run run;
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0)
  {
    return run;
  }
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(OpenSlideProbe::timeLimit);
  pid_t                   process = 0;
  run.isOver = Start(OpenSlideLibrary::GetPath(), path, pipes[1], process);
  close(pipes[1]);
  if (run.isOver)
  {
    run.isLate = !ReadUntil(deadline, pipes[0], run.output);
    if (run.isLate)
    {
      kill(process, SIGKILL);
    }
    int waited = 0;
    do
    {
      waited = waitpid(process, &run.status, 0);
    } while (waited < 0 && errno == EINTR);
    run.status = waited == process ? run.status : 0;
  }
  close(pipes[0]);
  return run;
}

std::string
FindProblemOf(const Run & run)
{
  const std::string mark = "\nprobe: ";
  const std::size_t report = run.output.rfind(mark);
  if (!run.isOver || (WIFEXITED(run.status) && WEXITSTATUS(run.status) == 2))
  {
    return {}; // it was not there, or not of this version
  }
  if (report != std::string::npos && !run.isLate)
  {
    const std::string refused = mark + "refused: ";
    const std::string line = run.output.substr(report, run.output.find_last_not_of('\n') + 1 - report);
    return line.rfind(refused, 0) == 0 ? line.substr(refused.size()) : std::string();
  }
  if (run.isLate)
  {
    return "OpenSlide takes more than " + std::to_string(OpenSlideProbe::timeLimit) + " s for it";
  }
  if (WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGXCPU)
  {
    return "OpenSlide takes more than " + std::to_string(OpenSlideProbe::processorLimit) + " s for it";
  }
  // GLib's words before it ends a process that gets no memory, or asks for more than a number holds.
  if (run.output.find("failed to allocate") != std::string::npos ||
      run.output.find("overflow allocating") != std::string::npos)
  {
    return "OpenSlide takes more than " + std::to_string(OpenSlideProbe::memoryLimit >> 30) + " GiB of memory for it";
  }
  return "OpenSlide crashes on it";
}

} // namespace

std::string
OpenSlideProbe::GetProgram()
{
  Dl_info library{};
  dladdr(reinterpret_cast<const void *>(&OpenSlideProbe::GetProgram), &library);
  const auto folder = std::filesystem::weakly_canonical(library.dli_fname).parent_path();
  const auto program = std::filesystem::path("ITKGigapixel") / "openslide-probe";
  // A program that this library is part of lies in another folder than libraries do, built or installed.
  for (const char * const libraries : { ".", "../lib", GIGAPIXEL_BIN_TO_LIB })
  {
    std::error_code ignored;
    const auto      path = (folder / libraries).lexically_normal() / program;
    if (std::filesystem::exists(path, ignored))
    {
      return path.string();
    }
  }
  return (folder / program).string();
}

std::string
OpenSlideProbe::FindProblem(const std::string & path)
{
  static std::mutex &                       mutex = *new std::mutex;
  static std::map<FileStamp, std::string> & problems = *new std::map<FileStamp, std::string>;

  const FileStamp stamp = GetFileStamp(path);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto                        found = problems.find(stamp);
    if (found != problems.end())
    {
      return found->second;
    }
  }
  const std::string                 problem = FindProblemOf(Try(path)); // slow: no lock is held
  const std::lock_guard<std::mutex> lock(mutex);
  return problems[stamp] = problem;
}

} // namespace gigapixel

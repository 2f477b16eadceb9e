/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelChildProcess.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char ** environ; // NOLINT(readability-redundant-declaration): POSIX has it declared by who uses it

namespace gigapixel
{
namespace
{

using Clock = std::chrono::steady_clock;

/** Waits for the process to end, for a time. Returns whether it has; its status is 0 where somebody else has waited for
 * it, as a program may that waits for any process, or for none (SIGCHLD ignored). */
bool
WaitFor(pid_t process, Clock::duration time, int & status)
{
  const Clock::time_point   deadline = Clock::now() + time;
  std::chrono::microseconds pause{ 50 };
  while (true)
  {
    status = 0;
    const pid_t ended = waitpid(process, &status, WNOHANG);
    if (ended > 0 || (ended < 0 && errno != EINTR))
    {
      return true;
    }
    if (Clock::now() >= deadline)
    {
      return false;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, std::chrono::milliseconds(10));
  }
}

/** Processes that are ended, but were not let go of by the system yet, as where they read from a disk that does not
 * answer: those that have ended since are waited for. \param more that is one of them; 0: none */
void
WaitForLeft(pid_t more)
{
  static std::mutex &               mutex = *new std::mutex;
  static std::vector<pid_t> &       left = *new std::vector<pid_t>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto                        hasEnded = [](pid_t process) {
    int status = 0;
    return WaitFor(process, Clock::duration::zero(), status);
  };
  left.erase(std::remove_if(left.begin(), left.end(), hasEnded), left.end());
  if (more != 0)
  {
    left.push_back(more);
  }
}

/** The file that this address is mapped from, a library's or a program's: its whole path, which the loader does not
 * know where it was given a name to look for, or a path from a folder that we have left. Empty where neither the system
 * nor the loader tells it. */
std::string
FindFileOf(const void * address)
{
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
  {
    char *     rest = nullptr;
    const auto begin = std::strtoul(line.c_str(), &rest, 16); // "begin-end ... path"
    const auto end = *rest == '-' ? std::strtoul(rest + 1, nullptr, 16) : 0;
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    const auto path = line.find('/');
    if (path != std::string::npos && begin <= wanted && wanted < end)
    {
      return line.substr(path);
    }
  }
  Dl_info    loaded{};
  const bool isWhole = dladdr(address, &loaded) != 0 && loaded.dli_fname != nullptr && loaded.dli_fname[0] == '/';
  return isWhole ? loaded.dli_fname : "";
}

} // namespace

std::string
FindProgramBeside(const void * address, const std::string & name)
{
  const auto folder = std::filesystem::path(FindFileOf(address)).parent_path();
  if (folder.empty())
  {
    return {}; // lest a program be started that lies in the folder where we happen to be
  }
  const auto program = std::filesystem::path("ITKGigapixel") / name;
  // A program that the library is part of lies in another folder than libraries do, built or installed.
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

int
Spawn(const std::string & program, int socket, int pipe, pid_t & process)
{
  char * const               words[] = { const_cast<char *>(program.c_str()), nullptr };
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t          attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe, STDERR_FILENO);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGXCPU);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  const int error = posix_spawn(&process, program.c_str(), &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

bool
IsFromOutside(int signal)
{
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT ||
         signal == SIGXCPU; // of a limit that the process was given (ulimit -t)
}

int
EndAndWait(pid_t process, Clock::duration timeByItself)
{
  int status = 0;
  WaitForLeft(0);
  if (WaitFor(process, timeByItself, status))
  {
    return status;
  }
  // It is there, or has not been waited for: nobody else can have its number.
  kill(process, SIGKILL);
  if (!WaitFor(process, timeToEnd, status))
  {
    WaitForLeft(process);
  }
  return 0;
}

} // namespace gigapixel

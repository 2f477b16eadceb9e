/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideProcess.h"

#include "gigapixelFileRefusal.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char ** environ; // NOLINT(readability-redundant-declaration): POSIX has it declared by who uses it

namespace gigapixel
{
namespace
{

using Clock = std::chrono::steady_clock;

std::atomic<bool> silent{ false };

/** Never destroyed: slides in static objects may outlive any order of destruction. */
struct KeptProcess
{
  std::mutex                        mutex;
  std::shared_ptr<OpenSlideProcess> process;
};

std::shared_ptr<OpenSlideProcess>
ExchangeKept(std::shared_ptr<OpenSlideProcess> process)
{
  static KeptProcess &              kept = *new KeptProcess;
  const std::lock_guard<std::mutex> lock(kept.mutex);
  kept.process.swap(process);
  return process;
}

void
Close(int & descriptor)
{
  if (descriptor >= 0)
  {
    close(descriptor);
  }
  descriptor = -1;
}

/** Starts the program with the socket as its standard input, and both outputs into the pipe. It is in a process group
 * of its own: an interruption from the keyboard is for us, and no crash of the program. Returns the system's error. */
int
Spawn(int socket, int pipe, pid_t & process)
{
  const std::string          program = OpenSlideProcess::GetProgram();
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

/** Ends the process, where it has not ended by itself, and waits for it: unless somebody else has, as a program may
 * that waits for any process, or for none (SIGCHLD ignored). What it ended with is not relied on therefore. */
void
EndAndWait(pid_t process)
{
  if (waitpid(process, nullptr, WNOHANG) == 0)
  {
    // It is there, or has not been waited for: nobody else can have its number.
    kill(process, SIGKILL);
    while (waitpid(process, nullptr, 0) < 0 && errno == EINTR)
    {}
  }
}

/** The file that this address is mapped from, this library's or a program's that it is part of: its whole path, which
 * the loader does not know where it was given a name to look for, or a path from a folder that we have left. */
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
  return {};
}

std::string
DescribeTime(unsigned seconds)
{
  return "OpenSlide takes more than " + std::to_string(seconds) + " s for it";
}

std::string
DescribeEnd(bool isLate, const std::string & words)
{
  const auto says = [&words](const char * what) { return words.find(what) != std::string::npos; };
  if (isLate)
  {
    return DescribeTime(OpenSlideLimits::time);
  }
  // GLib's words before it ends a process that gets no memory, or asks for more than a number holds; C++'s, and those
  // of sanitizers.
  if (says("failed to allocate") || says("overflow allocating") || says("std::bad_alloc") || says("out of memory"))
  {
    return "OpenSlide takes more than " + std::to_string(OpenSlideLimits::memory >> 30) + " GiB of memory for it";
  }
  return "OpenSlide crashes on it";
}

} // namespace

/** The other ends of the socket and of the memory are given to the process. */
struct OpenSlideProcess::Lane
{
  /** Lanes with more memory than the largest tiles of levels take are not kept. */
  static constexpr std::size_t keptSize = std::size_t{ 1 } << 26;

  int         socket = -1;
  int         file = -1;
  void *      memory = MAP_FAILED;
  std::size_t size = 0;

  Lane() = default;
  Lane(const Lane &) = delete;
  Lane & operator=(const Lane &) = delete;
  ~Lane()
  {
    Unmap();
    Close(socket);
    Close(file);
  }

  void
  Unmap()
  {
    if (memory != MAP_FAILED)
    {
      munmap(memory, size);
      memory = MAP_FAILED;
      size = 0;
    }
  }

  void
  Grow(std::size_t to)
  {
    if (to <= size)
    {
      return;
    }
    Unmap();
    memory = ftruncate(file, static_cast<off_t>(to)) == 0
               ? mmap(nullptr, to, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
               : MAP_FAILED;
    if (memory == MAP_FAILED)
    {
      throw std::bad_alloc();
    }
    size = to;
  }

  /** Makes both, and sends the other ends through the socket. False where the system does not give them. */
  bool
  Make(int through)
  {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    {
      return false;
    }
    socket = sockets[0];
    file = memfd_create("pixels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    // Else this process would end where the other one made it shorter.
    const bool            isSealed = file >= 0 && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0;
    const int             descriptors[2] = { sockets[1], file };
    char                  byte = 0;
    iovec                 data{ &byte, 1 };
    alignas(cmsghdr) char rights[CMSG_SPACE(sizeof(descriptors))] = {};
    msghdr                message{ nullptr, 0, &data, 1, rights, sizeof(rights), 0 };
    cmsghdr * const       header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(descriptors));
    std::memcpy(CMSG_DATA(header), descriptors, sizeof(descriptors));
    // Where the process is gone, so is the other end of the lane.
    const bool isSent = isSealed && (sendmsg(through, &message, MSG_NOSIGNAL) >= 0 || errno == EPIPE);
    const int  error = errno;
    close(sockets[1]);
    errno = error;
    return isSent;
  }
};

OpenSlideProcess::Answer::Answer(std::shared_ptr<OpenSlideProcess> process, std::unique_ptr<Lane> lane)
  : m_Process(std::move(process))
  , m_Lane(std::move(lane))
{}

OpenSlideProcess::Answer::Answer(Answer &&) noexcept = default;

OpenSlideProcess::Answer::~Answer()
{
  if (m_Lane)
  {
    m_Process->GiveBack(std::move(m_Lane));
  }
}

const std::uint32_t *
OpenSlideProcess::Answer::GetPixels() const
{
  return static_cast<const std::uint32_t *>(m_Lane->memory);
}

std::shared_ptr<OpenSlideProcess>
OpenSlideProcess::Take()
{
  auto kept = ExchangeKept(nullptr);
  return kept && kept->IsUsable() ? kept : std::make_shared<OpenSlideProcess>();
}

void
OpenSlideProcess::Keep(std::shared_ptr<OpenSlideProcess> process)
{
  ExchangeKept(std::move(process));
}

void
OpenSlideProcess::EndKept()
{
  ExchangeKept(nullptr);
}

std::string
OpenSlideProcess::GetProgram()
{
  const auto folder =
    std::filesystem::path(FindFileOf(reinterpret_cast<const void *>(&OpenSlideProcess::GetProgram))).parent_path();
  const auto program = std::filesystem::path("ITKGigapixel") / "openslide-reader";
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

void
OpenSlideProcess::Silence()
{
  silent = true;
}

OpenSlideProcess::OpenSlideProcess()
  : m_Owner(getpid())
{
  Start();
  if (!m_Problem.empty())
  {
    return;
  }
  OpenSlideMessage hello;
  bool             isLate = false;
  if (!Receive(m_Socket, hello, isLate))
  {
    End(isLate);
    m_Problem = "OpenSlide's program " + GetProgram() + " ends before it can be asked";
    m_Remedy = "see what it says when it is started by hand, or name another library of OpenSlide in "
               "GIGAPIXEL_OPENSLIDE";
    return;
  }
  if (hello.size() != 3 || hello[0] != OpenSlideProtocol)
  {
    End(false);
    m_Problem = "OpenSlide's program " + GetProgram() + " is of another version";
    m_Remedy = "install all of ITKGigapixel again";
    return;
  }
  m_Version = hello[1];
  if (m_Version.empty())
  {
    m_Problem = "OpenSlide's library does not load (" + hello[2] + ')';
    m_Remedy =
      "install it (Debian: libopenslide0; Python: pip install openslide-bin), or name the file of the library in "
      "GIGAPIXEL_OPENSLIDE";
  }
}

void
OpenSlideProcess::Start()
{
  int sockets[2] = { -1, -1 };
  int pipes[2] = { -1, -1 };
  int error =
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0 && pipe2(pipes, O_CLOEXEC | O_NONBLOCK) == 0
      ? 0
      : errno;
  error = error == 0 ? Spawn(sockets[1], pipes[1], m_Process) : error;
  Close(sockets[1]);
  Close(pipes[1]);
  m_Socket = sockets[0];
  m_Output = pipes[0];
  if (error != 0)
  {
    m_Process = 0;
    const bool isMissing = error == ENOENT;
    m_Problem = "OpenSlide's program " + GetProgram() +
                (isMissing ? " is missing" : std::string(" cannot be started (") + std::strerror(error) + ')');
    m_Remedy = isMissing ? "install all of ITKGigapixel again"
                         : GetFileRemedy(std::error_code(error, std::generic_category()), "see to it that it can be");
  }
}

OpenSlideProcess::~OpenSlideProcess()
{
  if (m_Process != 0 && getpid() == m_Owner)
  {
    EndAndWait(m_Process);
  }
  Close(m_Socket);
  Close(m_Output);
}

bool
OpenSlideProcess::IsUsable() const
{
  if (getpid() != m_Owner)
  {
    return false; // without the lock, which another thread may have had as this process was forked
  }
  const std::lock_guard<std::mutex> lock(m_Mutex);
  pollfd                            closed{ m_Socket, 0, 0 };
  return m_Process != 0 && poll(&closed, 1, 0) == 0;
}

/** What the process has said, of which the end is kept. The lock is held. */
void
OpenSlideProcess::TakeWords()
{
  constexpr std::size_t kept = 16384;
  char                  words[4096];
  for (ssize_t count = 0; (count = read(m_Output, words, sizeof(words))) > 0;)
  {
    m_Words.append(words, static_cast<std::size_t>(count));
    m_Words.erase(0, m_Words.size() - std::min(m_Words.size(), kept));
    if (!silent)
    {
      std::fwrite(words, 1, static_cast<std::size_t>(count), stderr);
    }
  }
}

/** False where the process has ended, or takes too long. */
bool
OpenSlideProcess::Receive(int socket, OpenSlideMessage & message, bool & isLate)
{
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(OpenSlideLimits::time);
  return ReceiveMessage(socket, message, [this, socket, deadline, &isLate] {
    while (true)
    {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd     waiting[] = { { socket, POLLIN, 0 }, { m_Output, POLLIN, 0 } };
      const int  ready = poll(waiting, 2, static_cast<int>(std::max<std::int64_t>(left, 0)));
      if (ready > 0 && waiting[1].revents != 0)
      {
        const std::lock_guard<std::mutex> lock(m_Mutex);
        TakeWords();
      }
      if (ready > 0 && waiting[0].revents != 0)
      {
        return true;
      }
      if (ready == 0 || (ready < 0 && errno != EINTR))
      {
        isLate = ready == 0;
        return false;
      }
    }
  });
}

/** What the process has ended by; the first of all that notice it ends it for good. */
std::string
OpenSlideProcess::End(bool isLate)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (m_Process != 0)
  {
    EndAndWait(std::exchange(m_Process, 0));
    TakeWords();
    m_End = DescribeEnd(isLate, m_Words);
  }
  return m_End;
}

std::unique_ptr<OpenSlideProcess::Lane>
OpenSlideProcess::TakeLane()
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (!m_Idle.empty())
  {
    auto lane = std::move(m_Idle.back());
    m_Idle.pop_back();
    return lane;
  }
  auto lane = std::make_unique<Lane>();
  if (!lane->Make(m_Socket))
  {
    throw std::system_error(errno, std::generic_category(), "OpenSlide cannot be asked");
  }
  return lane;
}

void
OpenSlideProcess::GiveBack(std::unique_ptr<Lane> lane)
{
  if (lane->size <= Lane::keptSize)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Idle.push_back(std::move(lane));
  }
}

OpenSlideProcess::Answer
OpenSlideProcess::Ask(const std::shared_ptr<OpenSlideProcess> & process,
                      const OpenSlideMessage &                  request,
                      std::size_t                               pixels)
{
  auto             lane = process->TakeLane();
  const int        socket = lane->socket;
  bool             isLate = false;
  OpenSlideMessage texts = request;
  if (pixels != 0)
  {
    ++process->m_Reads;
    lane->Grow(pixels * sizeof(std::uint32_t));
    texts.insert(texts.begin() + 1, std::to_string(lane->size));
  }
  if (!SendMessage(socket, texts) || !process->Receive(socket, texts, isLate))
  {
    const std::string what = process->End(isLate);
    throw OpenSlideEnd(what, isLate);
  }
  if (texts[0] == "late")
  {
    process->End(false);
    throw OpenSlideEnd(DescribeTime(OpenSlideLimits::processor), true);
  }
  Answer answer(process, std::move(lane));
  if (texts[0] == "refused")
  {
    throw std::runtime_error(texts.back());
  }
  answer.texts = std::move(texts);
  return answer;
}

} // namespace gigapixel

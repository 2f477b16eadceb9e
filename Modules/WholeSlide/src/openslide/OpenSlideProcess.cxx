/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideProcess.h"

#include "OpenSlideLane.h"
#include "OpenSlidePlaces.h"

#include "gigapixelChildProcess.h"
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
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gigapixel
{
namespace
{

using Clock = std::chrono::steady_clock;

/** An answer is waited for as long as this though there is an interruption: sound slides answer sooner, and so what the
 * interruption lets come to an end, as the step of a training, does. */
constexpr std::chrono::seconds patience{ 1 };

/** Who computes less than this, in nanoseconds, as OpenSlideLimits::time passes, has waited for something else. */
constexpr std::int64_t hardlyComputed = 1000000000;

/** Lanes with more memory than the largest tiles of levels take are not kept. */
constexpr std::size_t keptSize = std::size_t{ 1 } << 26;

const char * const tooManyFiles = "Too many open files"; // the system's words, in the language of programs

std::atomic<bool> silent{ false };

std::atomic<bool (*)()> interruption{ nullptr };

/** Somebody has given up waiting, and nobody is to begin. */
std::atomic<bool> wasInterrupted{ false };

bool
IsInterrupted()
{
  bool (*const isRequested)() = interruption;
  const bool is = isRequested != nullptr && isRequested();
  wasInterrupted = wasInterrupted && is;
  return is;
}

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

std::string
DescribeTime(unsigned seconds)
{
  return "OpenSlide takes more than " + std::to_string(seconds) + " s for it";
}

std::string
DescribeLoss(int signal)
{
  return "OpenSlide's process was ended from outside (signal " + std::to_string(signal) +
         (signal == SIGKILL ? ", as the system ends what it has no memory for)" : ")");
}

/** What a process did that ended by itself, by its last words. */
std::string
DescribeEnd(const std::string & words)
{
  const auto says = [&words](const char * what) { return words.find(what) != std::string::npos; };
  // GLib's words before it ends a process that gets no memory, or asks for more than a number holds; C++'s, and those
  // of sanitizers.
  if (says("failed to allocate") || says("overflow allocating") || says("std::bad_alloc") || says("out of memory"))
  {
    return "OpenSlide takes more than " + std::to_string(OpenSlideLimits::memory >> 30) + " GiB of memory for it";
  }
  return "OpenSlide crashes on it";
}

Diagnostic
DescribeTooFewFiles()
{
  return { "E-FILE-ACCESS",
           "there are too few file descriptors for OpenSlide",
           "allow this process more open files (ulimit -n)" };
}

Diagnostic
DescribeInstallation(const std::string & why, const std::string & remedy)
{
  return { "E-INSTALLATION", why, remedy };
}

} // namespace

OpenSlideProcess::Use &
OpenSlideProcess::Use::operator=(Use && other) noexcept
{
  m_Process.swap(other.m_Process);
  return *this;
}

OpenSlideProcess::Use::~Use()
{
  if (m_Process)
  {
    OpenSlidePlaces::Get().EndUse(m_Process.get());
  }
}

OpenSlideProcess::Use
OpenSlideProcess::Use::Begin(const std::shared_ptr<OpenSlideProcess> & process)
{
  const bool isOurs = process && process->IsUsable() && OpenSlidePlaces::Get().BeginUse(process.get());
  return Use(isOurs ? process : nullptr);
}

OpenSlideProcess::Answer::Answer(std::shared_ptr<OpenSlideProcess> process, std::unique_ptr<OpenSlideLane> lane)
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
  return static_cast<const std::uint32_t *>(m_Lane->GetMemory());
}

OpenSlideProcess::Use
OpenSlideProcess::Start()
{
  Use use(std::make_shared<OpenSlideProcess>());
  use->Launch();
  return use;
}

OpenSlideProcess::Use
OpenSlideProcess::Take()
{
  Use use = Use::Begin(ExchangeKept(nullptr));
  return use ? std::move(use) : Start();
}

void
OpenSlideProcess::Keep(Use process)
{
  ExchangeKept(process.Get());
}

void
OpenSlideProcess::EndKept()
{
  ExchangeKept(nullptr);
}

std::string
OpenSlideProcess::GetProgram()
{
  return FindProgramBeside(reinterpret_cast<const void *>(&OpenSlideProcess::GetProgram), "openslide-reader");
}

void
OpenSlideProcess::Silence()
{
  silent = true;
}

void
OpenSlideProcess::SetInterruption(bool (*isRequested)())
{
  interruption = isRequested;
}

OpenSlideProcess::OpenSlideProcess()
  : m_Owner(getpid())
{}

/** Starts the program, and waits for its first message. */
void
OpenSlideProcess::Launch()
{
  const bool hasPlace = OpenSlidePlaces::Get().Take(
    this, [this] { Retire(); }, IsInterrupted);
  const int error = hasPlace ? StartProgram() : 0;
  if (hasPlace && error == 0)
  {
    Greet();
    return;
  }
  OpenSlidePlaces::Get().GiveBack(this);
  m_Problem =
    DescribeInstallation("OpenSlide's program " + GetProgram() + " cannot be started (" + std::strerror(error) + ')',
                         GetFileRemedy(std::error_code(error, std::generic_category()), "see to it that it can be"));
  if (!hasPlace)
  {
    m_Problem = { "E-READER-ENDED", "OpenSlide's program was not started, because of an interruption", "begin again" };
  }
  else if (GetProgram().empty())
  {
    m_Problem = DescribeInstallation("where OpenSlide's program lies cannot be told, as /proc/self/maps cannot be read",
                                     "mount /proc");
  }
  else if (error == ENOENT)
  {
    m_Problem =
      DescribeInstallation("OpenSlide's program " + GetProgram() + " is missing", "install all of ITKGigapixel again");
  }
  else if (error == EMFILE || error == ENFILE)
  {
    m_Problem = DescribeTooFewFiles();
  }
}

/** What OpenSlide the program has. */
void
OpenSlideProcess::Greet()
{
  OpenSlideMessage hello;
  const Course     course = Receive(m_Socket, hello);
  if (course != Course::Answered)
  {
    const Ending ending = End(course);
    m_Problem = ending.what.remedy.empty()
                  ? DescribeInstallation("OpenSlide's program " + GetProgram() + " ends before it can be asked",
                                         "see what it says when it is started by hand, or name another library of "
                                         "OpenSlide in GIGAPIXEL_OPENSLIDE")
                  : ending.what;
    return;
  }
  if (hello.size() != 3 || hello[0] != OpenSlideProtocol)
  {
    End(Course::Answered);
    m_Problem = DescribeInstallation("OpenSlide's program " + GetProgram() + " is of another version",
                                     "install all of ITKGigapixel again");
    return;
  }
  m_Version = hello[1];
  if (m_Version.empty() && hello[2].find(tooManyFiles) != std::string::npos)
  {
    m_Problem = DescribeTooFewFiles();
  }
  else if (m_Version.empty())
  {
    m_Problem = DescribeInstallation(
      "OpenSlide's library does not load (" + hello[2] + ')',
      "install it (Debian: libopenslide0; Python: pip install openslide-bin), or name the file of the library in "
      "GIGAPIXEL_OPENSLIDE");
  }
}

/** Returns the system's error. */
int
OpenSlideProcess::StartProgram()
{
  const std::string program = GetProgram(); // which takes a descriptor
  int               sockets[2] = { -1, -1 };
  int               pipes[2] = { -1, -1 };
  int               error =
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0 && pipe2(pipes, O_CLOEXEC | O_NONBLOCK) == 0
                    ? 0
                    : errno;
  error = error == 0 ? Spawn(program, sockets[1], pipes[1], m_Process) : error;
  Close(sockets[1]);
  Close(pipes[1]);
  m_Socket = sockets[0];
  m_Output = pipes[0];
  m_Process = error == 0 ? m_Process : 0;
  if (m_Process == 0 || clock_getcpuclockid(m_Process, &m_Clock) != 0)
  {
    m_Clock = CLOCK_THREAD_CPUTIME_ID; // of who waits, which computes nothing
  }
  return error;
}

OpenSlideProcess::~OpenSlideProcess()
{
  if (getpid() == m_Owner)
  {
    Retire();
    OpenSlidePlaces::Get().GiveBack(this);
  }
  Close(m_Socket);
  Close(m_Output);
}

/** Ends it where nobody uses it: another one may need its place, even as the last one who knows it lets go of it. */
void
OpenSlideProcess::Retire()
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (m_Process != 0)
  {
    EndAndWait(std::exchange(m_Process, 0), Clock::duration::zero());
  }
  m_Idle.clear();
  Close(m_Socket);
  Close(m_Output);
}

/** False in a process that was forked from ours, and where it has ended. */
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

/** Nanoseconds on a core that its process has taken; 0 where it has ended. */
std::int64_t
OpenSlideProcess::GetComputed() const
{
  timespec time{};
  return clock_gettime(m_Clock, &time) == 0 ? std::int64_t{ time.tv_sec } * 1000000000 + time.tv_nsec : 0;
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

OpenSlideProcess::Course
OpenSlideProcess::Receive(int socket, OpenSlideMessage & message)
{
  const Clock::time_point begin = Clock::now();
  const Clock::time_point deadline = begin + std::chrono::seconds(OpenSlideLimits::time);
  Course                  course = Course::Closed;
  const bool              isReceived = ReceiveMessage(socket, message, [this, socket, begin, deadline, &course] {
    while (true)
    {
      if (wasInterrupted && IsInterrupted())
      {
        course = Course::Interrupted;
        return false;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      const auto wait = std::clamp<std::int64_t>(left.count(), 0, OpenSlidePlaces::TimeToLook.count());
      pollfd     waiting[] = { { socket, POLLIN, 0 }, { m_Output, POLLIN, 0 } };
      const int  ready = poll(waiting, 2, static_cast<int>(wait));
      if (ready > 0 && waiting[1].revents != 0)
      {
        const std::lock_guard<std::mutex> lock(m_Mutex);
        TakeWords();
      }
      if (ready > 0 && waiting[0].revents != 0)
      {
        return true;
      }
      if (IsInterrupted() && Clock::now() >= begin + patience)
      {
        wasInterrupted = true; // seen above
      }
      else if (left.count() <= 0)
      {
        course = Course::Late;
        return false;
      }
      else if (ready < 0 && errno != EINTR)
      {
        return false;
      }
    }
  });
  return isReceived ? Course::Answered : course;
}

/** What the process has ended by; the first of all that notice it ends it for good. */
OpenSlideProcess::Ending
OpenSlideProcess::End(Course course)
{
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    if (m_Process == 0)
    {
      return m_End;
    }
    const bool isClosed = course == Course::Closed;
    const int  status = EndAndWait(std::exchange(m_Process, 0), isClosed ? timeToEnd : Clock::duration::zero());
    const int  signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    TakeWords();
    m_End = { { "E-CODEC-DATA", DescribeEnd(m_Words) } };
    if (course == Course::Late)
    {
      m_End = { { "E-CODEC-DATA", DescribeTime(OpenSlideLimits::time) } };
    }
    else if (course == Course::Interrupted)
    {
      m_End = { { "E-READER-ENDED", "an interruption ended waiting for OpenSlide", "begin again" } };
    }
    else if (m_Words.find(tooManyFiles) != std::string::npos)
    {
      m_End = { DescribeTooFewFiles() };
    }
    else if (IsFromOutside(signal))
    {
      m_End = { { "E-READER-ENDED",
                  DescribeLoss(signal),
                  signal == SIGKILL ? "see to it that there is memory left, and try again" : "try again" },
                true };
    }
  }
  OpenSlidePlaces::Get().GiveBack(this);
  return m_End;
}

/** Counts a thread that waits for an answer. What the process has said before the first of them asked does not tell by
 * what it ends. */
class OpenSlideProcess::Asking
{
public:
  explicit Asking(OpenSlideProcess & process)
    : m_Process(process)
  {
    const std::lock_guard<std::mutex> lock(m_Process.m_Mutex);
    if (m_Process.m_Asking++ == 0 && m_Process.m_Process != 0)
    {
      m_Process.TakeWords();
      m_Process.m_Words.clear();
    }
  }
  Asking(const Asking &) = delete;
  Asking & operator=(const Asking &) = delete;
  ~Asking()
  {
    const std::lock_guard<std::mutex> lock(m_Process.m_Mutex);
    --m_Process.m_Asking;
  }

private:
  OpenSlideProcess & m_Process;
};

/** There is no answer. \param computed until it was waited for */
void
OpenSlideProcess::Fail(Course course, std::int64_t computed)
{
  const bool   hasWaited = course == Course::Late && GetComputed() - computed < hardlyComputed;
  const Ending ending = End(course);
  if (hasWaited)
  {
    throw Obstacle(Diagnostic("E-FILE-ACCESS",
                              "OpenSlide gave no answer in " + std::to_string(OpenSlideLimits::time) +
                                " s, and hardly computed: the disk or the network may not answer",
                              "check that the file can be read, and try again"));
  }
  if (ending.isLoss)
  {
    throw OpenSlideLoss(ending.what);
  }
  if (!ending.what.remedy.empty())
  {
    throw Obstacle(ending.what);
  }
  throw OpenSlideEnd(ending.what.why, course == Course::Late);
}

std::unique_ptr<OpenSlideLane>
OpenSlideProcess::TakeLane()
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (!m_Idle.empty())
  {
    auto lane = std::move(m_Idle.back());
    m_Idle.pop_back();
    return lane;
  }
  auto lane = std::make_unique<OpenSlideLane>();
  if (!lane->Make(m_Socket))
  {
    if (errno == EMFILE || errno == ENFILE || errno == ETOOMANYREFS)
    {
      throw Obstacle(DescribeTooFewFiles());
    }
    const std::error_code error(errno, std::generic_category());
    throw Obstacle(Diagnostic(
      "E-FILE-ACCESS", "OpenSlide cannot be asked (" + error.message() + ')', GetFileRemedy(error, "try again")));
  }
  return lane;
}

void
OpenSlideProcess::GiveBack(std::unique_ptr<OpenSlideLane> lane)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (lane->GetSize() <= keptSize && m_Process != 0)
  {
    m_Idle.push_back(std::move(lane));
  }
}

OpenSlideProcess::Answer
OpenSlideProcess::Ask(const Use & process, const OpenSlideMessage & request, std::size_t pixels)
{
  const Asking     asking(*process.Get());
  auto             lane = process->TakeLane();
  const int        socket = lane->GetSocket();
  OpenSlideMessage texts = request;
  if (pixels != 0)
  {
    lane->Grow(pixels * sizeof(std::uint32_t));
    texts.insert(texts.begin() + 1, std::to_string(lane->GetSize()));
  }
  if (pixels != 0 || request[0] == "try")
  {
    ++process->m_Reads;
  }
  const std::int64_t computed = process->GetComputed();
  const Course       course = SendMessage(socket, texts) ? process->Receive(socket, texts) : Course::Closed;
  if (course != Course::Answered)
  {
    process->Fail(course, computed);
  }
  if (texts[0] == "late")
  {
    process->End(Course::Answered);
    throw OpenSlideEnd(DescribeTime(OpenSlideLimits::processor), true);
  }
  Answer answer(process.Get(), std::move(lane));
  if (texts[0] == "refused")
  {
    if (texts.back().find(tooManyFiles) != std::string::npos)
    {
      throw Obstacle(DescribeTooFewFiles());
    }
    throw Refusal(Diagnostic(pixels == 0 ? "E-SLIDE-FORMAT" : "E-CODEC-DATA", texts.back()));
  }
  answer.texts = std::move(texts);
  return answer;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BatchLock.h"

#include "gigapixelDiagnostic.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds HeartBeat{ 20 };
constexpr double               LongestSilence = 180; // seconds; networks may show a file's time a minute late

const std::string Ending = ".lock";

/** A machine between two starts of it: flock() of one knows nothing of another's processes. */
std::string
GetMachine()
{
  std::string   boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  return boot;
}

std::string
GetHost()
{
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : std::string();
}

double
GetSeconds(const struct stat & status)
{
  return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

/** The time of the machine that the folder lies on, which may not be that of this one; else this one's, where nothing
 * can be written. */
double
GetTimeOfFolder(const std::string & folder)
{
  const int   file = ::open(BatchLock::GetClock(folder).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  struct stat status = {};
  const bool  isKnown = file >= 0 && ::futimens(file, nullptr) == 0 && ::fstat(file, &status) == 0;
  if (file >= 0)
  {
    ::close(file);
  }
  return isKnown ? GetSeconds(status)
                 : std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/** Empty: it says nothing, as where it has just been made. */
Json
ReadHolder(const std::string & file)
{
  std::ifstream stream(file, std::ios::binary);
  const Json    holder = Json::parse(stream, nullptr, false);
  const bool    isOurs = holder.is_object() && holder.value("host", Json("")).is_string() &&
                      holder.value("machine", Json("")).is_string() && holder.value("pid", Json(0)).is_number();
  return isOurs ? holder : Json::object();
}

/** Whether it is named as locks are, and is no folder or pipe, which would wait for a writer for ever. */
bool
IsLock(const fs::path & file)
{
  std::error_code ignored;
  return file.extension() == Ending && fs::is_regular_file(file, ignored);
}

/** \class FoundLock
 * \brief A lock that is there. While the object lives, no other file gets the file's number in the file system. */
class FoundLock
{
public:
  FoundLock(std::string file, const std::string & folder)
    : m_File(std::move(file))
    , m_Descriptor(::open(m_File.c_str(), O_RDWR | O_CLOEXEC))
  {
    if (m_Descriptor < 0)
    {
      m_IsDead = false; // it has just gone, or it is somebody else's
      m_IsGone = errno == ENOENT;
      return;
    }
    struct stat status = {};
    ::fstat(m_Descriptor, &status);
    const std::string machine = GetMachine();
    const bool        isOfThis = !machine.empty() && ReadHolder(m_File).value("machine", "") == machine;
    const bool        isFree = isOfThis && ::flock(m_Descriptor, LOCK_EX | LOCK_NB) == 0;
    const bool        isHeld = isOfThis && !isFree && errno == EWOULDBLOCK;
    // A file system may have no such locks; then its age tells.
    m_IsDead = isFree || (!isHeld && GetTimeOfFolder(folder) - GetSeconds(status) >= LongestSilence);
  }
  ~FoundLock()
  {
    if (m_Descriptor >= 0)
    {
      ::close(m_Descriptor);
    }
  }
  FoundLock(const FoundLock &) = delete;
  FoundLock & operator=(const FoundLock &) = delete;

  bool
  IsAlive() const
  {
    return !m_IsDead && !m_IsGone;
  }

  /** Whether its holder is gone, and the lock still has its name. */
  bool
  IsDead() const
  {
    struct stat status = {}, named = {};
    return m_IsDead && ::fstat(m_Descriptor, &status) == 0 && ::stat(m_File.c_str(), &named) == 0 &&
           status.st_ino == named.st_ino;
  }

private:
  const std::string m_File;
  const int         m_Descriptor;
  bool              m_IsDead{ false };
  bool              m_IsGone{ false };
};

std::string
GetFile(const std::string & folder, const std::string & name, int number)
{
  return (fs::path(folder) / (name + '.' + std::to_string(number) + Ending)).string();
}

} // namespace

std::string
BatchLock::GetClock(const std::string & folder)
{
  return (fs::path(folder) / "clock").string();
}

std::unique_ptr<BatchLock>
BatchLock::Take(const std::string & folder, const std::string & name, const Json & about)
{
  std::vector<std::string> files;
  std::error_code          ignored;
  for (int number = 1; fs::exists(GetFile(folder, name, number), ignored); ++number)
  {
    files.push_back(GetFile(folder, name, number));
  }
  if (!files.empty() && !fs::is_regular_file(files.back(), ignored) && fs::exists(files.back(), ignored))
  {
    throw Refusal(
      Diagnostic("E-FILE-KIND", "it is named as our locks are, and is none", "remove it").OfFile(files.back()));
  }
  const auto dead = files.empty() ? nullptr : std::make_unique<FoundLock>(files.back(), folder);
  if (dead && !dead->IsDead())
  {
    return nullptr;
  }
  files.push_back(GetFile(folder, name, static_cast<int>(files.size()) + 1));
  const int descriptor = ::open(files.back().c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor < 0 && errno == EEXIST)
  {
    return nullptr; // another process was faster
  }
  if (descriptor < 0)
  {
    throw Refusal(Diagnostic::Of(std::system_error(errno, std::generic_category())).OfFile(files.back()));
  }
  ::flock(descriptor, LOCK_EX | LOCK_NB); // nobody else has it, or this file system has no such locks
  if (dead && !dead->IsDead())            // another one took its place and is done, and a third may have begun anew
  {
    ::unlink(files.back().c_str());
    ::close(descriptor);
    return nullptr;
  }
  const Json holder{ { "host", GetHost() }, { "machine", GetMachine() }, { "pid", ::getpid() }, { "about", about } };
  const std::string text = holder.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (::write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
  {
    const std::error_code error(errno, std::generic_category());
    ::unlink(files.back().c_str());
    ::close(descriptor);
    throw Refusal(Diagnostic::Of(std::system_error(error)).OfFile(files.back()));
  }
  return std::unique_ptr<BatchLock>(new BatchLock(std::move(files), descriptor));
}

std::vector<Json>
BatchLock::FindHolders(const std::string & folder)
{
  std::vector<Json> holders;
  std::error_code   error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
  {
    const std::string file = entry->path().string();
    if (IsLock(entry->path()) && FoundLock(file, folder).IsAlive())
    {
      holders.push_back(ReadHolder(file));
    }
  }
  return holders;
}

void
BatchLock::RemoveDead(const std::string & folder)
{
  std::set<std::string> names;
  std::error_code       error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
  {
    if (IsLock(entry->path()))
    {
      names.insert(entry->path().stem().stem().string());
    }
  }
  for (const std::string & name : names)
  {
    Take(folder, name, nullptr);
  }
}

BatchLock::BatchLock(std::vector<std::string> files, int descriptor)
  : m_Files(std::move(files))
  , m_Descriptor(descriptor)
{
  try
  {
    m_Heart = std::thread([this] { Beat(); });
  }
  catch (const std::system_error &)
  {} // no thread is left: other machines take the lock for dead, and may do the work once more
}

void
BatchLock::Beat()
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  while (!m_Ended.wait_for(lock, HeartBeat, [this] { return m_HasEnded; }))
  {
    ::futimens(m_Descriptor, nullptr);
  }
}

BatchLock::~BatchLock()
{
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_HasEnded = true;
  }
  m_Ended.notify_all();
  if (m_Heart.joinable())
  {
    m_Heart.join();
  }
  // The own one goes last: a process that finds the first number free has this one's work before it, and nobody
  // else's.
  for (const std::string & file : m_Files)
  {
    ::unlink(file.c_str());
  }
  ::close(m_Descriptor);
}

} // namespace gigapixel::application

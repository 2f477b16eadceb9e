/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelAtomicFile.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFileRefusal.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gigapixel
{
namespace fs = std::filesystem;

namespace
{
/** The name in its folder; the file system alone knows where "link/.." is. A link of this name is the target itself. */
fs::path
ResolveTarget(const std::string & target)
{
  const fs::path  path = fs::absolute(target);
  std::error_code error;
  const fs::path  folder = fs::canonical(path.parent_path(), error);
  return error ? path : folder / path.filename();
}

const std::string TemporaryEnding = ".part";

/** Of a name as long as file systems allow, there is no room for what makes another one of it. */
std::string
GetTemporaryStart(const fs::path & target)
{
  constexpr std::size_t longest = 200;
  std::string           name = target.filename().string();
  if (name.size() > longest)
  {
    const std::size_t hash = std::hash<std::string>()(name);
    name = name.substr(0, longest - 1) + "~" + std::to_string(hash);
  }
  return "." + name + ".";
}

/** Whether killed writers of the target had left files when this process wrote into the folder for the first time: a
 * batch would list it for each of its files. */
bool
HadUnfinished(const fs::path & target)
{
  static std::mutex                                mutex;
  static std::map<fs::path, std::set<std::string>> startsInFolders;
  const std::lock_guard                            lock(mutex);
  const auto [found, isNew] = startsInFolders.try_emplace(target.parent_path());
  std::error_code error;
  for (fs::directory_iterator entry(target.parent_path(), error), end; isNew && !error && entry != end;
       entry.increment(error))
  {
    if (const std::string name = entry->path().filename().string(); entry->path().extension() == TemporaryEnding)
    {
      const auto last = name.find_last_not_of("0123456789-", name.size() - TemporaryEnding.size() - 1);
      found->second.insert(name.substr(0, last + 1));
    }
  }
  return found->second.count(GetTemporaryStart(target)) > 0;
}

/** So that a name outlives a failure of power. File systems that cannot do it are not asked again: the file is complete
 * and has its name. */
void
SynchroniseFolder(const fs::path & folder)
{
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0)
  {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}
} // namespace

void
AtomicFile::RequireWritable(const std::string & target)
{
  const auto refuse = [&target](const std::string & reason, const std::string & remedy) {
    throw Refusal(Diagnostic("E-OUTPUT-WRITE", "cannot write " + target + ": " + reason, remedy).OfFile(target));
  };
  const fs::path  path = ResolveTarget(target);
  const fs::path  folder = path.parent_path();
  std::error_code error;
  const auto      status = fs::status(folder, error);
  if (status.type() == fs::file_type::none)
  {
    refuse("the folder " + folder.string() + " cannot be entered: " + error.message(), GetFileRemedy(error));
  }
  if (!fs::is_directory(status))
  {
    refuse("there is no folder " + folder.string(), "make it or write elsewhere");
  }
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
  {
    refuse("there is something of this name that is no file", "choose another name");
  }
  if (::access(folder.c_str(), W_OK) != 0)
  {
    const std::error_code denied(errno, std::generic_category());
    refuse("the folder " + folder.string() + " cannot be written into: " + denied.message(), GetFileRemedy(denied));
  }
}

void
AtomicFile::RemoveUnfinished(const std::string & target)
{
  const fs::path    path = ResolveTarget(target);
  const std::string start = GetTemporaryStart(path);
  std::error_code   error;
  for (fs::directory_iterator entry(path.parent_path(), error), end; !error && entry != end; entry.increment(error))
  {
    const std::string name = entry->path().filename().string();
    if (name.rfind(start, 0) != 0 || name.size() <= start.size() + TemporaryEnding.size() ||
        name.compare(name.size() - TemporaryEnding.size(), TemporaryEnding.size(), TemporaryEnding) != 0 ||
        name.find_first_not_of("0123456789-", start.size()) != name.size() - TemporaryEnding.size())
    {
      continue;
    }
    const int descriptor = ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor >= 0)
    {
      if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      {
        ::unlink(entry->path().c_str());
      }
      ::close(descriptor);
    }
  }
}

int
AtomicFile::CreateTemporary(const std::filesystem::path & target)
{
  static std::atomic<unsigned> counter{ 0 };
  while (true)
  {
    const std::string unique = std::to_string(::getpid()) + "-" + std::to_string(counter++);
    m_Temporary = (target.parent_path() / (GetTemporaryStart(target) + unique + TemporaryEnding)).string();
    const int descriptor = ::open(m_Temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST) // another machine writes the same target
    {
      continue;
    }
    struct stat status = {};
    // The lock goes when the process goes, however it does. A sweeper may have come in between.
    if (descriptor < 0 || (::flock(descriptor, LOCK_EX), ::fstat(descriptor, &status)) != 0 || status.st_nlink > 0)
    {
      return descriptor;
    }
    ::close(descriptor);
  }
}

AtomicFile::AtomicFile(const std::string & target, bool mayReplace)
  : m_Target(target)
{
  RequireWritable(target);
  const fs::path  path = ResolveTarget(target);
  std::error_code error;
  m_Replaces = mayReplace && fs::exists(fs::symlink_status(path, error));
  if (HadUnfinished(path))
  {
    RemoveUnfinished(target);
  }
  const int descriptor = CreateTemporary(path);
  if (descriptor < 0)
  {
    Fail("cannot be created");
  }
  m_File = ::fdopen(descriptor, "w+b");
  if (!m_File)
  {
    ::close(descriptor);
    ::unlink(m_Temporary.c_str());
    Fail("cannot be created");
  }
  std::setvbuf(m_File, m_Buffer.data(), _IOFBF, m_Buffer.size());
}

AtomicFile::~AtomicFile()
{
  if (m_File)
  {
    std::fclose(m_File);
    ::unlink(m_Temporary.c_str());
  }
}

void
AtomicFile::Fail(const char * what) const
{
  const std::error_code error(errno, std::generic_category());
  const char * const    code = error == std::errc::file_exists ? "E-OUTPUT-EXISTS" : GetWritingCode(error);
  throw Refusal(
    Diagnostic(code, m_Target + " " + what + ": " + error.message(), GetFileRemedy(error)).OfFile(m_Target));
}

std::uint64_t
AtomicFile::Append(const void * bytes, std::size_t count)
{
  if (std::fwrite(bytes, 1, count, m_File) != count)
  {
    Fail("could not be written to the end; nothing was left behind");
  }
  const std::uint64_t offset = m_Size;
  m_Size += count;
  return offset;
}

std::uint64_t
AtomicFile::Align()
{
  const char zeros[8] = {};
  Append(zeros, (8 - m_Size % 8) % 8);
  return m_Size;
}

void
AtomicFile::Overwrite(std::uint64_t offset, const void * bytes, std::size_t count)
{
  if (::fseeko(m_File, static_cast<off_t>(offset), SEEK_SET) != 0 || std::fwrite(bytes, 1, count, m_File) != count ||
      ::fseeko(m_File, 0, SEEK_END) != 0)
  {
    Fail("could not be written to the end; nothing was left behind");
  }
}

/** \return false, with errno: it did not get the name */
bool
AtomicFile::TakeName(const fs::path & target) const
{
  if (m_Replaces)
  {
    return std::rename(m_Temporary.c_str(), target.c_str()) == 0;
  }
  if (::renameat2(AT_FDCWD, m_Temporary.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0)
  {
    return true;
  }
  if (errno != EINVAL && errno != ENOSYS)
  {
    return false;
  }
  // File systems of networks know no such renaming, but may know links, and FAT knows neither.
  if (::link(m_Temporary.c_str(), target.c_str()) == 0)
  {
    ::unlink(m_Temporary.c_str());
    return true;
  }
  struct stat status = {};
  if (errno == EEXIST || ::lstat(target.c_str(), &status) == 0)
  {
    errno = EEXIST;
    return false;
  }
  return std::rename(m_Temporary.c_str(), target.c_str()) == 0;
}

void
AtomicFile::Commit()
{
  constexpr const char * failure = "could not be completed; nothing was left behind";
  // A full disk may show itself only now; and a name must not reach the disk before its bytes, should power fail.
  if (std::fflush(m_File) != 0 || ::fsync(::fileno(m_File)) != 0)
  {
    Fail(failure);
  }
  const fs::path target = ResolveTarget(m_Target);
  // The lock is the open file's, and stays until it has its name: else it would be swept as a dead process's.
  const int  lock = ::fcntl(::fileno(m_File), F_DUPFD_CLOEXEC, 0);
  const bool isNamed = std::fclose(std::exchange(m_File, nullptr)) == 0 && this->TakeName(target);
  const int  error = errno;
  if (lock >= 0)
  {
    ::close(lock);
  }
  if (!isNamed)
  {
    ::unlink(m_Temporary.c_str());
    errno = error;
    Fail(error == EEXIST ? "was written by another process meanwhile, and was not replaced" : failure);
  }
  SynchroniseFolder(target.parent_path());
}

} // namespace gigapixel

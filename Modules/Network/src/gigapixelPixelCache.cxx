/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPixelCache.h"
#include "gigapixelPixelFile.h"
#include "schedule/gigapixelTileGrid.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <iomanip>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace gigapixel
{
namespace
{

namespace fs = std::filesystem;

constexpr std::size_t      NameDigits = 32;
constexpr std::string_view Extension = ".pixels";

class KeptPixels : public PixelSource
{
public:
  KeptPixels(std::shared_ptr<PixelSource> image,
             const std::string &          path,
             const std::string &          identity,
             std::function<bool()>        isDamaged,
             PixelCache::Warning          warning)
    : m_Image(std::move(image))
    , m_File(path, identity, m_Image->GetSize(), m_Image->GetNumberOfChannels())
    , m_Path(path)
    , m_IsDamaged(std::move(isDamaged))
    , m_Warning(std::move(warning))
    , m_Ready(m_File.GetNumberOfBlocks())
  {}

  Size
  GetSize() const override
  {
    return m_Image->GetSize();
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Image->GetNumberOfChannels();
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const std::int64_t side = PixelFile::BlockSide;
    const std::int64_t channels = GetNumberOfChannels();
    const std::int64_t columns = (GetSize().width + side - 1) / side;
    const std::int64_t pitch = region.width * channels;
    for (std::int64_t row = region.y / side; row * side < region.y + region.height; ++row)
    {
      for (std::int64_t column = region.x / side; column * side < region.x + region.width; ++column)
      {
        const std::int64_t block = row * columns + column;
        const Region       part = Intersect(region, m_File.GetRegion(block));
        std::uint8_t *     target = samples + (part.y - region.y) * pitch + (part.x - region.x) * channels;
        if (!Prepare(block) || !m_File.Read(block, part, target, pitch))
        {
          ReadImage(part, target, pitch);
        }
      }
    }
  }

private:
  /** \return false when the block cannot be kept */
  bool
  Prepare(std::int64_t block)
  {
    if (m_Ready[block])
    {
      return true;
    }
    // Two threads whose tiles share the block: one decodes it, the other one waits.
    const std::lock_guard<std::mutex> lock(m_Mutexes[block % m_Mutexes.size()]);
    m_Ready[block] = m_Ready[block] || m_File.Check(block) || Fill(block);
    return m_Ready[block];
  }

  bool
  Fill(std::int64_t block)
  {
    if (m_Ended)
    {
      return false;
    }
    const Region              region = m_File.GetRegion(block);
    std::vector<std::uint8_t> samples(region.width * region.height * GetNumberOfChannels());
    m_Image->Read(region, samples.data());
    if (m_IsDamaged && m_IsDamaged())
    {
      End(m_Path + " does not keep all of its slide, which has damaged tiles");
      return false;
    }
    try
    {
      m_File.Write(block, samples.data());
      return true;
    }
    catch (const std::system_error & error)
    {
      End(m_Path + " cannot be written (" + error.code().message() + ')');
      return false;
    }
  }

  void
  End(const std::string & reason)
  {
    if (!m_Ended.exchange(true))
    {
      m_Warning(reason + ": what it lacks is decoded each time");
    }
  }

  void
  ReadImage(const Region & part, std::uint8_t * target, std::int64_t pitch)
  {
    const std::int64_t        row = part.width * GetNumberOfChannels();
    std::vector<std::uint8_t> samples(row * part.height);
    m_Image->Read(part, samples.data());
    for (std::int64_t y = 0; y < part.height; ++y)
    {
      std::copy_n(samples.data() + y * row, row, target + y * pitch);
    }
  }

  const std::shared_ptr<PixelSource> m_Image;
  const PixelFile                    m_File;
  const std::string                  m_Path;
  const std::function<bool()>        m_IsDamaged;
  const PixelCache::Warning          m_Warning;
  std::vector<std::atomic<bool>>     m_Ready; ///< blocks that this process has checked or written
  std::array<std::mutex, 64>         m_Mutexes;
  std::atomic<bool>                  m_Ended{ false }; ///< nothing more is kept
};

/** Keeps other processes from making or removing files of the cache. The lock is on a file that nothing else uses: what
 * others do with the folder, as a training that runs in it, is not waited for. */
class FolderLock
{
public:
  explicit FolderLock(const std::string & folder)
    : m_File(open((fs::path(folder) / "pixels.lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600))
  {
    flock(m_File, LOCK_EX);
  }

  ~FolderLock() { close(m_File); }

  FolderLock(const FolderLock &) = delete;
  FolderLock & operator=(const FolderLock &) = delete;

private:
  const int m_File;
};

struct KeptFile
{
  std::string  path;
  std::int64_t bytes; ///< when it is complete
  std::int64_t bytesOnDisk;
  timespec     used;
};

/** As MakeName() makes it. */
bool
IsName(const std::string & name)
{
  return name.size() == NameDigits + Extension.size() && name.find_first_not_of("0123456789abcdef") == NameDigits &&
         name.compare(NameDigits, Extension.size(), Extension) == 0;
}

/** The cache's own, for they may be removed: users keep other files in the folder. */
std::vector<KeptFile>
ListFiles(const std::string & folder)
{
  std::vector<KeptFile> files;
  for (const fs::directory_entry & entry : fs::directory_iterator(folder))
  {
    struct stat status
    {
    };
    if (IsName(entry.path().filename().string()) && PixelFile::IsAt(entry.path().string()) &&
        stat(entry.path().c_str(), &status) == 0)
    {
      files.push_back(
        { entry.path().string(), status.st_size, 512 * std::int64_t{ status.st_blocks }, status.st_mtim });
    }
  }
  std::sort(files.begin(), files.end(), [](const KeptFile & a, const KeptFile & b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
  });
  return files;
}

/** Unless a process uses it. */
bool
Remove(const std::string & path)
{
  const int  file = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  const bool removed = file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && unlink(path.c_str()) == 0;
  close(file);
  return removed;
}

/** Half of what the disk could give. */
std::int64_t
GetDefaultLimit(const std::string & folder, const std::vector<KeptFile> & files)
{
  struct statvfs disk
  {
  };
  statvfs(folder.c_str(), &disk);
  std::int64_t bytes = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  for (const KeptFile & file : files)
  {
    bytes += file.bytesOnDisk;
  }
  return bytes / 2;
}

/** 128 bits of the text (FNV-1a with two primes): the file's name. */
std::string
MakeName(const std::string & identity)
{
  std::uint64_t first = 0xcbf29ce484222325ull, second = 0x9ae16a3b2f90404full;
  for (const char c : identity)
  {
    first = (first ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    second = (second ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15ull;
  }
  std::ostringstream name;
  name << std::hex << std::setfill('0') << std::setw(16) << first << std::setw(16) << second << Extension;
  return name.str();
}

} // namespace

PixelCache::PixelCache(const std::string & folder, std::int64_t limit, Warning warning)
  : m_Folder(folder)
  , m_Limit(limit)
  , m_Warning(std::move(warning))
{
  std::error_code error;
  if (fs::create_directories(folder, error))
  {
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  if (!fs::is_directory(folder, error) || access(folder.c_str(), R_OK | W_OK | X_OK) != 0)
  {
    throw std::runtime_error("the cache folder " + folder + " cannot be made or written: name another one");
  }
}

std::shared_ptr<PixelSource>
PixelCache::Keep(std::shared_ptr<PixelSource>  image,
                 const std::string &           identity,
                 const std::function<bool()> & isDamaged)
{
  const std::string            path = (fs::path(m_Folder) / MakeName(identity)).string();
  std::weak_ptr<PixelSource> & kept = m_Kept[path];
  if (auto there = kept.lock())
  {
    return there;
  }
  try
  {
    const FolderLock lock(m_Folder);
    if (MakeRoom(path, PixelFile::GetBytes(image->GetSize(), image->GetNumberOfChannels())))
    {
      const auto pixels = std::make_shared<KeptPixels>(image, path, identity, isDamaged, m_Warning);
      kept = pixels;
      return pixels;
    }
  }
  catch (const std::runtime_error & error)
  {
    m_Warning(std::string(error.what()) + ": a slide is decoded each time");
  }
  return image;
}

bool
PixelCache::MakeRoom(const std::string & path, std::int64_t bytes) const
{
  const std::vector<KeptFile> files = ListFiles(m_Folder);
  const std::int64_t          limit = m_Limit > 0 ? m_Limit : GetDefaultLimit(m_Folder, files);
  std::int64_t                all = bytes;
  for (const KeptFile & file : files)
  {
    all += file.path == path ? 0 : file.bytes;
  }
  for (const KeptFile & file : files)
  {
    if (all > limit && bytes <= limit && file.path != path && Remove(file.path))
    {
      all -= file.bytes;
    }
  }
  if (all <= limit)
  {
    return true;
  }
  constexpr double   GB = 1e9;
  std::ostringstream text;
  text.precision(3);
  text << "the cache " << m_Folder << " has no room for " << bytes / GB << " GB more (" << (all - bytes) / GB
       << " GB in use, limit " << limit / GB << " GB): a slide is decoded each time";
  m_Warning(text.str());
  return false;
}

} // namespace gigapixel

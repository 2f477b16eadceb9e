/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPixelFile.h"
#include "schedule/gigapixelTileGrid.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gigapixel
{
namespace
{

constexpr std::int64_t BlockSide = PixelFile::BlockSide;
constexpr std::int64_t StripColumns = 128;
constexpr std::int64_t Page = 4096;
constexpr char         Magic[] = "ITKGigapixel pixels ";

// An entry of the table. 0: the block is not there.
constexpr std::uint64_t KindMask = 3;
constexpr std::uint64_t Stored = 1;  ///< the other bits are the checksum of the block's samples
constexpr std::uint64_t Uniform = 2; ///< the high half is the color, the rest of the low half its checksum

/** Four chains of multiplications side by side, as fast as memory. \param bytes a multiple of 32 */
std::uint64_t
Hash(const std::uint8_t * samples, std::int64_t bytes, std::uint64_t seed)
{
  constexpr std::uint64_t Prime = 0x9e3779b97f4a7c15ull; // 2^64 / golden ratio
  std::uint64_t           chains[4] = { seed, ~seed, seed * Prime, seed + Prime };
  for (std::int64_t i = 0; i < bytes; i += 32)
  {
    std::uint64_t words[4];
    std::memcpy(words, samples + i, 32);
    for (int c = 0; c < 4; ++c)
    {
      chains[c] = (chains[c] ^ words[c]) * Prime;
      chains[c] ^= chains[c] >> 29;
    }
  }
  std::uint64_t hash = static_cast<std::uint64_t>(bytes);
  for (const std::uint64_t chain : chains)
  {
    hash = (hash ^ chain) * Prime;
    hash ^= hash >> 32;
  }
  return hash;
}

std::uint64_t
MakeUniformEntry(std::uint32_t color, std::int64_t block)
{
  std::uint8_t bytes[32] = {};
  std::memcpy(bytes, &color, sizeof(color));
  const std::uint64_t check = Hash(bytes, sizeof(bytes), static_cast<std::uint64_t>(block)) & 0xffffffffu;
  return (std::uint64_t{ color } << 32) | (check & ~KindMask) | Uniform;
}

bool
IsUniform(std::uint64_t entry, std::int64_t block)
{
  return entry == MakeUniformEntry(static_cast<std::uint32_t>(entry >> 32), block);
}

/** Memory of the calling thread for a block. */
std::vector<std::uint8_t> &
GetBuffer()
{
  thread_local std::vector<std::uint8_t> buffer;
  return buffer;
}

bool
ReadFully(int file, void * bytes, std::int64_t count, std::int64_t offset)
{
  for (auto * at = static_cast<std::uint8_t *>(bytes); count > 0;)
  {
    const ssize_t got = pread(file, at, static_cast<std::size_t>(count), offset);
    if (got <= 0 && !(got < 0 && errno == EINTR))
    {
      return false;
    }
    at += std::max<ssize_t>(got, 0);
    offset += std::max<ssize_t>(got, 0);
    count -= std::max<ssize_t>(got, 0);
  }
  return true;
}

void
WriteFully(int file, const void * bytes, std::int64_t count, std::int64_t offset)
{
  for (auto * at = static_cast<const std::uint8_t *>(bytes); count > 0;)
  {
    const ssize_t put = pwrite(file, at, static_cast<std::size_t>(count), offset);
    if (put <= 0 && !(put < 0 && errno == EINTR))
    {
      throw std::system_error(put < 0 ? errno : ENOSPC, std::generic_category());
    }
    at += std::max<ssize_t>(put, 0);
    offset += std::max<ssize_t>(put, 0);
    count -= std::max<ssize_t>(put, 0);
  }
}

bool
HoldsPixels(int file)
{
  char found[sizeof(Magic) - 1];
  return ReadFully(file, found, sizeof(found), 0) && std::memcmp(found, Magic, sizeof(found)) == 0;
}

std::int64_t
CountBlocks(std::int64_t side)
{
  return (side + BlockSide - 1) / BlockSide;
}

/** Of the first block. */
std::int64_t
GetFirstOffset(std::int64_t blocks)
{
  return Page + RoundUp(8 * blocks, Page);
}

} // namespace

PixelFile::PixelFile(const std::string & path, const std::string & identity, Size image, unsigned channels)
  : m_Image(image)
  , m_Channels(channels)
  , m_Columns(CountBlocks(image.width))
  , m_Rows(CountBlocks(image.height))
{
  std::string head = std::string(Magic) + "2\n" + std::to_string(image.width) + " x " + std::to_string(image.height) +
                     " x " + std::to_string(channels) + '\n' + identity + '\n';
  head.resize(Page);
  std::string found(Page, '\0');
  // Neither a link nor a pipe of that name is followed or waited for.
  m_File = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  const auto require = [](bool done) {
    if (!done)
    {
      throw std::system_error(errno, std::generic_category());
    }
  };
  try
  {
    struct stat status
    {
    };
    require(m_File >= 0 && fstat(m_File, &status) == 0);
    if (!S_ISREG(status.st_mode) || (status.st_size > 0 && !HoldsPixels(m_File)))
    {
      throw std::runtime_error("it is not of the cache");
    }
    require(flock(m_File, LOCK_SH | LOCK_NB) == 0);
    ReadFully(m_File, found.data(), Page, 0);
    if (found != head)
    {
      // New, or of another image or version: its table is empty. The head is on the disk before the file grows, so that
      // it is known again after a crash.
      require(ftruncate(m_File, 0) == 0);
      WriteFully(m_File, head.data(), Page, 0);
      fsync(m_File);
    }
    require(ftruncate(m_File, GetBytes(image, channels)) == 0);
    futimens(m_File, nullptr); // used just now
  }
  catch (const std::runtime_error & error)
  {
    close(m_File);
    throw std::runtime_error(path + " cannot be used (" + error.what() + ')');
  }
}

PixelFile::~PixelFile()
{
  close(m_File);
}

bool
PixelFile::IsAt(const std::string & path)
{
  const int   file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat status
  {
  };
  const bool is = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && HoldsPixels(file);
  close(file);
  return is;
}

std::int64_t
PixelFile::GetBytes(Size image, unsigned channels)
{
  const std::int64_t blocks = CountBlocks(image.width) * CountBlocks(image.height);
  return GetFirstOffset(blocks) + blocks * BlockSide * BlockSide * channels;
}

Region
PixelFile::GetRegion(std::int64_t block) const
{
  return Intersect({ block % m_Columns * BlockSide, block / m_Columns * BlockSide, BlockSide, BlockSide },
                   { 0, 0, m_Image.width, m_Image.height });
}

std::int64_t
PixelFile::GetOffset(std::int64_t block) const
{
  return GetFirstOffset(GetNumberOfBlocks()) + block * BlockSide * BlockSide * m_Channels;
}

std::uint64_t
PixelFile::ReadEntry(std::int64_t block) const
{
  std::uint64_t entry = 0;
  return ReadFully(m_File, &entry, sizeof(entry), Page + 8 * block) ? entry : 0;
}

bool
PixelFile::Check(std::int64_t block) const
{
  const std::uint64_t entry = ReadEntry(block);
  if (IsUniform(entry, block))
  {
    return true;
  }
  if ((entry & KindMask) != Stored)
  {
    return false;
  }
  const std::int64_t          bytes = BlockSide * BlockSide * m_Channels;
  std::vector<std::uint8_t> & buffer = GetBuffer();
  buffer.resize(bytes);
  return ReadFully(m_File, buffer.data(), bytes, GetOffset(block)) &&
         entry == ((Hash(buffer.data(), bytes, static_cast<std::uint64_t>(block)) & ~KindMask) | Stored);
}

void
PixelFile::Write(std::int64_t block, const std::uint8_t * samples) const
{
  const Region       region = GetRegion(block);
  const std::int64_t count = region.width * region.height * m_Channels;
  std::uint64_t      entry = 0;
  // One color: every sample is that of the pixel before.
  if (m_Channels <= 4 && std::memcmp(samples, samples + m_Channels, count - m_Channels) == 0)
  {
    std::uint32_t color = 0;
    std::memcpy(&color, samples, m_Channels);
    entry = MakeUniformEntry(color, block);
  }
  else
  {
    const std::int64_t          bytes = BlockSide * BlockSide * m_Channels;
    const std::int64_t          stripRow = StripColumns * m_Channels;
    std::vector<std::uint8_t> & buffer = GetBuffer();
    buffer.assign(bytes, 0);
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      for (std::int64_t x = 0; x < region.width; x += StripColumns)
      {
        std::copy_n(samples + (y * region.width + x) * m_Channels,
                    std::min(StripColumns, region.width - x) * m_Channels,
                    buffer.data() + x * BlockSide * m_Channels + y * stripRow);
      }
    }
    WriteFully(m_File, buffer.data(), bytes, GetOffset(block));
    entry = (Hash(buffer.data(), bytes, static_cast<std::uint64_t>(block)) & ~KindMask) | Stored;
  }
  WriteFully(m_File, &entry, sizeof(entry), Page + 8 * block);
}

bool
PixelFile::Read(std::int64_t block, const Region & part, std::uint8_t * samples, std::int64_t pitch) const
{
  const Region        region = GetRegion(block);
  const std::uint64_t entry = ReadEntry(block);
  if (IsUniform(entry, block))
  {
    const auto color = static_cast<std::uint32_t>(entry >> 32);
    for (std::int64_t y = 0; y < part.height; ++y)
    {
      for (std::int64_t x = 0; x < part.width; ++x)
      {
        std::memcpy(samples + y * pitch + x * m_Channels, &color, m_Channels);
      }
    }
    return true;
  }
  if ((entry & KindMask) != Stored)
  {
    return false;
  }
  std::vector<std::uint8_t> & buffer = GetBuffer();
  const std::int64_t          stripRow = StripColumns * m_Channels;
  const std::int64_t          end = part.x + part.width;
  buffer.resize(std::max<std::size_t>(buffer.size(), part.height * stripRow));
  for (std::int64_t x = part.x; x < end;)
  {
    const std::int64_t strip = (x - region.x) / StripColumns;
    const std::int64_t within = (x - region.x) % StripColumns;
    const std::int64_t columns = std::min(StripColumns - within, end - x);
    const std::int64_t offset = GetOffset(block) + (strip * BlockSide + part.y - region.y) * stripRow;
    if (!ReadFully(m_File, buffer.data(), part.height * stripRow, offset))
    {
      return false;
    }
    for (std::int64_t y = 0; y < part.height; ++y)
    {
      std::copy_n(buffer.data() + y * stripRow + within * m_Channels,
                  columns * m_Channels,
                  samples + y * pitch + (x - part.x) * m_Channels);
    }
    x += columns;
  }
  // Another program may have emptied the file meanwhile, and what was read is zeros then.
  return ReadEntry(block) == entry;
}

} // namespace gigapixel

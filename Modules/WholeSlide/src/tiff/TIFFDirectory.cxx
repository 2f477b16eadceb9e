/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TIFFDirectory.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <tuple>
#include <mutex>
#include <map>
#include <iterator>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gigapixel
{
namespace
{

/** Bytes per value of TIFF's types 1 to 18; 0 for types that do not exist. */
unsigned
GetTypeSize(unsigned type)
{
  constexpr unsigned sizes[19] = { 0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8 };
  return type < 19 ? sizes[type] : 0;
}

constexpr std::uint64_t textLimit = std::uint64_t{ 64 } << 20;
constexpr std::uint64_t shortTextLimit = 4097; // with a zero at the end, or what tells that there is more
constexpr std::uint64_t pieceLimit = std::uint64_t{ 1 } << 28;

} // namespace

RandomAccessFile::RandomAccessFile(const std::string & path)
  : m_Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC))
  , m_Size(0)
{
  if (m_Descriptor < 0)
  {
    throw std::system_error(errno, std::generic_category());
  }
  struct stat status = {};
  if (::fstat(m_Descriptor, &status) != 0 || !S_ISREG(status.st_mode))
  {
    ::close(m_Descriptor);
    throw Refusal(Diagnostic("E-FILE-KIND", "it is not a regular file"));
  }
  m_Size = static_cast<std::uint64_t>(status.st_size);
}

RandomAccessFile::~RandomAccessFile()
{
  ::close(m_Descriptor);
}

std::shared_ptr<const RandomAccessFile>
RandomAccessFile::Share(const std::string & path)
{
  using Key = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;
  // Never destroyed: readers in static objects may outlive any order of destruction.
  static std::mutex &                                           mutex = *new std::mutex;
  static std::map<Key, std::weak_ptr<const RandomAccessFile>> & files =
    *new std::map<Key, std::weak_ptr<const RandomAccessFile>>;

  auto        opened = std::make_shared<const RandomAccessFile>(path);
  struct stat status = {};
  if (::fstat(opened->m_Descriptor, &status) != 0)
  {
    return opened;
  }
  const Key key(status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto found = files.find(key); found != files.end())
  {
    if (auto other = found->second.lock())
    {
      return other;
    }
  }
  for (auto file = files.begin(); file != files.end();)
  {
    file = file->second.expired() ? files.erase(file) : std::next(file);
  }
  files[key] = opened;
  return opened;
}

void
RandomAccessFile::Read(std::uint64_t offset, void * buffer, std::size_t size) const
{
  if (offset > m_Size || size > m_Size - offset)
  {
    throw Refusal(Diagnostic("E-FILE-DAMAGED", "the file ends early"));
  }
  auto * to = static_cast<char *>(buffer);
  while (size > 0)
  {
    const ssize_t count = ::pread(m_Descriptor, to, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
    {
      continue;
    }
    if (count < 0)
    {
      throw std::system_error(errno, std::generic_category());
    }
    if (count == 0)
    {
      throw Refusal(Diagnostic("E-FILE-DAMAGED", "the file ends early"));
    }
    to += count;
    offset += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
}

void
RandomAccessFile::Prefetch(std::uint64_t offset, std::uint64_t size) const
{
#ifdef POSIX_FADV_WILLNEED
  if (offset < m_Size && size > 0)
  {
    ::posix_fadvise(m_Descriptor, static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_WILLNEED);
  }
#endif
}

TIFFFile::TIFFFile(const std::string & path)
  : m_File(RandomAccessFile::Share(path))
{
  unsigned char header[16] = {};
  m_File->Read(0, header, std::min<std::uint64_t>(sizeof(header), m_File->GetSize()));
  m_BigEndian = header[0] == 'M';
  const std::uint64_t version = GetInteger(header + 2, 2);
  m_Big = version == 43;
  const bool marked = header[0] == header[1] && (header[0] == 'I' || header[0] == 'M');
  if (!marked || (version != 42 && version != 43) || (m_Big && GetInteger(header + 4, 2) != 8))
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "it is not a TIFF"));
  }
  m_FirstPage = m_Big ? GetInteger(header + 8, 8) : GetInteger(header + 4, 4);
  if (!m_Big && !m_BigEndian)
  {
    m_FirstPage = GetInteger(header + 4, 8);
    DetectWideDialect();
    m_FirstPage = m_Wide ? m_FirstPage : GetInteger(header + 4, 4);
  }
}

void
TIFFFile::DetectWideDialect()
{
  try
  {
    std::uint64_t next = 0;
    for (const TIFFEntry & entry : ReadEntries(m_FirstPage, next))
    {
      m_Wide = m_Wide || entry.tag == static_cast<std::uint16_t>(TIFFTag::HamamatsuFormat);
    }
  }
  catch (const std::runtime_error &)
  {} // then it is not of this dialect
}

bool
TIFFFile::IsTIFF(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  char          header[4] = {};
  if (!file.read(header, sizeof(header)))
  {
    return false;
  }
  const bool little = std::memcmp(header, "II\x2a\0", 4) == 0 || std::memcmp(header, "II\x2b\0", 4) == 0;
  const bool big = std::memcmp(header, "MM\0\x2a", 4) == 0 || std::memcmp(header, "MM\0\x2b", 4) == 0;
  return little || big;
}

std::uint64_t
TIFFFile::GetInteger(const unsigned char * bytes, unsigned size) const
{
  std::uint64_t value = 0;
  for (unsigned i = 0; i < size; ++i)
  {
    value = (value << 8) | bytes[m_BigEndian ? i : size - 1 - i];
  }
  return value;
}

std::vector<TIFFEntry>
TIFFFile::ReadEntries(std::uint64_t offset, std::uint64_t & next) const
{
  const unsigned countSize = m_Big ? 8 : 2;
  const unsigned entrySize = m_Big ? 20 : 12;
  const unsigned wordSize = m_Big ? 8 : 4;
  const unsigned nextSize = m_Big || m_Wide ? 8 : 4;
  unsigned char  word[8] = {};
  m_File->Read(offset, word, countSize);
  const std::uint64_t count = GetInteger(word, countSize);
  if (count == 0 || count > 4096)
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "a page table is damaged"));
  }
  std::vector<unsigned char> bytes(count * entrySize);
  m_File->Read(offset + countSize, bytes.data(), bytes.size());
  const std::uint64_t        behind = offset + countSize + bytes.size();
  std::vector<unsigned char> highHalves(m_Wide ? count * 4 : 0);
  if (behind + nextSize + highHalves.size() <= m_File->GetSize())
  {
    m_File->Read(behind + nextSize, highHalves.data(), highHalves.size());
  }
  std::vector<TIFFEntry> entries;
  for (std::uint64_t i = 0; i < count; ++i)
  {
    const unsigned char * const at = bytes.data() + i * entrySize;
    TIFFEntry                   entry = {};
    entry.tag = static_cast<std::uint16_t>(GetInteger(at, 2));
    entry.type = static_cast<std::uint16_t>(GetInteger(at + 2, 2));
    entry.count = GetInteger(at + 4, wordSize);
    const unsigned typeSize = GetTypeSize(entry.type);
    if (typeSize == 0 || entry.count == 0 || entry.count > m_File->GetSize() / typeSize)
    {
      continue; // of a type that we do not know, or longer than the file
    }
    entry.isInline = entry.count * typeSize <= wordSize;
    std::copy_n(at + 4 + wordSize, wordSize, entry.values.begin());
    entry.offset = GetInteger(at + 4 + wordSize, wordSize);
    const std::uint64_t high = m_Wide ? GetInteger(highHalves.data() + i * 4, 4) : 0;
    entry.offset |= high << 32;
    if (high != 0 && entry.isInline && entry.type == 4 && entry.count == 1)
    {
      entry.type = 16; // one value of 64 bit
      std::copy_n(highHalves.data() + i * 4, 4, entry.values.begin() + 4);
    }
    entries.push_back(entry);
  }
  next = 0;
  if (behind + nextSize <= m_File->GetSize())
  {
    m_File->Read(behind, word, nextSize);
    next = GetInteger(word, nextSize);
  }
  return entries;
}

void
TIFFFile::ReadValues(const TIFFEntry & entry, void * bytes, std::size_t size) const
{
  if (entry.isInline)
  {
    std::memcpy(bytes, entry.values.data(), size);
    return;
  }
  m_File->Read(entry.offset, bytes, size);
}

std::vector<std::uint64_t>
TIFFFile::ReadIntegers(const TIFFEntry & entry, std::uint64_t limit) const
{
  const unsigned size = GetTypeSize(entry.type);
  const bool     isInteger =
    entry.type == 1 || entry.type == 3 || entry.type == 4 || entry.type == 13 || entry.type == 16 || entry.type == 18;
  if (!isInteger || entry.count > limit)
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "a page table is damaged (tag " + std::to_string(entry.tag) + ")"));
  }
  std::vector<unsigned char> bytes(entry.count * size);
  ReadValues(entry, bytes.data(), bytes.size());
  std::vector<std::uint64_t> values(entry.count);
  for (std::size_t i = 0; i < values.size(); ++i)
  {
    values[i] = GetInteger(bytes.data() + i * size, size);
  }
  return values;
}

double
TIFFFile::ReadNumber(const TIFFEntry & entry) const
{
  unsigned char bytes[8] = {};
  ReadValues(entry, bytes, GetTypeSize(entry.type));
  switch (entry.type)
  {
    case 5:
    case 10: {
      const std::uint64_t numerator = GetInteger(bytes, 4);
      const std::uint64_t denominator = GetInteger(bytes + 4, 4);
      return denominator == 0 ? 0.0 : static_cast<double>(numerator) / static_cast<double>(denominator);
    }
    case 11: {
      const auto pattern = static_cast<std::uint32_t>(GetInteger(bytes, 4));
      float      value = 0;
      std::memcpy(&value, &pattern, sizeof(value));
      return value;
    }
    case 12: {
      const std::uint64_t pattern = GetInteger(bytes, 8);
      double              value = 0;
      std::memcpy(&value, &pattern, sizeof(value));
      return value;
    }
    default:
      return static_cast<double>(GetInteger(bytes, GetTypeSize(entry.type)));
  }
}

std::string
TIFFFile::ReadBytes(const TIFFEntry & entry, std::uint64_t limit) const
{
  const std::uint64_t size = entry.count * GetTypeSize(entry.type);
  if (size > limit)
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "a page table is damaged (tag " + std::to_string(entry.tag) + ")"));
  }
  std::string bytes(size, '\0');
  ReadValues(entry, &bytes[0], bytes.size());
  return bytes;
}

TIFFPage::TIFFPage(const TIFFFile & file, std::uint64_t offset, std::uint64_t & next)
  : m_File(file)
  , m_Entries(std::make_shared<const std::vector<TIFFEntry>>(file.ReadEntries(offset, next)))
{
  width = GetInteger(TIFFTag::ImageWidth, 0);
  height = GetInteger(TIFFTag::ImageLength, 0);
  subfileType = GetInteger(TIFFTag::NewSubfileType, 0);
  samples = static_cast<unsigned>(GetInteger(TIFFTag::SamplesPerPixel, 1));
  compression = static_cast<unsigned>(GetInteger(TIFFTag::Compression, 1));
  photometric = static_cast<unsigned>(GetInteger(TIFFTag::Photometric, 1));
  orientation = static_cast<unsigned>(GetInteger(TIFFTag::Orientation, 1));
  predictor = static_cast<unsigned>(GetInteger(TIFFTag::Predictor, 1));
  sampleFormat = static_cast<unsigned>(GetInteger(TIFFTag::SampleFormat, 1));
  fillOrder = static_cast<unsigned>(GetInteger(TIFFTag::FillOrder, 1));
  separatePlanes = GetInteger(TIFFTag::PlanarConfiguration, 1) == 2 && samples > 1;
  if (const TIFFEntry * const entry = Find(TIFFTag::BitsPerSample))
  {
    const auto all = m_File.ReadIntegers(*entry, 65536);
    bits = static_cast<unsigned>(all.front());
    uniformBits = std::all_of(all.begin(), all.end(), [this](std::uint64_t value) { return value == bits; });
  }
  if (orientation < 1 || orientation > 8)
  {
    orientation = 1;
  }
  tiled = Find(TIFFTag::TileWidth) != nullptr;
  pieceWidth = tiled ? GetInteger(TIFFTag::TileWidth, 0) : width;
  pieceHeight =
    tiled ? GetInteger(TIFFTag::TileLength, 0) : std::min(height, GetInteger(TIFFTag::RowsPerStrip, height));
}

const TIFFEntry *
TIFFPage::Find(TIFFTag tag) const
{
  const auto found = std::find_if(m_Entries->begin(), m_Entries->end(), [tag](const TIFFEntry & entry) {
    return entry.tag == static_cast<std::uint16_t>(tag);
  });
  return found == m_Entries->end() ? nullptr : &*found;
}

std::uint64_t
TIFFPage::GetInteger(TIFFTag tag, std::uint64_t otherwise) const
{
  const TIFFEntry * const entry = Find(tag);
  if (entry == nullptr)
  {
    return otherwise;
  }
  TIFFEntry first = *entry;
  first.count = 1;
  return m_File.ReadIntegers(first, 1).front();
}

double
TIFFPage::GetNumber(TIFFTag tag, double otherwise) const
{
  const TIFFEntry * const entry = Find(tag);
  return entry == nullptr ? otherwise : m_File.ReadNumber(*entry);
}

/** Of its first \a most bytes. */
std::string
TIFFPage::ReadText(TIFFTag tag, std::uint64_t most) const
{
  const TIFFEntry * const entry = Find(tag);
  if (entry == nullptr || (entry->type != 2 && entry->type != 1 && entry->type != 7))
  {
    return {};
  }
  TIFFEntry start = *entry;
  start.count = std::min(start.count, most);
  const std::string bytes = m_File.ReadBytes(start, textLimit);
  return bytes.substr(0, bytes.find('\0'));
}

std::string
TIFFPage::GetText(TIFFTag tag) const
{
  return ReadText(tag, std::numeric_limits<std::uint64_t>::max());
}

std::string
TIFFPage::GetShortText(TIFFTag tag) const
{
  return ReadText(tag, shortTextLimit);
}

std::string
TIFFPage::GetBytes(TIFFTag tag) const
{
  const TIFFEntry * const entry = Find(tag);
  return entry == nullptr ? std::string() : m_File.ReadBytes(*entry, textLimit);
}

TIFFPage::Pieces
TIFFPage::ReadPieces() const
{
  if (width == 0 || height == 0 || pieceWidth == 0 || pieceHeight == 0)
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "a page has no pixels"));
  }
  constexpr std::uint64_t sideLimit = std::uint64_t{ 1 } << 32;
  if (std::max(std::max(width, height), std::max(pieceWidth, pieceHeight)) >= sideLimit)
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "a page's size is not plausible"));
  }
  const std::uint64_t across = (width + pieceWidth - 1) / pieceWidth;
  const std::uint64_t down = (height + pieceHeight - 1) / pieceHeight;
  const std::uint64_t planes = separatePlanes ? samples : 1;
  const TIFFEntry *   offsets = Find(tiled ? TIFFTag::TileOffsets : TIFFTag::StripOffsets);
  const TIFFEntry *   sizes = Find(tiled ? TIFFTag::TileByteCounts : TIFFTag::StripByteCounts);
  // Some old writers put tiles into the tags of strips.
  offsets = offsets == nullptr ? Find(TIFFTag::StripOffsets) : offsets;
  sizes = sizes == nullptr ? Find(TIFFTag::StripByteCounts) : sizes;
  if (offsets == nullptr || sizes == nullptr || across > pieceLimit || down > pieceLimit / across ||
      planes > pieceLimit / (across * down) || offsets->count < across * down * planes ||
      sizes->count < across * down * planes)
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "a page lacks the positions of some of its tiles"));
  }
  // Tables may be longer than the layout needs: what is beyond is not read, or small pages could take much memory.
  TIFFEntry neededOffsets = *offsets;
  TIFFEntry neededSizes = *sizes;
  neededOffsets.count = neededSizes.count = across * down * planes;
  Pieces pieces{ m_File.ReadIntegers(neededOffsets, pieceLimit), m_File.ReadIntegers(neededSizes, pieceLimit) };
  for (std::uint64_t & offset : pieces.offsets)
  {
    offset += m_Shift;
  }
  return pieces;
}

std::uint64_t
TIFFPage::GetBareBytes() const
{
  constexpr unsigned mostSamples = 65535, mostBits = 64;
  if (compression != 1 || tiled || separatePlanes || samples > mostSamples || bits > mostBits || bits % 8 != 0)
  {
    return 0;
  }
  const Pieces        pieces = ReadPieces();
  const std::uint64_t row = width * samples * (bits / 8);
  const std::uint64_t size = m_File.GetFile().GetSize();
  if (row > size / height || pieces.offsets.front() > size - row * height)
  {
    return 0;
  }
  std::uint64_t end = pieces.offsets.front();
  for (std::size_t strip = 0; strip < pieces.offsets.size(); ++strip)
  {
    const std::uint64_t rows = std::min(pieceHeight, height - strip * pieceHeight);
    if (pieces.offsets[strip] != end || pieces.sizes[strip] != row * rows)
    {
      return 0;
    }
    end += row * rows;
  }
  return row * height;
}

TIFFPage
TIFFPage::MakeFollowing(std::uint64_t bytes) const
{
  TIFFPage following(*this);
  following.m_Shift += bytes;
  return following;
}

} // namespace gigapixel

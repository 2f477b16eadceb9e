/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelZipFile.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr std::uint32_t Greatest32 = 0xffffffff; ///< the number stands elsewhere, in 64 bits
constexpr std::size_t   LongestComment = 65535;

[[noreturn]] void
Refuse()
{
  throw InvalidArgument(Diagnostic("E-FILE-DAMAGED", "it is a damaged or truncated archive"));
}

/** A number of the little-endian file. */
std::uint64_t
Read(std::string_view content, std::uint64_t offset, unsigned bytes)
{
  if (offset > content.size() || bytes > content.size() - offset)
  {
    Refuse();
  }
  std::uint64_t value = 0;
  for (unsigned i = bytes; i-- > 0;)
  {
    value = value << 8 | static_cast<unsigned char>(content[offset + i]);
  }
  return value;
}

std::string_view
Cut(std::string_view content, std::uint64_t offset, std::uint64_t count)
{
  if (offset > content.size() || count > content.size() - offset)
  {
    Refuse();
  }
  return content.substr(offset, count);
}

/** The list of all files. */
struct Directory
{
  std::uint64_t offset;
  std::uint64_t size;
};

Directory
FindDirectory(std::string_view content)
{
  constexpr std::size_t length = 22;
  const std::size_t     first = content.size() > LongestComment + length ? content.size() - LongestComment - length : 0;
  const std::size_t     end = content.rfind("PK\5\6");
  if (end == std::string_view::npos || end < first)
  {
    Refuse();
  }
  Directory directory{ Read(content, end + 16, 4), Read(content, end + 12, 4) };
  if (directory.offset == Greatest32 || directory.size == Greatest32)
  {
    if (end < 20 || content.substr(end - 20, 4) != "PK\6\7")
    {
      Refuse();
    }
    const std::uint64_t wide = Read(content, end - 12, 8);
    if (Cut(content, wide, 4) != "PK\6\6")
    {
      Refuse();
    }
    directory = { Read(content, wide + 48, 8), Read(content, wide + 40, 8) };
  }
  return directory;
}

/** Sizes and offset that 32 bits do not hold stand in the entry's extra field 1, in this order, those that are not held
 * alone. */
void
ReadWide(std::string_view extra, std::uint64_t & size, std::uint64_t & compressed, std::uint64_t & offset)
{
  while (extra.size() >= 4)
  {
    const std::uint64_t    tag = Read(extra, 0, 2);
    const std::string_view field = Cut(extra, 4, Read(extra, 2, 2));
    std::uint64_t          next = 0;
    for (std::uint64_t * value : { &size, &compressed, &offset })
    {
      if (tag == 1 && *value == Greatest32)
      {
        *value = Read(field, next, 8);
        next += 8;
      }
    }
    extra.remove_prefix(4 + field.size());
  }
}

} // namespace

std::map<std::string, std::string_view>
ReadZip(std::string_view content)
{
  std::map<std::string, std::string_view> files;
  const Directory                         directory = FindDirectory(content);
  std::string_view                        entries = Cut(content, directory.offset, directory.size);
  while (entries.size() >= 46)
  {
    if (entries.substr(0, 4) != "PK\1\2")
    {
      Refuse();
    }
    const std::uint64_t nameLength = Read(entries, 28, 2), extraLength = Read(entries, 30, 2);
    const std::string   name(Cut(entries, 46, nameLength));
    std::uint64_t       compressed = Read(entries, 20, 4), size = Read(entries, 24, 4), offset = Read(entries, 42, 4);
    ReadWide(Cut(entries, 46 + nameLength, extraLength), size, compressed, offset);
    const bool isStored = Read(entries, 10, 2) == 0 && compressed == size;
    if (Cut(content, offset, 4) != "PK\3\4")
    {
      Refuse();
    }
    const std::uint64_t begin = offset + 30 + Read(content, offset + 26, 2) + Read(content, offset + 28, 2);
    if (!files.emplace(name, isStored ? Cut(content, begin, size) : std::string_view()).second)
    {
      throw InvalidArgument(Diagnostic("E-FILE-DAMAGED", "its archive has two files of one name"));
    }
    entries.remove_prefix(Cut(entries, 0, 46 + nameLength + extraLength + Read(entries, 32, 2)).size());
  }
  return files;
}

} // namespace gigapixel

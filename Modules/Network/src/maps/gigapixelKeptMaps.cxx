/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelKeptMaps.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelWritableFolder.h"
#include "schedule/gigapixelSegment.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

namespace gigapixel
{
namespace
{

/** \param number what errno was */
[[noreturn]] void
Fail(const std::string & directory, const char * what, int number)
{
  const bool full = number == ENOSPC || number == EDQUOT;
  throw Refusal(Diagnostic(full || number == EFBIG ? "E-DISK-FULL" : "E-OUTPUT-WRITE",
                           "maps of the network cannot be " + std::string(what) +
                             " in the scratch folder: " + std::strerror(number),
                           full              ? "make room there or choose another one"
                           : number == EFBIG ? "choose another one"
                                             : "")
                  .OfFile(directory));
}

/** \param atOnce so that nobody else takes the room before the map is written \return 0, or the error's number */
int
SetSize(int file, std::int64_t bytes, bool atOnce)
{
  int number = atOnce ? EINTR : EOPNOTSUPP;
  while (number == EINTR)
  {
    number = ::posix_fallocate(file, 0, bytes);
  }
  if (number == EOPNOTSUPP || number == EINVAL) // or the file system cannot: room has to be found when it is written
  {
    number = ::ftruncate(file, bytes) == 0 ? 0 : errno;
  }
  return number;
}

int
CreateFile(const std::string & directory, std::int64_t bytes, bool takesRoom)
{
  const int file = OpenNamelessFile(directory);
  if (file < 0)
  {
    Fail(directory, "written", errno);
  }
  const int number = SetSize(file, bytes, takesRoom);
  if (number != 0)
  {
    ::close(file);
    Fail(directory, "written", number);
  }
  return file;
}

/** Calls transfer(first byte, number of bytes left) until all are through. \return false: it failed */
template <typename TTransfer>
bool
TransferAll(std::int64_t bytes, const TTransfer & transfer)
{
  for (std::int64_t done = 0; done < bytes;)
  {
    const ssize_t now = transfer(done, static_cast<std::size_t>(bytes - done));
    if (now == 0)
    {
      errno = EIO; // the file is as long as the map
    }
    if (now <= 0 && errno != EINTR)
    {
      return false;
    }
    done += std::max<ssize_t>(now, 0);
  }
  return true;
}

} // namespace

KeptMap::KeptMap(const Extent & size, int channels, int valueBytes, const std::string & directory, bool takesRoom)
  : m_Size(size)
  , m_PixelBytes(std::int64_t{ channels } * valueBytes)
  , m_Directory(directory)
{
  if (directory.empty())
  {
    m_Memory.reset(static_cast<char *>(std::calloc(GetBytes(), 1)));
    if (!m_Memory)
    {
      throw std::bad_alloc();
    }
    return;
  }
  m_File = CreateFile(directory, GetBytes(), takesRoom);
}

KeptMap::~KeptMap()
{
  this->Release();
}

void
KeptMap::Release()
{
  m_Memory.reset();
  if (m_File >= 0)
  {
    ::close(m_File);
  }
  m_File = -1;
}

std::int64_t
KeptMap::GetNumberOfRows(const Box & part)
{
  return GetNumberOfPixels(part) / std::max<std::int64_t>(1, part.Last().GetLength());
}

Box
KeptMap::GetRow(const Box & part, std::int64_t row)
{
  Box box = part;
  for (int axis = part.GetNumberOfAxes() - 1; axis-- > 0;)
  {
    const std::int64_t place = part[axis].begin + row % part[axis].GetLength();
    box[axis] = { place, place + 1 };
    row /= part[axis].GetLength();
  }
  return box;
}

std::int64_t
KeptMap::GetPlace(const Box & row) const
{
  std::int64_t place = 0;
  for (int axis = 0; axis < row.GetNumberOfAxes(); ++axis)
  {
    place = place * m_Size[axis] + row[axis].begin;
  }
  return place * m_PixelBytes;
}

void
KeptMap::Read(const Box & part, void * values) const
{
  auto *             target = static_cast<char *>(values);
  const std::int64_t bytes = part.Last().GetLength() * m_PixelBytes;
  for (std::int64_t row = 0; row < GetNumberOfRows(part); ++row, target += bytes)
  {
    const std::int64_t place = GetPlace(GetRow(part, row));
    if (m_Memory)
    {
      std::memcpy(target, m_Memory.get() + place, bytes);
    }
    else if (!TransferAll(bytes, [&](std::int64_t done, std::size_t left) {
               return ::pread(m_File, target + done, left, place + done);
             }))
    {
      Fail(m_Directory, "read", errno);
    }
  }
}

void
KeptMap::Write(const Box & part, const void * values)
{
  const auto *       source = static_cast<const char *>(values);
  const std::int64_t bytes = part.Last().GetLength() * m_PixelBytes;
  for (std::int64_t row = 0; row < GetNumberOfRows(part); ++row, source += bytes)
  {
    const std::int64_t place = GetPlace(GetRow(part, row));
    if (m_Memory)
    {
      std::memcpy(m_Memory.get() + place, source, bytes);
    }
    else if (!TransferAll(bytes, [&](std::int64_t done, std::size_t left) {
               return ::pwrite(m_File, source + done, left, place + done);
             }))
    {
      Fail(m_Directory, "written", errno);
    }
  }
}

void
KeptMap::Copy(const Box & from, const Box & to)
{
  std::vector<char> bytes(from.Last().GetLength() * m_PixelBytes);
  for (std::int64_t row = 0; row < GetNumberOfRows(from); ++row)
  {
    Read(GetRow(from, row), bytes.data());
    Write(GetRow(to, row), bytes.data());
  }
}

bool
KeptMap::FindConstant(const Box & part, std::vector<char> & bytes) const
{
  std::vector<char> first, values(part.Last().GetLength() * m_PixelBytes);
  for (std::int64_t row = 0; row < GetNumberOfRows(part); ++row)
  {
    Read(GetRow(part, row), values.data());
    if (first.empty())
    {
      first.assign(values.begin(), values.begin() + m_PixelBytes);
    }
    if (!std::equal(first.begin(), first.end(), values.begin()) ||
        !std::equal(values.begin() + m_PixelBytes, values.end(), values.begin()))
    {
      return false;
    }
  }
  bytes.insert(bytes.end(), first.begin(), first.end());
  return true;
}

bool
KeptMap::IsZero(const Box & part) const
{
  std::vector<char> bytes;
  return FindConstant(part, bytes) && std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

KeptMaps::KeptMaps(const GraphGeometry &        geometry,
                   const std::vector<Segment> & segments,
                   int                          valueBytes,
                   const std::string &          directory,
                   bool                         gradients)
  : m_ValueBytes(valueBytes)
{
  if (!directory.empty())
  {
    CheckScratchFolder(directory, GetScratchBytes(geometry, segments, valueBytes, gradients));
  }
  for (const int operation : segments.back().kept)
  {
    const bool        reduces = geometry.GetReduction(operation) != nullptr;
    const int         channels = geometry.GetChannels(operation);
    const std::string where = reduces ? std::string() : directory;
    const auto        make = [&](int bytes) {
      return std::make_unique<KeptMap>(geometry.GetSize(operation), channels, bytes, where, gradients);
    };
    m_Channels[operation] = channels;
    if (reduces)
    {
      m_Sums[operation];
    }
    m_Maps.emplace(operation, make(valueBytes));
    if (gradients)
    {
      m_Gradients.emplace(operation, make(reduces ? static_cast<int>(sizeof(double)) : valueBytes));
    }
  }
}

void
KeptMaps::WriteReduced(int operation, const std::vector<double> & values)
{
  const std::vector<float> floats(values.begin(), values.end());
  KeptMap &                map = GetMap(operation);
  map.Write(map.GetWhole(), m_ValueBytes == sizeof(double) ? static_cast<const void *>(values.data()) : floats.data());
}

std::vector<double>
KeptMaps::ReadReduced(int operation) const
{
  const KeptMap &     map = *m_Maps.at(operation);
  std::vector<double> values(map.GetBytes() / m_ValueBytes);
  if (m_ValueBytes == sizeof(double))
  {
    map.Read(map.GetWhole(), values.data());
    return values;
  }
  std::vector<float> floats(values.size());
  map.Read(map.GetWhole(), floats.data());
  return { floats.begin(), floats.end() };
}

std::vector<double>
KeptMaps::ReadReducedGradient(int operation) const
{
  const KeptMap &     gradient = *m_Gradients.at(operation);
  std::vector<double> values(gradient.GetBytes() / sizeof(double));
  gradient.Read(gradient.GetWhole(), values.data());
  return values;
}

void
KeptMaps::WriteReducedGradient(int operation, const std::vector<double> & values)
{
  KeptMap & gradient = *m_Gradients.at(operation);
  gradient.Write(gradient.GetWhole(), values.data());
}

} // namespace gigapixel

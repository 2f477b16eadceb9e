/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DICOMFile.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr std::uint32_t item = 0xfffee000;
constexpr std::uint32_t itemEnd = 0xfffee00d;
constexpr std::uint32_t sequenceEnd = 0xfffee0dd;
constexpr std::uint64_t unending = 0xffffffff;
constexpr std::uint64_t valueLimit = std::uint64_t{ 64 } << 20;
constexpr std::size_t   frameLimit = std::size_t{ 1 } << 26;
constexpr const char *  slideClass = "1.2.840.10008.5.1.4.1.1.77.1.6";

[[noreturn]] void
Fail()
{
  throw std::runtime_error("its DICOM elements are damaged");
}

std::uint64_t
GetLittleEndian(const char * bytes, std::size_t size)
{
  std::uint64_t value = 0;
  for (std::size_t i = size; i > 0; --i)
  {
    value = value << 8u | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

bool
HasLongLength(const char * kind)
{
  static const std::string kinds = "OB OD OF OL OV OW SQ SV UC UN UR UT UV";
  return kinds.find(std::string(kind, 2)) != std::string::npos;
}

} // namespace

bool
DICOMFile::IsDICOM(const std::string & path, bool slide)
{
  std::ifstream file(path, std::ios::binary);
  std::string   start(1024, '\0');
  file.read(&start[0], static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  // The class stands in the first group, which is always of explicit little-endian kind.
  return start.size() > 132 && start.compare(128, 4, "DICM") == 0 &&
         (!slide || start.find(slideClass) != std::string::npos);
}

DICOMFile::DICOMFile(const std::string & path)
  : m_File(path)
{
  m_At = 132;
  ReadMetaGroup();
  ReadElements(m_File.GetSize(), 0);
  if (GetText(DICOMTag::SOPClass) != slideClass)
  {
    throw std::runtime_error("it is a DICOM file, but no whole-slide image");
  }
  if (!m_FoundPixels)
  {
    throw std::runtime_error("it holds no pixels");
  }
}

std::uint64_t
DICOMFile::ReadNumber(unsigned size)
{
  char bytes[8];
  m_File.Read(m_At, bytes, size);
  m_At += size;
  return GetLittleEndian(bytes, size);
}

DICOMFile::Element
DICOMFile::ReadElement(bool isExplicit)
{
  char header[12] = {};
  m_File.Read(m_At, header, 8);
  Element element = {};
  element.tag = static_cast<std::uint32_t>(GetLittleEndian(header, 2) << 16u | GetLittleEndian(header + 2, 2));
  const bool isItem = element.tag >> 16u == 0xfffe;
  m_At += 8;
  if (!isExplicit || isItem)
  {
    element.length = GetLittleEndian(header + 4, 4);
  }
  else
  {
    std::memcpy(element.kind, header + 4, 2);
    element.length = HasLongLength(element.kind) ? ReadNumber(4) : GetLittleEndian(header + 6, 2);
  }
  element.isUnending = element.length == unending;
  if (!element.isUnending && element.length > m_File.GetSize() - std::min(m_At, m_File.GetSize()))
  {
    throw std::runtime_error("the file ends early");
  }
  return element;
}

void
DICOMFile::ReadMetaGroup()
{
  while (m_At + 8 <= m_File.GetSize())
  {
    const std::uint64_t begin = m_At;
    const Element       element = ReadElement(true);
    if (element.tag >> 16u != 2)
    {
      m_At = begin;
      break;
    }
    KeepValue(element);
  }
  const std::string syntax = GetText(DICOMTag::TransferSyntax);
  if (syntax == "1.2.840.10008.1.2.2" || syntax == "1.2.840.10008.1.2.1.99" || syntax.empty())
  {
    throw std::runtime_error("its DICOM transfer syntax (" + syntax + ") is not supported");
  }
  m_Explicit = syntax != "1.2.840.10008.1.2";
  m_Encapsulated = m_Explicit && syntax != "1.2.840.10008.1.2.1";
}

/** Elements up to `end`, or to the end of an item of unknown length; values of inner ones count as the outer ones',
 * unless those say it, too. */
void
DICOMFile::ReadElements(std::uint64_t end, unsigned depth)
{
  if (depth > 16)
  {
    Fail();
  }
  while (m_At < end && !m_FoundPixels)
  {
    const Element element = ReadElement(m_Explicit);
    if (element.tag == itemEnd)
    {
      return;
    }
    if (element.tag == DICOMTag::PixelData && depth == 0)
    {
      FindFrames(element);
      m_FoundPixels = true;
      return;
    }
    const bool isSequence = m_Explicit ? std::memcmp(element.kind, "SQ", 2) == 0 || element.isUnending
                                       : element.isUnending || element.tag == DICOMTag::FrameGroups;
    if (isSequence)
    {
      ReadSequence(element, depth);
      continue;
    }
    KeepValue(element);
  }
}

void
DICOMFile::ReadSequence(const Element & sequence, unsigned depth)
{
  const bool          isFrames = sequence.tag == DICOMTag::FrameGroups && depth == 0;
  const std::uint64_t end = sequence.isUnending ? m_File.GetSize() : m_At + sequence.length;
  m_InFrame = m_InFrame || isFrames;
  while (m_At < end)
  {
    const Element element = ReadElement(m_Explicit);
    if (element.tag == sequenceEnd)
    {
      break;
    }
    if (element.tag != item)
    {
      Fail();
    }
    if (isFrames)
    {
      m_Values.erase(DICOMTag::ColumnPosition);
      m_Values.erase(DICOMTag::RowPosition);
    }
    ReadElements(element.isUnending ? end : m_At + element.length, depth + 1);
    if (isFrames)
    {
      const std::uint64_t column = GetInteger(DICOMTag::ColumnPosition, 0);
      const std::uint64_t row = GetInteger(DICOMTag::RowPosition, 0);
      if (m_Positions.size() >= frameLimit || column == 0 || row == 0)
      {
        Fail();
      }
      m_Positions.emplace_back(column - 1, row - 1);
    }
  }
  m_InFrame = m_InFrame && !isFrames;
}

void
DICOMFile::KeepValue(const Element & element)
{
  const std::uint64_t begin = m_At;
  m_At += element.length;
  const std::uint32_t group = element.tag >> 16u;
  const bool          isPosition = element.tag == DICOMTag::ColumnPosition || element.tag == DICOMTag::RowPosition;
  const bool          isWanted = m_InFrame ? isPosition
                                           : group == 2 || group == 8 || group == 0x18 || group == 0x20 || group == 0x28 ||
                                      group == 0x48 || group == 0x7fe0;
  if (!isWanted || element.length > valueLimit)
  {
    return;
  }
  std::string value(element.length, '\0');
  m_File.Read(begin, &value[0], value.size());
  m_Values.emplace(element.tag, std::move(value));
}

std::string
DICOMFile::GetText(std::uint32_t tag) const
{
  const auto found = m_Values.find(tag);
  if (found == m_Values.end())
  {
    return {};
  }
  if (tag == DICOMTag::ICCProfile)
  {
    return found->second;
  }
  const std::size_t last = found->second.find_last_not_of(std::string(" \0", 2));
  return last == std::string::npos ? std::string() : found->second.substr(0, last + 1);
}

std::uint64_t
DICOMFile::GetInteger(std::uint32_t tag, std::uint64_t otherwise) const
{
  const auto found = m_Values.find(tag);
  if (found == m_Values.end() || found->second.empty())
  {
    return otherwise;
  }
  const std::string & value = found->second;
  const bool          isText = value.find_first_not_of(std::string(" 0123456789\0", 12)) == std::string::npos &&
                      (tag == DICOMTag::NumberOfFrames || value.size() > 8);
  if (isText)
  {
    return std::strtoull(value.c_str(), nullptr, 10);
  }
  return GetLittleEndian(value.data(), std::min<std::size_t>(value.size(), 8));
}

std::vector<std::uint64_t>
DICOMFile::ReadOffsets(std::uint32_t tag, unsigned size) const
{
  std::vector<std::uint64_t> offsets;
  const auto                 found = m_Values.find(tag);
  for (std::size_t i = 0; found != m_Values.end() && i + size <= found->second.size(); i += size)
  {
    offsets.push_back(GetLittleEndian(found->second.data() + i, size));
  }
  return offsets;
}

void
DICOMFile::FindFrames(const Element & pixels)
{
  const std::uint64_t count = GetInteger(DICOMTag::NumberOfFrames, 1);
  if (count == 0 || count > frameLimit)
  {
    Fail();
  }
  if (!m_Encapsulated)
  {
    const std::uint64_t size = GetInteger(DICOMTag::Rows, 0) * GetInteger(DICOMTag::Columns, 0) *
                               GetInteger(DICOMTag::Samples, 1) * (GetInteger(DICOMTag::BitsAllocated, 8) / 8);
    if (pixels.isUnending || size == 0 || size > pixels.length / count)
    {
      throw std::runtime_error("it holds fewer pixels than its frames need");
    }
    for (std::uint64_t i = 0; i < count; ++i)
    {
      m_Frames.push_back({ m_At + i * size, m_At + (i + 1) * size });
    }
    return;
  }
  const Element table = ReadElement(true);
  if (table.tag != item || table.isUnending || table.length > valueLimit)
  {
    Fail();
  }
  m_Values.emplace(DICOMTag::PixelData, std::string(table.length, '\0'));
  m_File.Read(m_At, &m_Values[DICOMTag::PixelData][0], table.length);
  m_At += table.length;
  auto       offsets = ReadOffsets(DICOMTag::FrameOffsets, 8);
  const auto lengths = ReadOffsets(DICOMTag::FrameLengths, 8);
  if (offsets.size() != count)
  {
    offsets = ReadOffsets(DICOMTag::PixelData, 4);
  }
  if (offsets.size() != count)
  {
    FindItems(m_At);
    if (count == 1 && !m_Frames.empty())
    {
      m_Frames = { { m_Frames.front().begin, m_Frames.back().end } };
    }
  }
  else
  {
    for (std::size_t i = 0; i < offsets.size(); ++i)
    {
      const std::uint64_t end = i + 1 < offsets.size() ? m_At + offsets[i + 1] : m_File.GetSize();
      m_Frames.push_back({ m_At + offsets[i], lengths.size() == count ? m_At + offsets[i] + 8 + lengths[i] : end });
    }
  }
  if (m_Frames.size() != count)
  {
    throw std::runtime_error("it holds " + std::to_string(m_Frames.size()) + " frames where it says " +
                             std::to_string(count));
  }
}

/** Without a table of offsets: each item is a frame. */
void
DICOMFile::FindItems(std::uint64_t first)
{
  m_At = first;
  while (m_At + 8 <= m_File.GetSize())
  {
    const std::uint64_t begin = m_At;
    const Element       element = ReadElement(true);
    if (element.tag != item || element.isUnending || m_Frames.size() >= frameLimit)
    {
      break;
    }
    m_At += element.length;
    m_Frames.push_back({ begin, m_At });
  }
  m_At = first;
}

std::vector<unsigned char>
DICOMFile::ReadFrame(const Frame & frame) const
{
  if (frame.end < frame.begin || frame.end > m_File.GetSize())
  {
    throw std::runtime_error("the file ends early");
  }
  std::vector<unsigned char> bytes;
  if (!m_Encapsulated)
  {
    bytes.resize(frame.end - frame.begin);
    m_File.Read(frame.begin, bytes.data(), bytes.size());
    return bytes;
  }
  for (std::uint64_t at = frame.begin; at + 8 <= frame.end;)
  {
    char header[8];
    m_File.Read(at, header, sizeof(header));
    const std::uint64_t tag = GetLittleEndian(header, 2) << 16u | GetLittleEndian(header + 2, 2);
    const std::uint64_t length = GetLittleEndian(header + 4, 4);
    at += 8;
    if (tag == sequenceEnd)
    {
      break;
    }
    if (tag != item || length > frame.end - at)
    {
      throw std::runtime_error("a frame's position is damaged");
    }
    const std::size_t end = bytes.size();
    bytes.resize(end + length);
    m_File.Read(at, bytes.data() + end, length);
    at += length;
  }
  return bytes;
}

} // namespace gigapixel

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DICOMFile.h"

#include "NumberText.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <locale>
#include <set>
#include <sstream>
#include <stdexcept>
#include <type_traits>

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

/** What the values of a representation are, as far as reading them goes. */
enum class Nature
{
  Text,
  Number, // in binary, or as text
  Bytes,
  Sequence
};

Nature
GetNature(const std::string & representation)
{
  static const std::set<std::string> numbers{ "DS", "FD", "FL", "IS", "SL", "SS", "SV", "UL", "US", "UV" };
  static const std::set<std::string> bytes{ "OB", "OD", "OF", "OL", "OV", "OW", "UN", "AT" };
  return representation == "SQ"              ? Nature::Sequence
         : numbers.count(representation) > 0 ? Nature::Number
         : bytes.count(representation) > 0   ? Nature::Bytes
                                             : Nature::Text;
}

/** The representation that the standard (PS3.6) gives to the tags that are read here, for files that leave it to that;
 * empty for others. */
std::string
GetStandardRepresentation(std::uint32_t tag)
{
  static const std::map<std::uint32_t, const char *> representations{
    { DICOMTag::TransferSyntax, "UI" },
    { DICOMTag::ImageType, "CS" },
    { DICOMTag::SOPClass, "UI" },
    { DICOMTag::SeriesInstance, "UI" },
    { DICOMTag::Concatenation, "UI" },
    { DICOMTag::ConcatenationFrameOffset, "UL" },
    { DICOMTag::DimensionOrganization, "CS" },
    { DICOMTag::Samples, "US" },
    { DICOMTag::Photometric, "CS" },
    { DICOMTag::PlanarConfiguration, "US" },
    { DICOMTag::NumberOfFrames, "IS" },
    { DICOMTag::Rows, "US" },
    { DICOMTag::Columns, "US" },
    { DICOMTag::PixelSpacing, "DS" },
    { DICOMTag::BitsAllocated, "US" },
    { DICOMTag::ICCProfile, "OB" },
    { DICOMTag::PixelMeasures, "SQ" },
    { DICOMTag::TotalColumns, "UL" },
    { DICOMTag::TotalRows, "UL" },
    { DICOMTag::OpticalPath, "SQ" },
    { DICOMTag::ObjectivePower, "DS" },
    { DICOMTag::PlanePosition, "SQ" },
    { DICOMTag::ColumnPosition, "SL" },
    { DICOMTag::RowPosition, "SL" },
    { DICOMTag::OpticalPaths, "UL" },
    { DICOMTag::FocalPlanes, "UL" },
    { DICOMTag::SharedGroups, "SQ" },
    { DICOMTag::FrameGroups, "SQ" },
    { DICOMTag::FrameOffsets, "OV" },
    { DICOMTag::FrameLengths, "OV" },
    { DICOMTag::PixelData, "OW" },
  };
  const auto found = representations.find(tag);
  return found == representations.end() ? std::string() : found->second;
}

/** Whether the length of a value of this representation is of 16 bit; that of all others, those of the future among
 * them, is of 32 bit (PS3.5 7.1.2). */
bool
HasShortLength(const std::string & representation)
{
  static const std::set<std::string> representations{ "AE", "AS", "AT", "CS", "DA", "DS", "DT", "FD", "FL", "IS", "LO",
                                                      "LT", "PN", "SH", "SL", "SS", "ST", "TM", "UI", "UL", "US" };
  return representations.count(representation) > 0;
}

/** "(0028,0010)". */
std::string
DescribeTag(std::uint32_t tag)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << '(' << std::hex << std::setfill('0') << std::setw(4) << (tag >> 16u) << ',' << std::setw(4) << (tag & 0xffffu)
       << ')';
  return text.str();
}

std::string
Trim(const std::string & text)
{
  const std::string padding(" \0", 2);
  const std::size_t first = text.find_first_not_of(padding);
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(padding) - first + 1);
}

/** IS or DS: of digits, at least. */
double
ReadNumberText(std::uint32_t tag, const std::string & text)
{
  const std::string number = Trim(text);
  if (number.empty() || number.find_first_not_of("+-.0123456789eE") != std::string::npos ||
      number.find_first_of("0123456789") == std::string::npos)
  {
    throw std::runtime_error("its DICOM element " + DescribeTag(tag) + " is no number");
  }
  return ToNumber(number);
}

template <typename T>
double
ReadAs(const char * bytes)
{
  const std::uint64_t bits = GetLittleEndian(bytes, sizeof(T));
  if constexpr (std::is_floating_point_v<T>)
  {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const auto pattern = static_cast<Bits>(bits);
    T          value = 0;
    std::memcpy(&value, &pattern, sizeof(T));
    return static_cast<double>(value);
  }
  else
  {
    return static_cast<double>(static_cast<T>(bits));
  }
}

struct BinaryNumber
{
  std::size_t size;
  double (*read)(const char * bytes);
};

/** Of a representation whose numbers are no text. */
BinaryNumber
GetBinaryNumber(const std::string & representation)
{
  static const std::map<std::string, BinaryNumber> kinds{
    { "US", { 2, ReadAs<std::uint16_t> } }, { "SS", { 2, ReadAs<std::int16_t> } },
    { "UL", { 4, ReadAs<std::uint32_t> } }, { "SL", { 4, ReadAs<std::int32_t> } },
    { "UV", { 8, ReadAs<std::uint64_t> } }, { "SV", { 8, ReadAs<std::int64_t> } },
    { "FL", { 4, ReadAs<float> } },         { "FD", { 8, ReadAs<double> } }
  };
  return kinds.at(representation);
}

/** Numbers of a table that is no more than its bytes. */
std::vector<std::uint64_t>
ReadOffsets(const std::string & bytes, std::size_t size)
{
  std::vector<std::uint64_t> offsets;
  for (std::size_t i = 0; i + size <= bytes.size(); i += size)
  {
    offsets.push_back(GetLittleEndian(bytes.data() + i, size));
  }
  return offsets;
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

/** That of the standard, where the file states none; one of another nature than the standard's is refused. */
void
DICOMFile::CheckRepresentation(Element & element)
{
  const std::string standard = GetStandardRepresentation(element.tag);
  element.isImplied = element.representation.empty() || element.representation == "UN";
  if (element.isImplied)
  {
    element.representation = standard;
  }
  if (!standard.empty() && GetNature(element.representation) != GetNature(standard))
  {
    throw std::runtime_error("its DICOM element " + DescribeTag(element.tag) + " has the value representation " +
                             element.representation + ", where " + standard + " is expected");
  }
}

DICOMFile::Element
DICOMFile::ReadElement(bool isExplicit)
{
  char header[12] = {};
  m_File.Read(m_At, header, 8);
  Element element{};
  element.tag = static_cast<std::uint32_t>(GetLittleEndian(header, 2) << 16u | GetLittleEndian(header + 2, 2));
  const bool isItem = element.tag >> 16u == 0xfffe;
  m_At += 8;
  if (!isExplicit || isItem)
  {
    element.length = GetLittleEndian(header + 4, 4);
  }
  else
  {
    element.representation.assign(header + 4, 2);
    if (element.representation.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos)
    {
      Fail();
    }
    element.length = HasShortLength(element.representation) ? GetLittleEndian(header + 6, 2) : ReadNumber(4);
  }
  element.isUnending = element.length == unending;
  CheckRepresentation(element);
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
    const std::uint64_t group = ReadNumber(2);
    m_At -= 2;
    if (group != 2)
    {
      break;
    }
    KeepValue(ReadElement(true), 0);
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
    if (element.tag == DICOMTag::PixelData && element.isUnending)
    {
      SkipItems(); // of an icon
      continue;
    }
    if (element.representation == "SQ" || element.isUnending)
    {
      // What is unknown is encoded without representations (PS3.5 6.2.2).
      const bool isExplicit = m_Explicit;
      m_Explicit = isExplicit && !element.isImplied;
      ReadSequence(element, depth);
      m_Explicit = isExplicit;
      continue;
    }
    KeepValue(element, depth);
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
      if (m_Positions.size() >= frameLimit)
      {
        Fail();
      }
      if (column != 0 && row != 0) // else they are in order, or fewer than frames
      {
        m_Positions.emplace_back(column - 1, row - 1);
      }
    }
  }
  m_InFrame = m_InFrame && !isFrames;
}

/** Those that are read here; in groups of single frames, where the frame is. What the file itself says counts more than
 * what sequences say, of other files perhaps. */
void
DICOMFile::KeepValue(const Element & element, unsigned depth)
{
  const std::uint64_t begin = m_At;
  m_At += element.length;
  const std::string standard = GetStandardRepresentation(element.tag);
  const bool        isPosition = element.tag == DICOMTag::ColumnPosition || element.tag == DICOMTag::RowPosition;
  const auto        found = m_Values.find(element.tag);
  const bool        isLess = found != m_Values.end() && (depth > 0 || found->second.depth == 0);
  if (standard.empty() || element.tag == DICOMTag::PixelData || (m_InFrame && !isPosition) || isLess ||
      element.length > valueLimit)
  {
    return;
  }
  Value value{ element.representation, std::string(element.length, '\0'), depth };
  m_File.Read(begin, value.bytes.data(), value.bytes.size());
  m_Values[element.tag] = std::move(value);
}

const DICOMFile::Value *
DICOMFile::Find(std::uint32_t tag) const
{
  const auto found = m_Values.find(tag);
  return found == m_Values.end() ? nullptr : &found->second;
}

std::string
DICOMFile::GetBytes(std::uint32_t tag) const
{
  const Value * const value = Find(tag);
  return value == nullptr ? std::string() : value->bytes;
}

std::string
DICOMFile::GetText(std::uint32_t tag) const
{
  const Value * const value = Find(tag);
  const bool          isText = value != nullptr && (GetNature(value->representation) == Nature::Text ||
                                           value->representation == "IS" || value->representation == "DS");
  if (value == nullptr || isText)
  {
    return value == nullptr ? std::string() : Trim(value->bytes);
  }
  std::string text;
  for (const double number : GetNumbers(tag))
  {
    text += (text.empty() ? "" : "\\") + ToText(number);
  }
  return text;
}

std::vector<double>
DICOMFile::GetNumbers(std::uint32_t tag) const
{
  std::vector<double> numbers;
  const Value * const value = Find(tag);
  if (value == nullptr)
  {
    return numbers;
  }
  if (value->representation == "IS" || value->representation == "DS")
  {
    std::istringstream texts(value->bytes);
    for (std::string text; !Trim(value->bytes).empty() && std::getline(texts, text, '\\');)
    {
      numbers.push_back(ReadNumberText(tag, text));
    }
    return numbers;
  }
  const BinaryNumber kind = GetBinaryNumber(value->representation);
  if (value->bytes.size() % kind.size != 0)
  {
    throw std::runtime_error("its DICOM element " + DescribeTag(tag) + " has " + std::to_string(value->bytes.size()) +
                             " bytes, which are no values of " + value->representation);
  }
  for (std::size_t at = 0; at < value->bytes.size(); at += kind.size)
  {
    numbers.push_back(kind.read(value->bytes.data() + at));
  }
  return numbers;
}

std::uint64_t
DICOMFile::GetInteger(std::uint32_t tag, std::uint64_t otherwise) const
{
  const auto numbers = GetNumbers(tag);
  if (numbers.empty())
  {
    return otherwise;
  }
  constexpr double limit = 4294967296.0;
  if (!(numbers.front() >= 0.0) || numbers.front() >= limit || numbers.front() != std::floor(numbers.front()))
  {
    throw std::runtime_error("its DICOM element " + DescribeTag(tag) + " is no whole number below 2^32");
  }
  return static_cast<std::uint64_t>(numbers.front());
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
    constexpr std::uint64_t sideLimit = 65536;
    const std::uint64_t     rows = GetInteger(DICOMTag::Rows, 0);
    const std::uint64_t     columns = GetInteger(DICOMTag::Columns, 0);
    const std::uint64_t     samples = GetInteger(DICOMTag::Samples, 1);
    const std::uint64_t     bits = GetInteger(DICOMTag::BitsAllocated, 8);
    if (std::max({ rows, columns, samples, bits }) >= sideLimit)
    {
      Fail();
    }
    const std::uint64_t size = rows * columns * samples * (bits / 8);
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
  std::string basicTable(table.length, '\0');
  m_File.Read(m_At, basicTable.data(), basicTable.size());
  m_At += table.length;
  auto       offsets = ReadOffsets(GetBytes(DICOMTag::FrameOffsets), 8);
  const auto lengths = ReadOffsets(GetBytes(DICOMTag::FrameLengths), 8);
  if (offsets.size() != count)
  {
    offsets = ReadOffsets(basicTable, 4);
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

/** Pixels in items, of which nothing is wanted. */
void
DICOMFile::SkipItems()
{
  for (Element element = ReadElement(false); element.tag != sequenceEnd; element = ReadElement(false))
  {
    if (element.tag != item || element.isUnending)
    {
      Fail();
    }
    m_At += element.length;
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

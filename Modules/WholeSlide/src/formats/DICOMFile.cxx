/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DICOMFile.h"

#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

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

constexpr std::uint32_t placeTags[] = { DICOMTag::ColumnPosition,
                                        DICOMTag::RowPosition,
                                        DICOMTag::ZOffset,
                                        DICOMTag::OpticalPathIdentifier };

[[noreturn]] void
Fail(const std::string & why = "its DICOM elements are damaged")
{
  throw Refusal(Diagnostic("E-FILE-DAMAGED", why));
}

/** The first bytes of a file, as far as they are there and can be read. */
std::string
ReadStart(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  std::string   start(1024, '\0');
  file.read(&start[0], static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return start;
}

bool
BeginsAsDICOM(const std::string & start)
{
  return start.size() > 132 && start.compare(128, 4, "DICM") == 0;
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

std::string
NameTransferSyntax(const std::string & identifier)
{
  static const std::map<std::string, const char *> names{
    { "1.2.840.10008.1.2", "Implicit VR Little Endian" },
    { "1.2.840.10008.1.2.1", "Explicit VR Little Endian" },
    { "1.2.840.10008.1.2.1.98", "Encapsulated Uncompressed" },
    { "1.2.840.10008.1.2.1.99", "Deflated Explicit VR Little Endian" },
    { "1.2.840.10008.1.2.2", "Explicit VR Big Endian" },
    { "1.2.840.10008.1.2.4.50", "JPEG Baseline (Process 1)" },
    { "1.2.840.10008.1.2.4.51", "JPEG Extended (Process 2 and 4)" },
    { "1.2.840.10008.1.2.4.57", "JPEG Lossless (Process 14)" },
    { "1.2.840.10008.1.2.4.70", "JPEG Lossless (Process 14, Selection Value 1)" },
    { "1.2.840.10008.1.2.4.80", "JPEG-LS Lossless" },
    { "1.2.840.10008.1.2.4.81", "JPEG-LS Near-Lossless" },
    { "1.2.840.10008.1.2.4.90", "JPEG 2000 (Lossless Only)" },
    { "1.2.840.10008.1.2.4.91", "JPEG 2000" },
    { "1.2.840.10008.1.2.4.92", "JPEG 2000 Part 2 Multi-component (Lossless Only)" },
    { "1.2.840.10008.1.2.4.93", "JPEG 2000 Part 2 Multi-component" },
    { "1.2.840.10008.1.2.4.94", "JPIP Referenced" },
    { "1.2.840.10008.1.2.4.95", "JPIP Referenced Deflate" },
    { "1.2.840.10008.1.2.4.100", "MPEG-2 Main Profile / Main Level" },
    { "1.2.840.10008.1.2.4.101", "MPEG-2 Main Profile / High Level" },
    { "1.2.840.10008.1.2.4.102", "MPEG-4 AVC/H.264 High Profile" },
    { "1.2.840.10008.1.2.4.107", "HEVC/H.265 Main Profile" },
    { "1.2.840.10008.1.2.4.110", "JPEG XL Lossless" },
    { "1.2.840.10008.1.2.4.111", "JPEG XL JPEG Recompression" },
    { "1.2.840.10008.1.2.4.112", "JPEG XL" },
    { "1.2.840.10008.1.2.4.201", "High-Throughput JPEG 2000 (HTJ2K, Lossless Only)" },
    { "1.2.840.10008.1.2.4.202", "High-Throughput JPEG 2000 with RPCL (HTJ2K, Lossless Only)" },
    { "1.2.840.10008.1.2.4.203", "High-Throughput JPEG 2000 (HTJ2K)" },
    { "1.2.840.10008.1.2.5", "RLE Lossless" },
  };
  const auto found = names.find(identifier);
  return found == names.end() ? "unknown transfer syntax " + identifier : found->second;
}

bool
DICOMFile::IsDICOM(const std::string & path, bool slide)
{
  const std::string start = ReadStart(path);
  // The class stands in the first group, which is always of explicit little-endian kind.
  return BeginsAsDICOM(start) && (!slide || start.find(slideClass) != std::string::npos);
}

bool
DICOMFile::IsNamedAsDICOM(const std::string & path)
{
  const std::filesystem::path file(path);
  std::string                 ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".dcm" && file.filename().string().front() != '.';
}

std::string
DICOMFile::FindWhyNot(const std::string & path, std::error_code & error)
{
  errno = 0;
  const std::string start = ReadStart(path);
  if (start.empty() && errno != 0)
  {
    error.assign(errno, std::generic_category());
    return "it cannot be read: " + error.message();
  }
  if (start.empty())
  {
    return "it is empty";
  }
  if (!BeginsAsDICOM(start))
  {
    return "its name says DICOM, but it is no DICOM file";
  }
  // All classes of the standard begin so.
  return start.find("1.2.840.10008.") == std::string::npos ? "it does not say what kind of image it is" : "";
}

DICOMFile::DICOMFile(const std::string & path)
  : m_Path(path)
  , m_File(path)
{
  m_At = 132;
  ReadMetaGroup();
  ReadElements(m_File.GetSize(), 0);
  if (GetText(DICOMTag::SOPClass) != slideClass)
  {
    throw NoWholeSlide(Diagnostic("E-FILE-KIND", "it is a DICOM file, but no whole-slide image"));
  }
  if (!m_FoundPixels)
  {
    Fail("it holds no pixels");
  }
  if (m_OpticalPaths.empty())
  {
    m_OpticalPaths.push_back({ GetText(DICOMTag::OpticalPathIdentifier), {} });
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
  element.isImplied = element.representation.empty() || element.representation == "UN";
  element.representation = ResolveRepresentation(element.tag, element.representation);
  if (!element.isUnending && element.length > m_File.GetSize() - std::min(m_At, m_File.GetSize()))
  {
    Fail("the file ends early");
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
    throw Refusal(Diagnostic("E-DICOM-FORMAT",
                             syntax.empty() ? "it does not state its transfer syntax"
                                            : "its transfer syntax, " + NameTransferSyntax(syntax) + ", is not read",
                             "convert it to another transfer syntax, for instance with dcmconv"));
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
  const bool          arePaths = sequence.tag == DICOMTag::OpticalPath && depth == 0;
  const std::uint64_t end = sequence.isUnending ? m_File.GetSize() : m_At + sequence.length;
  m_InFrame = m_InFrame || isFrames;
  const std::map<std::uint32_t, Value> shared = isFrames ? m_Values : std::map<std::uint32_t, Value>();
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
    for (const std::uint32_t tag : placeTags)
    {
      if (isFrames)
      {
        m_Values.erase(tag); // the frame's own value counts
      }
    }
    ReadElements(element.isUnending ? end : m_At + element.length, depth + 1);
    for (const std::uint32_t tag : placeTags)
    {
      const auto found = shared.find(tag);
      if (isFrames && found != shared.end())
      {
        m_Values.insert(*found); // unless the frame has one
      }
    }
    if (isFrames)
    {
      KeepPlace();
    }
    if (arePaths)
    {
      KeepOpticalPath();
    }
  }
  m_InFrame = m_InFrame && !isFrames;
}

/** Each path is a channel, and is looked for by its name. */
void
DICOMFile::RefuseManyPaths() const
{
  constexpr std::size_t pathLimit = 4096;
  if (m_OpticalPaths.size() >= pathLimit)
  {
    Fail();
  }
}

/** The optical path whose item ends here. */
void
DICOMFile::KeepOpticalPath()
{
  RefuseManyPaths();
  m_OpticalPaths.push_back({ GetText(DICOMTag::OpticalPathIdentifier), GetText(DICOMTag::OpticalPathDescription) });
  m_Values.erase(DICOMTag::OpticalPathIdentifier);
  m_Values.erase(DICOMTag::OpticalPathDescription);
}

std::uint32_t
DICOMFile::FindOpticalPath(const std::string & identifier)
{
  const auto found = std::find_if(m_OpticalPaths.begin(),
                                  m_OpticalPaths.end(),
                                  [&identifier](const OpticalPath & path) { return path.identifier == identifier; });
  if (found != m_OpticalPaths.end() || (identifier.empty() && !m_OpticalPaths.empty()))
  {
    return found == m_OpticalPaths.end() ? 0 : static_cast<std::uint32_t>(found - m_OpticalPaths.begin());
  }
  RefuseManyPaths();
  m_OpticalPaths.push_back({ identifier, {} });
  return static_cast<std::uint32_t>(m_OpticalPaths.size() - 1);
}

/** The place of the frame whose item ends here, where it is stated. */
void
DICOMFile::KeepPlace()
{
  const std::uint64_t column = GetInteger(DICOMTag::ColumnPosition, 0);
  const std::uint64_t row = GetInteger(DICOMTag::RowPosition, 0);
  if (m_Places.size() >= frameLimit)
  {
    Fail();
  }
  if (column != 0 && row != 0) // else the frames are in order, or it is missing
  {
    m_Places.push_back({ column - 1, row - 1, GetZ(), FindOpticalPath(GetText(DICOMTag::OpticalPathIdentifier)) });
  }
}

double
DICOMFile::GetZ() const
{
  const auto z = GetNumbers(DICOMTag::ZOffset);
  return z.empty() ? 0.0 : z.front();
}

/** Those that are read here; in groups of single frames, where the frame is. What the file itself says counts more than
 * what sequences say, of other files perhaps. */
void
DICOMFile::KeepValue(const Element & element, unsigned depth)
{
  const std::uint64_t begin = m_At;
  m_At += element.length;
  const std::string standard = GetStandardRepresentation(element.tag);
  const bool isPosition = std::find(std::begin(placeTags), std::end(placeTags), element.tag) != std::end(placeTags);
  const auto found = m_Values.find(element.tag);
  const bool isLess = found != m_Values.end() && (depth > 0 || found->second.depth == 0);
  if (standard.empty() || element.tag == DICOMTag::PixelData || (m_InFrame && !isPosition) || isLess ||
      element.length > valueLimit)
  {
    return;
  }
  Value value{ { element.tag, element.representation, std::string(element.length, '\0') }, depth };
  m_File.Read(begin, value.value.bytes.data(), value.value.bytes.size());
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
  return value == nullptr ? std::string() : value->value.bytes;
}

std::string
DICOMFile::GetText(std::uint32_t tag) const
{
  const Value * const value = Find(tag);
  return value == nullptr ? std::string() : value->value.GetText();
}

std::vector<double>
DICOMFile::GetNumbers(std::uint32_t tag) const
{
  const Value * const value = Find(tag);
  return value == nullptr ? std::vector<double>() : value->value.GetNumbers();
}

std::uint64_t
DICOMFile::GetInteger(std::uint32_t tag, std::uint64_t otherwise) const
{
  const Value * const value = Find(tag);
  return value == nullptr ? otherwise : value->value.GetInteger(otherwise);
}

std::string
DICOMFile::GetFlavor() const
{
  std::istringstream       values(GetText(DICOMTag::ImageType));
  std::string              value;
  std::vector<std::string> all;
  while (std::getline(values, value, '\\'))
  {
    all.push_back(value);
  }
  const std::string flavor = all.empty() ? "VOLUME" : all.size() > 2 ? all[2] : "";
  return flavor == "VOLUME"      ? "level"
         : flavor == "LABEL"     ? "label"
         : flavor == "OVERVIEW"  ? "macro"
         : flavor == "THUMBNAIL" ? "thumbnail"
                                 : "";
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
    const bool          isHalved = GetText(DICOMTag::Photometric) == "YBR_FULL_422"; // colors of two pixels together
    const std::uint64_t size = isHalved ? rows * columns * 2 : (rows * columns * samples * bits + 7) / 8;
    if (pixels.isUnending || size == 0 || size > pixels.length / count)
    {
      Fail("it holds fewer pixels than its frames need");
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
    if (m_Frames.size() > count)
    {
      JoinFragments(count);
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
    Fail("it holds " + std::to_string(m_Frames.size()) + " frames where it says " + std::to_string(count));
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

/** Makes frames of more fragments than there are frames: each frame ends with the end of its JPEG or JPEG 2000 stream,
 * which no such stream holds elsewhere (ITU-T T.81 B.1.1.5, T.800 B.10.1). */
void
DICOMFile::JoinFragments(std::uint64_t count)
{
  const std::vector<Frame> fragments = std::move(m_Frames);
  m_Frames.clear();
  bool isWhole = true; // the frame before
  for (const Frame & fragment : fragments)
  {
    if (isWhole)
    {
      m_Frames.push_back(fragment);
    }
    m_Frames.back().end = fragment.end;
    char                end[3] = {}; // it may be followed by a byte that fills up
    const std::uint64_t size = std::min<std::uint64_t>(sizeof(end), fragment.end - fragment.begin - 8);
    m_File.Read(fragment.end - size, end, size);
    const std::string last(end, size);
    const std::string mark = "\xff\xd9";
    isWhole = count > 1 && (last.find(mark + '\0') != std::string::npos ||
                            (last.size() >= 2 && last.compare(last.size() - 2, 2, mark) == 0));
  }
  if (m_Frames.size() != count || (count > 1 && !isWhole))
  {
    throw Refusal(Diagnostic("E-DICOM-FORMAT",
                             "it has " + FormatCount(count, "frame") + " in " +
                               FormatCount(fragments.size(), "fragment") +
                               ", and no table says which of them belong together",
                             "write it again with a table of offsets, or convert the series to a tiled TIFF"));
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
    Fail("the file ends early");
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
      Fail("a frame's position is damaged");
    }
    const std::size_t end = bytes.size();
    bytes.resize(end + length);
    m_File.Read(at, bytes.data() + end, length);
    at += length;
  }
  return bytes;
}

} // namespace gigapixel

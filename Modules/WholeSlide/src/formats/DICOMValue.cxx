/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DICOMValue.h"

#include "files/NumberText.h"

#include "gigapixelDiagnostic.h"

#include <cmath>
#include <cstring>
#include <iomanip>
#include <locale>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <type_traits>

namespace gigapixel
{
namespace
{

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

Diagnostic
Damage(const std::string & why)
{
  return { "E-FILE-DAMAGED", why };
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
    throw Refusal(Damage("its DICOM element " + DescribeTag(tag) + " is no number"));
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

} // namespace

std::string
DICOMValue::GetText() const
{
  if (GetNature(representation) == Nature::Text || representation == "IS" || representation == "DS")
  {
    return Trim(bytes);
  }
  std::string text;
  for (const double number : GetNumbers())
  {
    text += (text.empty() ? "" : "\\") + ToText(number);
  }
  return text;
}

std::vector<double>
DICOMValue::GetNumbers() const
{
  std::vector<double> numbers;
  if (representation == "IS" || representation == "DS")
  {
    std::istringstream texts(bytes);
    for (std::string text; !Trim(bytes).empty() && std::getline(texts, text, '\\');)
    {
      numbers.push_back(ReadNumberText(tag, text));
    }
    return numbers;
  }
  const BinaryNumber kind = GetBinaryNumber(representation);
  if (bytes.size() % kind.size != 0)
  {
    throw Refusal(Damage("its DICOM element " + DescribeTag(tag) + " has " + std::to_string(bytes.size()) +
                         " bytes, which are no values of " + representation));
  }
  for (std::size_t at = 0; at < bytes.size(); at += kind.size)
  {
    numbers.push_back(kind.read(bytes.data() + at));
  }
  return numbers;
}

std::uint64_t
DICOMValue::GetInteger(std::uint64_t otherwise) const
{
  const auto numbers = GetNumbers();
  if (numbers.empty())
  {
    return otherwise;
  }
  constexpr double limit = 4294967296.0;
  if (!(numbers.front() >= 0.0) || numbers.front() >= limit || numbers.front() != std::floor(numbers.front()))
  {
    throw Refusal(Damage("its DICOM element " + DescribeTag(tag) + " is no whole number below 2^32"));
  }
  return static_cast<std::uint64_t>(numbers.front());
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

std::string
GetStandardRepresentation(std::uint32_t tag)
{
  static const std::map<std::uint32_t, const char *> representations{
    { DICOMTag::TransferSyntax, "UI" },
    { DICOMTag::ImageType, "CS" },
    { DICOMTag::SOPClass, "UI" },
    { DICOMTag::SOPInstance, "UI" },
    { DICOMTag::SeriesInstance, "UI" },
    { DICOMTag::FrameOfReference, "UI" },
    { DICOMTag::Concatenation, "UI" },
    { DICOMTag::ConcatenationNumber, "US" },
    { DICOMTag::ConcatenationTotal, "US" },
    { DICOMTag::ConcatenationFrameOffset, "UL" },
    { DICOMTag::DimensionOrganization, "CS" },
    { DICOMTag::Samples, "US" },
    { DICOMTag::Photometric, "CS" },
    { DICOMTag::PlanarConfiguration, "US" },
    { DICOMTag::NumberOfFrames, "IS" },
    { DICOMTag::Rows, "US" },
    { DICOMTag::Columns, "US" },
    { DICOMTag::SpacingBetweenSlices, "DS" },
    { DICOMTag::PixelSpacing, "DS" },
    { DICOMTag::BitsAllocated, "US" },
    { DICOMTag::BitsStored, "US" },
    { DICOMTag::PixelRepresentation, "US" },
    { DICOMTag::ICCProfile, "OB" },
    { DICOMTag::PixelMeasures, "SQ" },
    { DICOMTag::Container, "LO" },
    { DICOMTag::XOffset, "DS" },
    { DICOMTag::YOffset, "DS" },
    { DICOMTag::ZOffset, "DS" },
    { DICOMTag::TotalColumns, "UL" },
    { DICOMTag::TotalRows, "UL" },
    { DICOMTag::OpticalPath, "SQ" },
    { DICOMTag::OpticalPathIdentifier, "SH" },
    { DICOMTag::OpticalPathDescription, "ST" },
    { DICOMTag::ObjectivePower, "DS" },
    { DICOMTag::OpticalPathOfFrame, "SQ" },
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

std::string
ResolveRepresentation(std::uint32_t tag, const std::string & stated)
{
  const std::string standard = GetStandardRepresentation(tag);
  std::string       representation = stated.empty() || stated == "UN" ? standard : stated;
  if (!standard.empty() && GetNature(representation) != GetNature(standard))
  {
    throw Refusal(Damage("its DICOM element " + DescribeTag(tag) + " has the value representation " + representation +
                         ", where " + standard + " is expected"));
  }
  return representation;
}

bool
HasShortLength(const std::string & representation)
{
  static const std::set<std::string> representations{ "AE", "AS", "AT", "CS", "DA", "DS", "DT", "FD", "FL", "IS", "LO",
                                                      "LT", "PN", "SH", "SL", "SS", "ST", "TM", "UI", "UL", "US" };
  return representations.count(representation) > 0;
}

} // namespace gigapixel

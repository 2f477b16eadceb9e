/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// How a file of DICOM is divided into elements. What they say is checked by gigapixelDicomHeader.cxx.
#ifndef gigapixelDicomWalk_h
#define gigapixelDicomWalk_h

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <locale>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace gigapixel::dicom
{

/** \name Tags, PS3.6. @{ */
constexpr std::uint32_t TransferSyntax = 0x00020010;
constexpr std::uint32_t RecognitionCode = 0x00080010; ///< of ACR-NEMA, DICOM's forerunner
constexpr std::uint32_t SOPClass = 0x00080016;
constexpr std::uint32_t SOPInstance = 0x00080018;
constexpr std::uint32_t SliceThickness = 0x00180050;
constexpr std::uint32_t SliceSpacing = 0x00180088;
constexpr std::uint32_t ImagerSpacing = 0x00181164; ///< at the detector of an X-ray
constexpr std::uint32_t Position = 0x00200032;
constexpr std::uint32_t Orientation = 0x00200037;
constexpr std::uint32_t SamplesPerPixel = 0x00280002;
constexpr std::uint32_t Photometric = 0x00280004;
constexpr std::uint32_t PlanarConfiguration = 0x00280006;
constexpr std::uint32_t NumberOfFrames = 0x00280008;
constexpr std::uint32_t Rows = 0x00280010;
constexpr std::uint32_t Columns = 0x00280011;
constexpr std::uint32_t Spacing = 0x00280030;
constexpr std::uint32_t BitsAllocated = 0x00280100;
constexpr std::uint32_t BitsStored = 0x00280101;
constexpr std::uint32_t HighBit = 0x00280102;
constexpr std::uint32_t PixelRepresentation = 0x00280103;
constexpr std::uint32_t Intercept = 0x00281052;
constexpr std::uint32_t Slope = 0x00281053;
constexpr std::uint32_t PixelData = 0x7fe00010;
constexpr std::uint32_t Item = 0xfffee000;
constexpr std::uint32_t ItemEnd = 0xfffee00d;
constexpr std::uint32_t SequenceEnd = 0xfffee0dd;
/** @} */

[[noreturn]] inline void
RefuseDamage(const std::string & file, const std::string & reason)
{
  throw Refusal(Diagnostic("E-FILE-DAMAGED", "it is cut short or damaged: " + reason, "get it again from where it came")
                  .OfFile(file));
}

[[noreturn]] inline void
Refuse(const std::string & file, const std::string & reason, const std::string & remedy)
{
  throw Refusal(Diagnostic("E-DICOM-FORMAT", reason, remedy).OfFile(file));
}

/** How the elements behind the first group are written. */
struct Syntax
{
  bool isExplicit{ true };
  bool isBigEndian{ false };
  bool isCompressed{ false }; ///< of pixels
};

inline Syntax
GetSyntax(const std::string & file, const std::string & name)
{
  const std::string standard = "1.2.840.10008.1.2";
  if (name == standard || name == "1.2.840.113619.5.2") // the latter of GE: with pixels in another order of bytes
  {
    return { false, false, false };
  }
  if (name == standard + ".1")
  {
    return {};
  }
  if (name == standard + ".2")
  {
    return { true, true, false };
  }
  // JPEG, JPEG-LS and JPEG 2000, as GDCM decodes them, and runs of equal bytes.
  static const std::set<std::string> compressed{ ".4.50", ".4.51", ".4.53", ".4.55", ".4.57", ".4.70",
                                                 ".4.80", ".4.81", ".4.90", ".4.91", ".5" };
  if (name.rfind(standard, 0) == 0 && compressed.count(name.substr(standard.size())) > 0)
  {
    return { true, false, true };
  }
  Refuse(file,
         name == standard + ".1.99" ? "its elements are deflated, which is not read"
                                    : "its DICOM transfer syntax is none that is read",
         "convert it to an uncompressed transfer syntax");
}

/** The elements of a file, of which those of its image itself are kept, not those within sequences. */
class DicomWalk
{
public:
  explicit DicomWalk(const std::string & file)
    : m_File(file)
    , m_Stream(file, std::ios::binary)
  {
    m_Stream.seekg(0, std::ios::end);
    m_Size = static_cast<std::uint64_t>(std::max<std::streamoff>(m_Stream.tellg(), 0));
    this->WalkFirstGroup();
    m_Syntax = GetSyntax(file, this->GetText(TransferSyntax));
    while (!this->IsAtEnd())
    {
      this->Step();
    }
  }

  bool
  Has(std::uint32_t tag) const
  {
    return m_Values.count(tag) > 0;
  }

  /** Without the byte that makes its length even. */
  std::string
  GetText(std::uint32_t tag) const
  {
    const auto found = m_Values.find(tag);
    if (found == m_Values.end())
    {
      return {};
    }
    const std::string padding(" \0", 2);
    const std::size_t last = found->second.find_last_not_of(padding);
    return last == std::string::npos ? std::string() : found->second.substr(0, last + 1);
  }

  /** Decimal numbers (PS3.5 6.2, DS); none where the element is empty or not there. */
  std::vector<double>
  GetDecimals(std::uint32_t tag, const std::string & name) const
  {
    std::istringstream  texts(this->GetText(tag));
    std::vector<double> numbers;
    for (std::string text; std::getline(texts, text, '\\');)
    {
      std::istringstream number(text);
      number.imbue(std::locale::classic());
      double value = 0;
      if (!(number >> value) || !(number.eof() || (number >> std::ws).eof()) || !std::isfinite(value))
      {
        RefuseDamage(m_File, "its " + name + " has a value that is no finite number");
      }
      numbers.push_back(value);
    }
    return numbers;
  }

  /** Of 16 bits. */
  unsigned
  GetNumber(std::uint32_t tag, const std::string & name) const
  {
    const auto found = m_Values.find(tag);
    if (found == m_Values.end() || found->second.size() != 2)
    {
      RefuseDamage(m_File, "it does not say its " + name + ", or not as one number of 16 bits");
    }
    return static_cast<unsigned>(ToNumber(found->second, m_Syntax.isBigEndian));
  }

  const Syntax &
  GetSyntaxOfPixels() const
  {
    return m_Syntax;
  }

  bool
  HasPixels() const
  {
    return m_HasPixels;
  }

  std::uint64_t
  GetPixelBytes() const
  {
    return m_PixelBytes;
  }

  /** The first bytes of the compressed pixels, behind what tells where frames begin. */
  std::string
  ReadCodestream(std::uint64_t longest)
  {
    m_At = m_Codestream;
    return this->Read(std::min(longest, m_CodestreamBytes));
  }

  std::uint64_t
  GetCodestreamBytes() const
  {
    return m_CodestreamBytes;
  }

  static std::uint64_t
  ToNumber(const std::string & bytes, bool isBigEndian)
  {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
    {
      number = number << 8U | static_cast<unsigned char>(bytes[isBigEndian ? i : bytes.size() - 1 - i]);
    }
    return number;
  }

private:
  struct Element
  {
    std::uint32_t tag{ 0 };
    std::string   kind; ///< its value representation; empty where the file does not say it
    std::uint64_t length{ 0 };
    bool          isMarked{ false }; ///< it is as long as the mark of its end says
  };

  /** A sequence, which holds items, or an item, which holds elements. */
  struct Level
  {
    std::uint64_t end; ///< not behind that of what holds it
    bool          isMarked;
    bool          isSequence;
    bool          isExplicit;
  };

  std::uint64_t
  GetEnd() const
  {
    return m_Levels.empty() ? m_Size : m_Levels.back().end;
  }

  std::string
  Read(std::uint64_t number)
  {
    if (number > this->GetEnd() - std::min(m_At, this->GetEnd()))
    {
      RefuseDamage(m_File, "an element of its header is longer than what holds it");
    }
    std::string bytes(number, '\0');
    m_Stream.seekg(static_cast<std::streamoff>(m_At));
    if (!m_Stream.read(&bytes[0], static_cast<std::streamsize>(number)))
    {
      RefuseDamage(m_File, "it cannot be read to its end");
    }
    m_At += number;
    return bytes;
  }

  Element
  ReadElement(bool isExplicit, bool isBigEndian)
  {
    static const std::set<std::string> shortOnes{ "AE", "AS", "AT", "CS", "DA", "DS", "DT", "FD", "FL", "IS", "LO",
                                                  "LT", "PN", "SH", "SL", "SS", "ST", "TM", "UI", "UL", "US" };
    static const std::set<std::string> longOnes{ "OB", "OD", "OF", "OL", "OV", "OW", "SQ",
                                                 "SV", "UC", "UN", "UR", "UT", "UV" };
    constexpr std::uint64_t            marked = 0xFFFFFFFF;
    const std::string                  head = this->Read(8);
    Element                            element;
    const std::uint64_t                group = ToNumber(head.substr(0, 2), isBigEndian);
    element.tag = static_cast<std::uint32_t>(group << 16U | ToNumber(head.substr(2, 2), isBigEndian));
    element.length = ToNumber(head.substr(4, 4), isBigEndian);
    if (isExplicit && group != Item >> 16U)
    {
      element.kind = head.substr(4, 2);
      if (shortOnes.count(element.kind) == 0 && longOnes.count(element.kind) == 0)
      {
        RefuseDamage(m_File, "an element of its header is of a kind that DICOM does not have");
      }
      const bool isShort = shortOnes.count(element.kind) > 0;
      element.length = ToNumber(isShort ? head.substr(6, 2) : this->Read(4), isBigEndian);
    }
    element.isMarked = element.length == marked;
    this->RequireKind(element);
    if (!element.isMarked && element.length > this->GetEnd() - m_At)
    {
      RefuseDamage(m_File,
                   element.tag == PixelData ? "it ends before its pixels do"
                                            : "an element of its header is longer than what holds it");
    }
    return element;
  }

  /** GDCM asserts the kinds of the values that it looks for, and takes some lengths for others, of programs that wrote
   * wrong ones. */
  void
  RequireKind(const Element & element) const
  {
    static const std::map<std::uint32_t, std::string> kinds{
      { TransferSyntax, "UI" },  { SOPClass, "UI" },       { SOPInstance, "UI" },
      { 0x00080060, "CS" },      { SliceThickness, "DS" }, { SliceSpacing, "DS" },
      { ImagerSpacing, "DS" },   { 0x0020000d, "UI" },     { 0x0020000e, "UI" },
      { Position, "DS" },        { Orientation, "DS" },    { 0x00200052, "UI" },
      { SamplesPerPixel, "US" }, { Photometric, "CS" },    { PlanarConfiguration, "US" },
      { NumberOfFrames, "IS" },  { Rows, "US" },           { Columns, "US" },
      { Spacing, "DS" },         { 0x00280034, "IS" },     { BitsAllocated, "US" },
      { BitsStored, "US" },      { HighBit, "US" },        { PixelRepresentation, "US" },
      { 0x00281050, "DS" },      { 0x00281051, "DS" },     { Intercept, "DS" },
      { Slope, "DS" },           { 0x3004000e, "DS" }
    };
    const auto found = kinds.find(element.tag);
    const bool isPixels = element.tag == PixelData && element.kind != "OB" && element.kind != "OW";
    if (!element.kind.empty() && element.kind != "UN" &&
        (isPixels || (found != kinds.end() && found->second != element.kind)))
    {
      RefuseDamage(m_File, "an element of its header is of another kind than DICOM gives it");
    }
    constexpr std::uint32_t digitex = 0x00ff4aa5;
    constexpr std::uint32_t siemens = 0x0009;
    if (element.tag == digitex || (element.tag >> 16U == siemens && element.kind == "UL" && element.length == 6) ||
        (element.kind.empty() && element.length == 13 && element.tag >> 16U != Item >> 16U))
    {
      RefuseDamage(m_File, "an element of its header has a length that it cannot have");
    }
  }

  /** It is always explicit and little endian. */
  void
  WalkFirstGroup()
  {
    constexpr std::uint64_t behindPreamble = 132;
    m_At = behindPreamble;
    for (bool isInside = true; isInside;)
    {
      isInside = ToNumber(this->Read(2), false) == 2;
      m_At -= 2;
      if (isInside)
      {
        const Element element = this->ReadElement(true, false);
        this->RequireOnce(element);
        if (element.isMarked || element.kind == "SQ")
        {
          RefuseDamage(m_File, "its first group has a sequence");
        }
        this->Keep(element);
      }
    }
  }

  /** Of two values GDCM takes the one that comes first. */
  void
  RequireOnce(const Element & element)
  {
    if (!m_Seen.insert(element.tag).second)
    {
      RefuseDamage(m_File, "an element of its header is there twice");
    }
  }

  void
  Keep(const Element & element)
  {
    constexpr std::uint64_t longest = 1024;
    if (element.length <= longest)
    {
      m_Values[element.tag] = this->Read(element.length);
      return;
    }
    m_At += element.length;
  }

  /** Some programs fill the last block of a file with zeros. */
  bool
  IsAtEnd()
  {
    if (!m_Levels.empty() || m_At < m_Size)
    {
      constexpr std::uint64_t block = 1 << 16;
      if (!m_Levels.empty() || !m_HasPixels || m_Size - m_At > block)
      {
        return false;
      }
      const std::uint64_t at = m_At;
      const std::string   rest = this->Read(m_Size - at);
      m_At = at;
      return rest.find_first_not_of('\0') == std::string::npos;
    }
    return true;
  }

  /** To the next element, into an item or a sequence, or out of it. */
  void
  Step()
  {
    if (!m_Levels.empty() && !m_Levels.back().isMarked && m_At == m_Levels.back().end)
    {
      m_Levels.pop_back();
      return;
    }
    if (!m_Levels.empty() && m_Levels.back().isSequence)
    {
      this->StepIntoItem(this->ReadElement(false, m_Syntax.isBigEndian));
      return;
    }
    const bool    isExplicit = m_Levels.empty() ? m_Syntax.isExplicit : m_Levels.back().isExplicit;
    const Element element = this->ReadElement(isExplicit, m_Syntax.isBigEndian);
    if (m_Levels.empty())
    {
      this->RequireOnce(element);
    }
    if (element.tag >> 16U == Item >> 16U)
    {
      if (element.tag != ItemEnd || m_Levels.empty() || !m_Levels.back().isMarked)
      {
        RefuseDamage(m_File, "its header has an item outside a sequence");
      }
      m_Levels.pop_back();
      return;
    }
    if (element.tag == PixelData)
    {
      this->StepOverPixels(element);
      return;
    }
    if (element.isMarked || element.kind == "SQ")
    {
      if (element.isMarked && !element.kind.empty() && element.kind != "SQ" && element.kind != "UN")
      {
        RefuseDamage(m_File, "an element of its header has no length");
      }
      // What is unknown is written without kinds (PS3.5 6.2.2).
      this->Enter(element, true, isExplicit && element.kind != "UN");
      return;
    }
    if (m_Levels.empty())
    {
      this->Keep(element);
      return;
    }
    m_At += element.length;
  }

  void
  StepIntoItem(const Element & element)
  {
    if (element.tag == SequenceEnd && m_Levels.back().isMarked)
    {
      m_Levels.pop_back();
      return;
    }
    if (element.tag != Item)
    {
      RefuseDamage(m_File, "a sequence of its header holds what is no item");
    }
    this->Enter(element, false, m_Levels.back().isExplicit);
  }

  void
  Enter(const Element & element, bool isSequence, bool isExplicit)
  {
    constexpr std::size_t deepest = 32;
    if (m_Levels.size() >= 2 * deepest)
    {
      RefuseDamage(m_File, "its header has more than " + std::to_string(deepest) + " sequences within each other");
    }
    m_Levels.push_back(
      { element.isMarked ? this->GetEnd() : m_At + element.length, element.isMarked, isSequence, isExplicit });
  }

  /** Those of a preview within a sequence as well. */
  void
  StepOverPixels(const Element & element)
  {
    if (m_Levels.empty())
    {
      if (element.isMarked != m_Syntax.isCompressed)
      {
        RefuseDamage(m_File,
                     m_Syntax.isCompressed ? "its pixels are not compressed as its transfer syntax says"
                                           : "its pixels have no length");
      }
      m_HasPixels = true;
      m_PixelBytes = element.length;
    }
    m_At += element.isMarked ? 0 : element.length;
    // The first piece tells where frames begin.
    std::size_t pieces = 0;
    for (bool isInside = element.isMarked; isInside;)
    {
      if (this->GetEnd() - m_At < 8)
      {
        RefuseDamage(m_File, "it ends before its pixels do");
      }
      Element piece = this->ReadElement(false, m_Syntax.isBigEndian);
      isInside = piece.tag == Item;
      if (piece.isMarked || (!isInside && piece.tag != SequenceEnd))
      {
        RefuseDamage(m_File, "its compressed pixels have no end");
      }
      if (m_Levels.empty() && pieces == 1)
      {
        m_Codestream = m_At;
        m_CodestreamBytes = piece.length;
      }
      m_At += piece.length;
      pieces += isInside ? 1 : 0;
    }
    if (element.isMarked && pieces < 2)
    {
      RefuseDamage(m_File, "it has no pixels");
    }
  }

  std::string                          m_File;
  std::ifstream                        m_Stream;
  std::uint64_t                        m_Size{ 0 };
  std::uint64_t                        m_At{ 0 };
  Syntax                               m_Syntax;
  std::vector<Level>                   m_Levels;
  std::set<std::uint32_t>              m_Seen;   ///< of the image itself
  std::map<std::uint32_t, std::string> m_Values; ///< likewise
  bool                                 m_HasPixels{ false };
  std::uint64_t                        m_PixelBytes{ 0 };
  std::uint64_t                        m_Codestream{ 0 };
  std::uint64_t                        m_CodestreamBytes{ 0 };
};

} // namespace gigapixel::dicom

#endif

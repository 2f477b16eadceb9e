/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDicomHeader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <locale>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace gigapixel
{
namespace
{

/** \name Tags, PS3.6. @{ */
constexpr std::uint32_t TransferSyntax = 0x00020010;
constexpr std::uint32_t RecognitionCode = 0x00080010; ///< of ACR-NEMA, DICOM's forerunner
constexpr std::uint32_t SOPClass = 0x00080016;
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

[[noreturn]] void
RefuseDamage(const std::string & file, const std::string & reason)
{
  throw std::runtime_error(file + " is cut short or damaged: " + reason + "; get it again from where it came");
}

[[noreturn]] void
Refuse(const std::string & file, const std::string & reason)
{
  throw std::runtime_error(file + ": " + reason);
}

/** How the elements behind the first group are written. */
struct Syntax
{
  bool isExplicit{ true };
  bool isBigEndian{ false };
  bool isCompressed{ false }; ///< of pixels
};

Syntax
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
         name == standard + ".1.99" ? "its elements are deflated, which is not read: convert it to an uncompressed "
                                      "transfer syntax"
                                    : "its DICOM transfer syntax is none that is read: convert it to an uncompressed "
                                      "one, or get it again from where it came");
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
      { TransferSyntax, "UI" },  { SOPClass, "UI" },    { 0x00080018, "UI" },
      { 0x00080060, "CS" },      { 0x00180050, "DS" },  { 0x00180088, "DS" },
      { 0x00181164, "DS" },      { 0x0020000d, "UI" },  { 0x0020000e, "UI" },
      { Position, "DS" },        { Orientation, "DS" }, { 0x00200052, "UI" },
      { SamplesPerPixel, "US" }, { Photometric, "CS" }, { PlanarConfiguration, "US" },
      { NumberOfFrames, "IS" },  { Rows, "US" },        { Columns, "US" },
      { Spacing, "DS" },         { 0x00280034, "IS" },  { BitsAllocated, "US" },
      { BitsStored, "US" },      { HighBit, "US" },     { PixelRepresentation, "US" },
      { 0x00281050, "DS" },      { 0x00281051, "DS" },  { Intercept, "DS" },
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

/** What other than a slice ends in assertions. */
void
CheckClass(const std::string & file, const DicomWalk & walk)
{
  if (walk.Has(RecognitionCode) && walk.GetText(RecognitionCode).rfind("ACR-NEMA", 0) != 0)
  {
    RefuseDamage(file, "its recognition code is not that of ACR-NEMA");
  }
  if (walk.GetText(Photometric) == "PALETTE COLOR") // whose tables are asserted
  {
    Refuse(file, "its pixels are numbers of a palette's colors, which are not read: convert them to gray or to RGB");
  }
  if (walk.GetText(SOPClass) == "1.2.840.10008.5.1.4.1.1.481.2")
  {
    Refuse(file, "it is a radiation dose and no slice of a series: convert it to NIfTI, or move it to another folder");
  }
}

/** Samples that no image has end in assertions. */
void
CheckSamples(const std::string & file, const DicomWalk & walk)
{
  static const std::set<unsigned> bits{ 1, 8, 12, 16, 32 };
  const unsigned                  samples = walk.GetNumber(SamplesPerPixel, "samples per pixel");
  const unsigned                  allocated = walk.GetNumber(BitsAllocated, "bits of a sample");
  const unsigned                  stored = walk.GetNumber(BitsStored, "stored bits of a sample");
  const unsigned                  high = walk.GetNumber(HighBit, "highest bit of a sample");
  const unsigned                  sign = walk.GetNumber(PixelRepresentation, "sign of samples");
  if ((samples != 1 && samples != 3 && samples != 4) || bits.count(allocated) == 0 || stored < 1 ||
      stored > allocated || (allocated == 32 && stored != 32) || high + 1 != stored || sign > 1 ||
      (samples > 1 && walk.Has(PlanarConfiguration) && walk.GetNumber(PlanarConfiguration, "order of samples") > 1))
  {
    Refuse(file,
           "its header says that a pixel has " + std::to_string(samples) + " samples of " + std::to_string(allocated) +
             " bits, " + std::to_string(stored) + " of them in use up to bit " + std::to_string(high) +
             ", which is no image that is read: convert it to NIfTI, or get it again from where it came");
  }
  const auto frames = walk.GetDecimals(NumberOfFrames, "number of frames");
  if (!frames.empty() && frames[0] != 1)
  {
    std::ostringstream number;
    number.imbue(std::locale::classic());
    number << frames[0];
    Refuse(file, "it has " + number.str() + " slices in one file, and a series has one in each; convert it to NIfTI");
  }
  const std::uint64_t pixels =
    static_cast<std::uint64_t>(walk.GetNumber(Rows, "rows")) * walk.GetNumber(Columns, "columns");
  const std::uint64_t expected = (pixels * samples * allocated + 7) / 8;
  const bool          hasSharedColors = walk.GetText(Photometric).find("422") != std::string::npos; // of two pixels
  if (!walk.GetSyntaxOfPixels().isCompressed && !hasSharedColors && walk.GetPixelBytes() < expected)
  {
    RefuseDamage(
      file, "it has " + std::to_string(walk.GetPixelBytes()) + " of " + std::to_string(expected) + " bytes of pixels");
  }
}

/** Runs of equal bytes (PS3.5 G), of each byte of a sample in a part of its own, whose beginnings come first. */
void
CheckRuns(const std::string & file, DicomWalk & walk)
{
  constexpr std::size_t headBytes = 64;
  const std::string     head = walk.ReadCodestream(headBytes);
  const auto            get = [&head](std::size_t i) { return DicomWalk::ToNumber(head.substr(4 * i, 4), false); };
  const std::uint64_t   parts = static_cast<std::uint64_t>(walk.GetNumber(SamplesPerPixel, "samples per pixel")) *
                              walk.GetNumber(BitsAllocated, "bits of a sample") / 8;
  bool isWhole = head.size() == headBytes && parts < headBytes / 4 && get(0) == parts && get(1) == headBytes;
  for (std::size_t i = 2; isWhole && i <= parts; ++i)
  {
    isWhole = get(i) > get(i - 1) && get(i) < walk.GetCodestreamBytes();
  }
  if (!isWhole)
  {
    RefuseDamage(file, "its run-length encoded pixels do not begin as such pixels do");
  }
}

/** The header of a frame of JPEG (ISO/IEC 10918-1, B.2.2) or JPEG-LS, of which GDCM asserts that it is DICOM's. */
void
CheckJPEG(const std::string & file, DicomWalk & walk)
{
  constexpr std::uint64_t     longest = 1 << 20; // profiles and comments come before
  const std::string           bytes = walk.ReadCodestream(longest);
  static const std::set<char> frames{ '\xC0', '\xC1', '\xC2', '\xC3', '\xC5', '\xC6', '\xC7',
                                      '\xC9', '\xCA', '\xCB', '\xCD', '\xCE', '\xCF', '\xF7' };
  const auto                  get = [&bytes](std::size_t at, std::size_t number) {
    return DicomWalk::ToNumber(bytes.substr(at, number), true);
  };
  constexpr std::size_t headBytes = 10;
  std::size_t           at = bytes.rfind("\xFF\xD8", 0) == 0 ? 2 : bytes.size();
  while (at + headBytes <= bytes.size() && bytes[at] == '\xFF' && frames.count(bytes[at + 1]) == 0)
  {
    at += bytes[at + 1] == '\xFF' ? 1 : 2 + get(at + 2, 2);
  }
  const bool isFrame = at + headBytes <= bytes.size() && bytes[at] == '\xFF';
  if (!isFrame || get(at + 4, 1) > walk.GetNumber(BitsAllocated, "bits of a sample") ||
      get(at + 5, 2) != walk.GetNumber(Rows, "rows") || get(at + 7, 2) != walk.GetNumber(Columns, "columns") ||
      get(at + 9, 1) != walk.GetNumber(SamplesPerPixel, "samples per pixel"))
  {
    RefuseDamage(file, "its JPEG is of another size or kind than its header says");
  }
}

/** The size of a JPEG 2000 image (ISO/IEC 15444-1, A.5.1), with or without boxes around its codestream: where it is
 * smaller than DICOM's, GDCM leaves the rest as it was in memory. */
void
CheckJPEG2000(const std::string & file, DicomWalk & walk)
{
  constexpr std::uint64_t longest = 1 << 16;
  constexpr std::size_t   headBytes = 42, componentBytes = 3;
  const std::string       bytes = walk.ReadCodestream(longest);
  const std::size_t       begin = bytes.find("\xFF\x4F\xFF\x51");
  const auto              get = [&](std::size_t at, std::size_t number) {
    return DicomWalk::ToNumber(bytes.substr(begin + at, number), true);
  };
  const std::uint64_t samples = walk.GetNumber(SamplesPerPixel, "samples per pixel");
  bool isSame = begin != std::string::npos && bytes.size() - begin >= headBytes + componentBytes * samples &&
                get(8, 4) - get(16, 4) == walk.GetNumber(Columns, "columns") &&
                get(12, 4) - get(20, 4) == walk.GetNumber(Rows, "rows") && get(40, 2) == samples;
  for (std::size_t i = 0; isSame && i < samples; ++i)
  {
    const std::size_t component = headBytes + componentBytes * i;
    isSame = (get(component, 1) & 0x7FU) + 1 <= walk.GetNumber(BitsAllocated, "bits of a sample") &&
             get(component + 1, 2) == 0x0101; // as many samples as pixels, along both axes
  }
  if (!isSame)
  {
    RefuseDamage(file, "its JPEG 2000 is of another size or kind than its header says");
  }
}

/** GDCM takes 1 mm for a spacing that it cannot use, and the unit matrix for such a direction. */
void
CheckPlace(const std::string & file, const DicomWalk & walk)
{
  const auto spacing = walk.GetDecimals(Spacing, "pixel spacing");
  if (!spacing.empty() && !(spacing.size() == 2 && spacing[0] > 0 && spacing[1] > 0))
  {
    Refuse(file, "its pixel spacing (0028,0030) is not two lengths above 0: mend the header");
  }
  const auto position = walk.GetDecimals(Position, "position");
  if (!position.empty() && position.size() != 3)
  {
    Refuse(file, "its position (0020,0032) has " + std::to_string(position.size()) + " of 3 numbers: mend the header");
  }
  const auto direction = walk.GetDecimals(Orientation, "orientation");
  if (direction.empty())
  {
    return;
  }
  constexpr double rounding = 1e-3; // that GDCM allows
  const auto       dot = [&direction](std::size_t a, std::size_t b) {
    return direction[a] * direction[b] + direction[a + 1] * direction[b + 1] + direction[a + 2] * direction[b + 2];
  };
  const bool   isWhole = direction.size() == 6;
  const double lengths = isWhole ? std::sqrt(dot(0, 0)) * std::sqrt(dot(3, 3)) : 0;
  if (!(lengths > 0 && std::isfinite(lengths) && std::abs(dot(0, 3)) < rounding * lengths))
  {
    Refuse(file,
           "its orientation (0020,0037) is not two directions that are perpendicular to each other: mend the header");
  }
}

/** GDCM takes a slope of 1 for one of 0. */
void
CheckScale(const std::string & file, const DicomWalk & walk)
{
  const auto slope = walk.GetDecimals(Slope, "rescale slope");
  const auto intercept = walk.GetDecimals(Intercept, "rescale intercept");
  if (slope.size() > 1 || intercept.size() > 1 || (!slope.empty() && slope[0] == 0))
  {
    Refuse(file,
           "its rescale slope (0028,1053) and intercept (0028,1052) are not two numbers, the first of them other than "
           "0: mend the header");
  }
}

} // namespace

bool
CheckDicomFile(const std::string & file)
{
  DicomWalk walk(file);
  if (!walk.HasPixels())
  {
    RefuseDamage(file, "it has no pixels, or is no slice, which would belong into another folder");
  }
  CheckClass(file, walk);
  CheckSamples(file, walk);
  const std::string syntax = walk.GetText(TransferSyntax);
  const std::string jpeg = "1.2.840.10008.1.2.4."; // followed by 50 to 70, 80 and 81
  if (syntax == "1.2.840.10008.1.2.5")
  {
    CheckRuns(file, walk);
  }
  else if (syntax.size() == jpeg.size() + 2 && syntax.rfind(jpeg, 0) == 0 && syntax[jpeg.size()] < '9')
  {
    CheckJPEG(file, walk);
  }
  else if (syntax == jpeg + "90" || syntax == jpeg + "91")
  {
    CheckJPEG2000(file, walk);
  }
  CheckPlace(file, walk);
  CheckScale(file, walk);
  return !walk.GetText(Position).empty();
}

} // namespace gigapixel

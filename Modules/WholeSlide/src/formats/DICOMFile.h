/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DICOMFile_h
#define DICOMFile_h

#include "DICOMValue.h"
#include "tiff/TIFFDirectory.h"

#include "gigapixelDiagnostic.h"

#include <cstdint>
#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace gigapixel
{

/** "JPEG Baseline (Process 1)" of a transfer syntax that the standard names, else "unknown transfer syntax" and its
 * number. */
std::string NameTransferSyntax(const std::string & identifier);

/** What a DICOM file of a whole-slide image says, and where its frames are (PS3.3 A.32.8, PS3.5 7 and A.4).
 *
 * Its own reader, and not a DICOM library: those load a file's elements, of which there may be one group per tile, and
 * its pixels; here frames are found by walking their positions, and read when they are wanted. */
class DICOMFile
{
public:
  /** A file that is sound, but of another kind of image. */
  class NoWholeSlide : public Refusal
  {
  public:
    using Refusal::Refusal;
  };

  /** Throws NoWholeSlide, std::system_error, and std::runtime_error where the file is damaged or of a kind that is not
   * read. A Refusal does not name the file. */
  explicit DICOMFile(const std::string & path);

  /** Whether the file is a DICOM file, by its first bytes; with \a slide, whether it says that it is a whole-slide
   * image. Never throws. */
  static bool IsDICOM(const std::string & path, bool slide);

  /** Whether the name ends in .dcm. Hidden files are others' notes. */
  static bool IsNamedAsDICOM(const std::string & path);

  /** Why a file of which a DICOM file is expected is none, by its first bytes and in a few words: it is empty, cannot
   * be read, or holds something else; empty where it is one. Sets `error` where the system refuses the file. */
  static std::string FindWhyNot(const std::string & path, std::error_code & error);

  /** Bytes from `begin` to `end` of the file: the pixels of a frame, or the items that hold them. */
  struct Frame
  {
    std::uint64_t begin;
    std::uint64_t end;
  };

  const std::string &
  GetPath() const
  {
    return m_Path;
  }

  /** Compressed bytes, or pixels as they are stored. */
  std::vector<unsigned char> ReadFrame(const Frame & frame) const;

  /** Asks the system to have the frame at hand soon. */
  void
  Prefetch(const Frame & frame) const
  {
    m_File.Prefetch(frame.begin, frame.end - frame.begin);
  }

  /** \name Values of a tag (DICOMTag) of the file, or the first that is found in its shared sequences, read as their
   * value representation has them (PS3.5 6.2). Throw std::runtime_error where they are not what they claim. @{ */
  /** Without padding; several values are separated by backslashes. Empty where there is none. */
  std::string GetText(std::uint32_t tag) const;

  /** As it is stored. */
  std::string GetBytes(std::uint32_t tag) const;

  /** Numbers, be they stored so or as text; none where the value is empty or absent. */
  std::vector<double> GetNumbers(std::uint32_t tag) const;

  /** The first number, which is whole and not negative; \a otherwise where there is none. */
  std::uint64_t GetInteger(std::uint32_t tag, std::uint64_t otherwise) const;
  /** @} */

  /** Offset of the focal plane in the slide coordinate system; 0 where none is stated. */
  double GetZ() const;

  /** "level", or the name of an associated image; empty for an image that is neither. It follows from the third value
   * of the image type (PS3.3 C.8.12.4.1.1); the overview is what other formats call the macro image. */
  std::string GetFlavor() const;

  const std::vector<Frame> &
  GetFrames() const
  {
    return m_Frames;
  }

  /** Where a frame belongs. */
  struct Place
  {
    std::uint64_t column; // of its first pixel, from 0
    std::uint64_t row;
    double        z;    // offset of its focal plane in the slide coordinate system; 0 where none is stated
    std::uint32_t path; // its optical path among GetOpticalPaths()
  };

  /** The places of the frames; empty where the frames are in order. */
  const std::vector<Place> &
  GetPlaces() const
  {
    return m_Places;
  }

  struct OpticalPath
  {
    std::string identifier;
    std::string description;
  };

  /** The optical paths of the file; never empty. */
  const std::vector<OpticalPath> &
  GetOpticalPaths() const
  {
    return m_OpticalPaths;
  }

private:
  struct Element
  {
    std::uint32_t tag;
    std::string   representation; // VR; empty for tags that are not read here, where the file does not state it
    bool          isImplied;      // it is the standard's
    bool          isUnending;
    std::uint64_t length;
  };

  struct Value
  {
    DICOMValue value;
    unsigned   depth; // 0: of the file itself
  };

  std::uint64_t ReadNumber(unsigned size);
  Element       ReadElement(bool isExplicit);
  void          ReadElements(std::uint64_t end, unsigned depth);
  void          ReadSequence(const Element & sequence, unsigned depth);
  void          ReadMetaGroup();
  void          FindFrames(const Element & pixels);
  void          FindItems(std::uint64_t first);
  void          JoinFragments(std::uint64_t count);
  void          SkipItems();
  void          KeepValue(const Element & element, unsigned depth);
  void          KeepOpticalPath();
  void          KeepPlace();
  void          RefuseManyPaths() const;
  std::uint32_t FindOpticalPath(const std::string & identifier);
  const Value * Find(std::uint32_t tag) const;

  std::string                    m_Path;
  RandomAccessFile               m_File;
  std::uint64_t                  m_At{ 0 };
  bool                           m_Explicit{ true };
  bool                           m_Encapsulated{ false };
  bool                           m_InFrame{ false }; // inside the groups of single frames
  bool                           m_FoundPixels{ false };
  std::map<std::uint32_t, Value> m_Values;
  std::vector<Frame>             m_Frames;
  std::vector<Place>             m_Places;
  std::vector<OpticalPath>       m_OpticalPaths;
};

} // namespace gigapixel

#endif

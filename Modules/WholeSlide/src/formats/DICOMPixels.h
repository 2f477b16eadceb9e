/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DICOMPixels_h
#define DICOMPixels_h

#include "DICOMFile.h"
#include "slide/Slide.h"

#include <string>

namespace gigapixel
{

/** How the frames of a DICOM image store their pixels. */
struct DICOMPixels
{
  enum class Codec
  {
    None,
    JPEG,
    JPEG2000,
    HTJ2K
  };

  /** What the header of a file says. Throws std::runtime_error where a value is damaged. */
  explicit DICOMPixels(const DICOMFile & file);

  /** Why this reader does not decode them; empty where it does. */
  Diagnostic FindObstacle() const;

  /** Whether frames of both can be in one image. */
  bool IsLike(const DICOMPixels & other) const;

  /** "JPEG", "uncompressed". */
  std::string GetCodecName() const;

  /** By how much \a frame and those like it can be decoded smaller: 1 (not), 2, 4 or 8. */
  unsigned GetLargestReduction(ByteSpan frame) const;

  /** Decodes a frame to gray or RGB of 8 bit, or to gray of 16 bit as it is stored. Min-is-white gray is inverted.
   * Throws std::exception in a few words. \return what is damaged, in a few words; empty: nothing */
  std::string Decode(ByteSpan frame, unsigned reduction, const PixelSpan & out) const;

  std::uint64_t columns; // of a frame
  std::uint64_t rows;
  std::uint64_t samples;
  std::uint64_t bits;
  std::uint64_t storedBits;
  bool          isSigned;
  bool          isPlanar; // all samples of a color, then those of the next
  std::string   photometric;
  std::string   syntax;
  Codec         codec{ Codec::None };
  bool          isKnownSyntax{ true };

private:
  ColorModel GetColorModel() const;
  void       CopyPixels(ByteSpan frame, const PixelSpan & out) const;
  void       ReadColor(ByteSpan frame, std::size_t x, std::size_t y, unsigned char * color) const;
};

} // namespace gigapixel

#endif

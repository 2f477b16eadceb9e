/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDicomHeader.h"
#include "gigapixelFormatCount.h"
#include "gigapixelDicomWalk.h"

#include <cmath>
#include <cstdint>
#include <locale>
#include <set>
#include <sstream>
#include <utility>

namespace gigapixel
{
namespace
{

using namespace dicom;

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
    Refuse(file, "its pixels are numbers of a palette's colors, which are not read", "convert them to gray or to RGB");
  }
  if (walk.GetText(SOPClass) == "1.2.840.10008.5.1.4.1.1.481.2")
  {
    Refuse(
      file, "it is a radiation dose and no slice of a series", "convert it to NIfTI, or move it to another folder");
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
           "its header says that a pixel has " + FormatCount(samples, "sample") + " of " +
             FormatCount(allocated, "bit") + ", " + std::to_string(stored) + " of them in use up to bit " +
             std::to_string(high) + ", which is no image that is read",
           "convert it to NIfTI");
  }
  const auto frames = walk.GetDecimals(NumberOfFrames, "number of frames");
  if (!frames.empty() && frames[0] != 1)
  {
    std::ostringstream number;
    number.imbue(std::locale::classic());
    number << frames[0];
    Refuse(file, "it has " + number.str() + " slices in one file, and a series has one in each", "convert it to NIfTI");
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

/** Checks what GDCM replaces: it takes 1 mm for a spacing that it cannot use, and the unit matrix for such a direction.
 */
DicomPlace
ReadPlace(const std::string & file, const DicomWalk & walk)
{
  DicomPlace place;
  place.instance = walk.GetText(SOPInstance);
  place.spacing = walk.GetDecimals(Spacing, "pixel spacing");
  place.spacing = place.spacing.empty() ? walk.GetDecimals(ImagerSpacing, "imager pixel spacing") : place.spacing;
  const auto & spacing = place.spacing;
  if (!spacing.empty() && !(spacing.size() == 2 && spacing[0] > 0 && spacing[1] > 0))
  {
    Refuse(file, "its pixel spacing (0028,0030) is not two lengths above 0", "mend the header");
  }
  place.position = walk.GetDecimals(Position, "position");
  if (!place.position.empty() && place.position.size() != 3)
  {
    Refuse(file,
           "its position (0020,0032) has " + std::to_string(place.position.size()) + " of 3 numbers",
           "mend the header");
  }
  for (const auto & [tag, name] : { std::pair(SliceSpacing, "spacing of slices"), { SliceThickness, "thickness" } })
  {
    const auto lengths = walk.GetDecimals(tag, name);
    if (place.step.empty() && lengths.size() == 1 && lengths[0] != 0) // its sign says in which order slices are
    {
      place.step = { std::abs(lengths[0]) };
    }
  }
  place.orientation = walk.GetDecimals(Orientation, "orientation");
  const auto & direction = place.orientation;
  if (direction.empty())
  {
    return place;
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
           "its orientation (0020,0037) is not two directions that are perpendicular to each other",
           "mend the header");
  }
  return place;
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
           "0",
           "mend the header");
  }
}

} // namespace

DicomPlace
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
  CheckScale(file, walk);
  return ReadPlace(file, walk);
}

} // namespace gigapixel

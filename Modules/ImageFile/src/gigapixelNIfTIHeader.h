/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNIfTIHeader_h
#define gigapixelNIfTIHeader_h

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace gigapixel
{

/** What the header of a NIfTI-1 or Analyze 7.5 file says, https://nifti.nimh.nih.gov/nifti-1. */
struct NIfTIHeader
{
  std::int16_t          dimensions{ 0 };
  std::int16_t          columns{ 0 };
  std::int16_t          type{ 0 };
  std::int16_t          intent{ 0 };  ///< what the values of a voxel are
  std::array<float, 3>  spacing{};    ///< 0 where there is no such axis
  std::array<float, 6>  quaternion{}; ///< b, c and d of the turn, and the origin; zeros where they do not count
  std::array<float, 12> affine{};     ///< rows of the matrix to mm; zeros where it does not count
  float                 slope{ 0 };
  float                 intercept{ 0 };
  bool                  isNIfTI{ false };   ///< else Analyze's, which has no intent, place, slope and intercept
  bool                  hasPixels{ false }; ///< behind it, in the same file
  std::uintmax_t        pixelBytes{ 0 };    ///< of all samples
  std::uintmax_t        offset{ 0 };        ///< of the first sample in its file

  /** Whether ITK's reader multiplies samples, or adds to them, which it does with a slope of 0 as with one of 1; what
   * is no finite number is 0. */
  bool IsScaled() const;
};

/** What ITK's reader says on the standard error, or is not safe with: voxels of several values that are to be scaled
 * are written beyond its own memory, and a place of 1e38 mm ends in an endless loop.
 * \throw std::runtime_error one sentence that names the file */
void CheckNIfTIHeader(const std::string & file, const NIfTIHeader & header);

/** Of a header and pixels in two files both, whichever one is named. */
struct NIfTIFiles
{
  std::string                header;
  std::string                pixels; ///< empty: there are none
  std::optional<NIfTIHeader> said;   ///< nothing: it is no such file
};

/** Where niftilib finds them: beside x.hdr x.img or x.img.gz, beside x.img x.hdr or, in one file, x.nii.
 * \throw std::runtime_error it is of NIfTI-2 */
NIfTIFiles FindNIfTIFiles(const std::string & file);

} // namespace gigapixel

#endif

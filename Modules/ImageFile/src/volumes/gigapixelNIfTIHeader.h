/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNIfTIHeader_h
#define gigapixelNIfTIHeader_h

#include "gigapixelVolumeGrid.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace gigapixel
{

/** What the header of a NIfTI-1 or Analyze 7.5 file says, https://nifti.nimh.nih.gov/nifti-1. */
struct NIfTIHeader
{
  std::int16_t                dimensions{ 0 };
  std::int16_t                columns{ 0 };
  std::array<std::int64_t, 7> sizes{ { 1, 1, 1, 1, 1, 1, 1 } }; ///< 1 behind the last axis
  std::int16_t                type{ 0 };
  NIfTIForms                  forms; ///< zeros for Analyze
  float                       slope{ 0 };
  float                       intercept{ 0 };
  std::string                 auxiliary;          ///< aux_file, a short text
  bool                        isNIfTI{ false };   ///< else Analyze's, which has no place, slope and intercept
  bool                        isSwapped{ false }; ///< the machine that wrote it has the other order of bytes
  bool                        hasPixels{ false }; ///< behind it, in the same file
  std::uintmax_t              pixelBytes{ 0 };    ///< of all samples
  std::uintmax_t              offset{ 0 };        ///< of the first sample in its file

  /** Whether samples are multiplied by the slope and added to. A slope of 0, or one that is no finite number, stands
   * for none, and then the intercept does not count either. */
  bool IsScaled() const;
};

/** Headers that no file has: sizes, types and lengths that cannot be.
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

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPixelFiles_h
#define gigapixelPixelFiles_h

#include "GigapixelSystemExport.h"

#include "gigapixelDiagnostic.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** The header of a MetaImage or an NRRD, which may say that its pixels are in other files. */
struct PixelHeader
{
  bool                               isMetaImage{ false }; ///< a MetaImage, else an NRRD
  std::map<std::string, std::string> fields;     ///< of NRRD in small letters, since it makes no difference there
  std::uintmax_t                     bytes{ 0 }; ///< after which its own pixels begin, where it has any
  /** Where its pixels are, in its own folder or deeper, also where nothing is; empty: in the file itself. Of names with
   * a pattern ("plane%03d.raw 1 9 1"), those that are there, whatever their numbers, or, where none is, the pattern. */
  std::vector<std::filesystem::path> files;
  /** Why NrrdIO or MetaIO must not be given the file; empty: nothing is known. It may name files outside of its folder,
   * which whoever names the header has not named. They copy texts, numbers and names of the header into memory of a
   * fixed length, and count as far as it says. */
  Diagnostic trouble;
};

/** Reads the header of a MetaImage ("KEY = VALUE" or "KEY: VALUE" up to ElementDataFile; by its ending, .mha or .mhd,
 * as MetaIO does) or of an NRRD ("KEY: VALUE" up to an empty line; by its first letters). Nothing for other files. */
GigapixelSystem_EXPORT std::optional<PixelHeader> ReadPixelHeader(const std::filesystem::path & file);

} // namespace gigapixel

#endif

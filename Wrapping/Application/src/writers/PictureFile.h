/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PictureFile_h
#define PictureFile_h

#include "GigapixelApplicationExport.h"

#include <string>
#include <vector>

namespace gigapixel
{
class AtomicFile;
}

namespace gigapixel::application
{

/** An RGB picture in memory, rows without gaps. */
struct Picture
{
  unsigned                   width{ 0 };
  unsigned                   height{ 0 };
  std::vector<unsigned char> pixels;
};

/** Writes a PNG, which appears when it is complete. \param madeBy is kept in the picture (tEXt "made-by"),
 * unless empty \param mayReplace see AtomicFile */
GigapixelApplication_EXPORT void WritePNG(const Picture &     picture,
                                          const std::string & file,
                                          const std::string & madeBy = {},
                                          bool                mayReplace = true);

/** The same into a file that the caller commits. */
GigapixelApplication_EXPORT void AppendPNG(const Picture &     picture,
                                           AtomicFile &        output,
                                           const std::string & madeBy = {});

/** Whether the picture stands there, made in this way (WritePNG).
 * \throw std::runtime_error the file exists, but is something else: see HasValidPyramid() */
GigapixelApplication_EXPORT bool HasValidPNG(const std::string & file, const std::string & madeBy);

/** How a picture says that it was made; empty: it does not, or is none. */
GigapixelApplication_EXPORT std::string FindMadeByOfPNG(const std::string & file);

} // namespace gigapixel::application

#endif

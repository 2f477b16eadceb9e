/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PictureFile_h
#define PictureFile_h

#include "GigapixelCommandLineExport.h"

#include <string>
#include <vector>

namespace gigapixel::commandline
{

/** An RGB picture in memory, rows without gaps. */
struct Picture
{
  unsigned                   width{ 0 };
  unsigned                   height{ 0 };
  std::vector<unsigned char> pixels;
};

/** Writes a PNG (ITK's), which appears when it is complete.
 * \throw UsageError if the name does not end in .png */
GigapixelCommandLine_EXPORT void WritePNG(const Picture & picture, const std::string & file);

/** \throw UsageError if the name does not end in .png */
GigapixelCommandLine_EXPORT void CheckPNGName(const std::string & file);

} // namespace gigapixel::commandline

#endif

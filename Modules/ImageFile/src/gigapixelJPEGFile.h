/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelJPEGFile_h
#define gigapixelJPEGFile_h

#include <string>

namespace gigapixel
{

/** Decodes a JPEG as ITK's reader does, but to no place. \return what libjpeg says of the error at which it stopped;
 * empty: there is none, or ITK's
 * libjpeg is not known */
std::string FindJPEGError(const std::string & file);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFileIdentity_h
#define gigapixelFileIdentity_h

#include "GigapixelSystemExport.h"

#include <string>

namespace gigapixel
{

/** Which bytes of a file tell it from another one. */
enum class HashedBytes
{
  Samples, ///< of a slide: it is large, and nobody edits it where it lies
  All      ///< of a mask, outlines or a picture: one pixel may have been edited
};

/** "bytes=SIZE hash=HASH": tells a slide (or a mask) from another one by what is in its file. The name, the way that
 * leads to it and the times of the file do not matter: it may be given relatively, through links, or have been copied.
 *
 * The hash is FNV-1a: of all bytes, at some two seconds per GB, or of 16 samples of 64 KiB, which are all of a file
 * below 1 MiB, in milliseconds. Files of pixels that the header of a MetaImage or NRRD names (ReadPixelHeader()) belong
 * to it, all bytes of each, and so does `description`, another file that says what it is, empty for none; what is not
 * there does not. Slides have theirs by IdentifySlide(). \throw std::runtime_error one of the files that are there
 * cannot be read */
GigapixelSystem_EXPORT std::string IdentifyFile(const std::string & fileName,
                                                HashedBytes         bytes,
                                                const std::string & description = {});

/** What IdentifyFile() says of a file with this content, all bytes of which are hashed. */
GigapixelSystem_EXPORT std::string IdentifyContent(const std::string & content);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFileIdentity_h
#define gigapixelFileIdentity_h

#include "GigapixelSystemExport.h"

#include <string>

namespace gigapixel
{

/** "bytes=SIZE hash=HASH": tells a slide (or a mask) from another one by what is in its file. The name, the way that
 * leads to it and the times of the file do not matter: it may be given relatively, through links, or have been copied.
 *
 * The hash (FNV-1a) is of 16 samples of 64 KiB, so of all of a file below 1 MiB, and takes about a millisecond. Of a
 * slide that consists of several files it is of the one that is named; a MIRAX slide's Slidedat.ini belongs to it,
 * since its .mrxs may hold a picture only, or nothing, and so do the files of pixels that the header of a MetaImage
 * (.mhd) or NRRD (.nhdr) names. \throw std::runtime_error the file cannot be read */
GigapixelSystem_EXPORT std::string IdentifyFile(const std::string & fileName);

} // namespace gigapixel

#endif

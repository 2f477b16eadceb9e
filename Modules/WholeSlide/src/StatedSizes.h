/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef StatedSizes_h
#define StatedSizes_h

#include <string>

namespace gigapixel
{

/** Throws std::runtime_error where a page of a TIFF states a tile of more than 2^28 pixels, or more pixels than its
 * file has room for by its codec; where MIRAX's Slidedat.ini states an image of more than 2^28 pixels, more than 2^25
 * images, or 2^16 files or levels; and where a VMS of Hamamatsu's states more than 2^16 files. To be asked before the
 * file is given to OpenSlide, which trusts what is stated: it takes gigabytes, or ends the program where it does not
 * get them. What cannot be read is no objection: OpenSlide, and libtiff below it, know more than we. */
void CheckStatedSizes(const std::string & path);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef StatedSizes_h
#define StatedSizes_h

#include <string>

namespace gigapixel
{

/** Throws std::runtime_error where a page of a TIFF states a tile of more than 2^28 pixels, or more pixels than its
 * file has room for by its codec, and as SlideFormat::checkStatedSizes does. To be asked before the file is given to
 * OpenSlide, which trusts what is stated: it takes gigabytes, or ends the program where it does not get them. What
 * cannot be read is no objection: OpenSlide, and libtiff below it, know more than we. */
void CheckStatedSizes(const std::string & path);

} // namespace gigapixel

#endif

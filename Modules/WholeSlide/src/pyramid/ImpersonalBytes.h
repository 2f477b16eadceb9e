/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ImpersonalBytes_h
#define ImpersonalBytes_h

#include "tiff/TIFFPixels.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gigapixel
{

/** \name Bytes of a slide without the parts that say nothing of pixels and may name a person. @{ */
/** A JPEG stream, or its tables, with the segments that say how pixels are coded only: without comments, application
 * segments, thumbnails, and bytes between segments or behind the end. JFIF's and Adobe's segments say how colors are
 * stored; what decoders read of them is kept. */
std::vector<std::uint8_t> RemoveJPEGTexts(const std::vector<std::uint8_t> & jpeg);

/** A WebP file with the chunks of its image only, without bytes behind its end. */
std::vector<std::uint8_t> RemoveWebPTexts(const std::vector<std::uint8_t> & webp);

/** A tile of any other codec without bytes behind the end of its stream, and without the frames of zstd that hold no
 * pixels. A damaged stream has no known end, and stays as it is: its reader reports the damage.
 * \param size of the tile, decoded */
std::vector<std::uint8_t> CutBehindEnd(TIFFCompression compression, std::vector<std::uint8_t> stream, std::size_t size);

/** An ICC profile with the tags that color transforms use. Description and copyright are neutral, the date is fixed and
 * maker, model and creator are empty. Nothing of bytes that are no profile. */
std::vector<std::uint8_t> RemoveProfileTexts(const std::vector<std::uint8_t> & profile);
/** @} */

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ImpersonalBytes_h
#define ImpersonalBytes_h

#include <cstdint>
#include <vector>

namespace gigapixel
{

/** \name Bytes of a slide without the parts that say nothing of pixels and may name a person. @{ */
/** A JPEG stream, or its tables, without comments, application segments, thumbnails and bytes behind its end. JFIF's
 * and Adobe's segments say how colors are stored, and are kept. A stream that is no proper JPEG stays as it is from
 * there on: its reader reports the damage. */
std::vector<std::uint8_t> RemoveJPEGTexts(const std::vector<std::uint8_t> & jpeg);

/** A WebP file with the chunks of its image only. */
std::vector<std::uint8_t> RemoveWebPTexts(const std::vector<std::uint8_t> & webp);

/** An ICC profile with the tags that color transforms use. Description and copyright are neutral, the date is fixed and
 * maker, model and creator are empty. Nothing of bytes that are no profile. */
std::vector<std::uint8_t> RemoveProfileTexts(const std::vector<std::uint8_t> & profile);
/** @} */

} // namespace gigapixel

#endif

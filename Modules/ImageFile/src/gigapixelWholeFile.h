/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWholeFile_h
#define gigapixelWholeFile_h

#include <string>

namespace gigapixel
{

/** Refuses files that ITK's readers take although they are cut short, filling up what is missing, or at which they end
 * the program: JPEG, whose library makes the rest gray; PNG with a damaged header; and what the formats of volumes
 * check (VolumeFormat::checkHeader, and checkPixels of those that fill up). Other formats' readers refuse by
 * themselves. \throw std::runtime_error one sentence that names the file */
void RequireWholeFile(const std::string & file);

/** The same, but that nothing is decompressed: what only asks for a volume's size need not wait for that.
 * \throw std::runtime_error one sentence that names the file */
void RequireWholeHeader(const std::string & file);

/** Refuses a volume that is compressed, as a whole or its pixels, and that does not decompress to its end, or
 * decompresses to other bytes than it was made of, as its checksum tells: readers that know how many bytes they want
 * look no further. All of it is decompressed. \throw std::runtime_error one sentence that names the file */
void RequireWholeCompression(const std::string & file);

/** What a reader of ITK's says of pixels that it cannot read, in words that tell what is wrong and what to do, where
 * they do not: of a PNG, and of an NRRD that is cut short. */
std::string DescribeFailedReading(const std::string & reason);

/** Whether ITK's reader reads parts of it rightly; else it is read as a whole. */
bool IsReadInParts(const std::string & file);

} // namespace gigapixel

#endif

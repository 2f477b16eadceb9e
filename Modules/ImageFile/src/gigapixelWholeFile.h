/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWholeFile_h
#define gigapixelWholeFile_h

#include <string>

namespace gigapixel
{

/** Refuses files that ITK's readers take although they are cut short, filling up what is missing: MetaImages, whose
 * reader prints a line of its own and goes on, and JPEG, whose library makes the rest gray or ITK's reader ends the
 * program at it; PNG with a damaged header, and NRRD and MetaImages at whose headers ITK's readers would end the
 * program (PixelHeader::trouble); and NIfTI whose header its library speaks of on the standard error, or that is
 * shorter than it says. Also those whose pixels are said to be in a file that is not there, or that would be waited
 * for, like a pipe. Other formats' readers refuse by themselves. \throw std::runtime_error one sentence that names the
 * file */
void RequireWholeFile(const std::string & file);

/** The same, but that no MetaImage is decompressed: what only asks for a volume's size need not wait for that.
 * \throw std::runtime_error one sentence that names the file */
void RequireWholeHeader(const std::string & file);

/** Refuses a file that is compressed as a whole (gzip, as .nii.gz is), or an NRRD or a MetaImage whose pixels are, and
 * that does not decompress to its end, or decompresses to other bytes than it was made of, as its checksum tells:
 * readers that know how many bytes they want look no further. All of it is decompressed. \throw std::runtime_error one
 * sentence that names the file */
void RequireWholeCompression(const std::string & file);

/** What a reader of ITK's says of pixels that it cannot read, in words that tell what is wrong and what to do, where
 * they do not: of a PNG, and of an NRRD that is cut short. */
std::string DescribeFailedReading(const std::string & reason);

/** Whether a MetaImage is to be read as a whole, since MetaIO reads parts of it wrongly: of compressed pixels it
 * complains though they are sound, and of pixels that are written as text it gives others. */
bool IsMetaImageWithoutParts(const std::string & file);

} // namespace gigapixel

#endif

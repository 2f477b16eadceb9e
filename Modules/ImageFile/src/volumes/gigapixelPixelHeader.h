/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPixelHeader_h
#define gigapixelPixelHeader_h

#include "gigapixelPixelFiles.h"

#include <cstdint>
#include <filesystem>
#include <istream>
#include <map>
#include <string>
#include <vector>

namespace gigapixel
{

/** \file
 * Checks that formats share, of pixels that are behind a header, or in files that it names. */

using Fields = std::map<std::string, std::string>;

/** \return the value; empty: the header has no such field */
std::string GetField(const Fields & fields, const std::string & key);

[[noreturn]] void RefuseCut(const std::string & file, const std::string & reason);

/** Whether a gzip stream begins where the file is read on. */
bool IsGzip(std::istream & stream);

/** Refuses a file whose pixels, of zlib or gzip, do not decompress to their end or to their number of bytes.
 * \param begin of the stream \param expected 0 where their number is not known */
void CheckCompressed(const std::string &           file,
                     const std::filesystem::path & pixels,
                     std::uintmax_t                begin,
                     std::uintmax_t                expected);

/** Refuses headers at which ITK's readers would end the program, and those whose pixels are not there. */
void CheckPixelHeader(const std::string & file, const PixelHeader & header);

/** \return the file, and those that its header names as the files of its pixels */
std::vector<std::string> ListPixelFiles(const std::string & file);

} // namespace gigapixel

#endif

/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGzipStream_h
#define gigapixelGzipStream_h

#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <zlib.h>

namespace gigapixel
{

/** \file
 * Files that are compressed by gzip or not, as zlib reads both. */

using GzipStream = std::unique_ptr<gzFile_s, int (*)(gzFile)>;

/** \return null: the file cannot be opened, or ends before this byte */
GzipStream OpenGzip(const std::string & file, std::uintmax_t offset = 0);

/** \param stream null counts as a file without bytes \throw Refusal the file ends before */
void ReadBytes(gzFile stream, const std::string & file, unsigned char * bytes, std::size_t number);

/** Turns the order of bytes in each of a number of values. */
void SwapBytes(unsigned char * bytes, std::size_t number, std::size_t ofOne);

/** Writes a header and what follows it. \throw Refusal it cannot be written to its end */
void WriteGzip(const std::string &                file,
               bool                               isCompressed,
               const std::vector<unsigned char> & header,
               const std::vector<std::uint8_t> &  labels);

} // namespace gigapixel

#endif

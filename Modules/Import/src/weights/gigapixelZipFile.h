/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelZipFile_h
#define gigapixelZipFile_h

#include <map>
#include <string>
#include <string_view>

namespace gigapixel
{

/** Files of a zip archive by their names, as parts of its own bytes. A compressed file is there without an address
 * (data() is null): PyTorch compresses the code of TorchScript alone. APPNOTE.TXT 6.3.10, with 64-bit sizes.
 * \throw std::invalid_argument says what is damaged */
std::map<std::string, std::string_view> ReadZip(std::string_view content);

} // namespace gigapixel

#endif
